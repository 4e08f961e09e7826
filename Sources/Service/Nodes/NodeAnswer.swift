package import JSONBytes

/// A node's answer to a command.
package struct NodeAnswer {
    package enum Result {
        /// The answer has no content.
        case empty
        case value(JSONValue)
        /// The answer should be JSON and is not.
        case text(String)
    }

    package let result: Result
    package let durationMs: Int64
}
