package import JSONBytes

/// The answer of a node.
package struct NodeAnswer {
    package enum Result {
        /// It has none.
        case empty
        case value(JSONValue)
        /// What was to be JSON and is not.
        case text(String)
    }

    package let result: Result
    package let durationMs: Int64
}
