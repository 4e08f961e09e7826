import JSONBytes

extension ListedAgent: KeptRow {
    func writeKept(to writer: inout JSONWriter) { write(to: &writer) }

    init?(kept row: JSONValue) {
        guard let id = row["id"]?.string else { return nil }
        self.id = id
        name = row["name"]?.string
        emoji = row["emoji"]?.string
        avatar = row["avatar"]?.string
        isDefault = row["default"]?.bool ?? false
        session = row["session"]?.string ?? "agent:\(id):main"
    }
}
