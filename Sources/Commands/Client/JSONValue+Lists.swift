import JSONBytes

extension JSONValue {
    /// The elements of an array; none of anything else.
    var list: [JSONValue] { Array(elements) }
}

extension JSONValue? {
    var list: [JSONValue] { self?.list ?? [] }
    /// The texts of an array, as one writes them on a command line.
    var words: String { list.compactMap(\.string).joined(separator: ",") }
}
