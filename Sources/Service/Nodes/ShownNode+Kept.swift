import JSONBytes

extension ShownNode {
    /// A row of the list as last written to the database.
    init?(kept value: JSONValue) {
        guard let id = value["id"]?.string else { return nil }
        self.init(id: id, kept: Array(value.raw))
    }
}
