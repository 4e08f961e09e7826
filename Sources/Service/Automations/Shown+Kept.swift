import JSONBytes

extension AutomationService.Shown {
    /// A row of the list as last written to the database.
    init?(kept value: JSONValue) {
        guard let id = value["id"]?.string else { return nil }
        self.init(
            id: id,
            name: value["name"]?.string ?? id,
            isEnabled: value["enabled"]?.bool ?? true,
            agent: value["agent"]?.string,
            kept: Array(value.raw)
        )
    }
}
