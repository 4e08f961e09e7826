import JSONBytes

extension JSONValue {
    /// The elements of an array; empty for anything else.
    var list: [JSONValue] { Array(elements) }
}

extension JSONValue? {
    var list: [JSONValue] { self?.list ?? [] }
    /// The texts of an array in the form of a command-line value.
    var words: String { list.compactMap(\.string).joined(separator: ",") }
}
