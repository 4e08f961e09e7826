import Basics
import JSONBytes

extension Node: KeptRow {
    func writeKept(to writer: inout JSONWriter) { write(to: &writer) }

    init?(kept row: JSONValue) {
        guard let id = row["id"]?.string, let state = row["state"]?.string.flatMap(State.init(rawValue:)) else {
            return nil
        }
        self.id = id
        self.state = state
        name = row["name"]?.string ?? id
        platform = row["platform"]?.string
        version = row["version"]?.string
        model = row["model"]?.string
        family = row["family"]?.string
        awaitsApproval = row["awaitsApproval"]?.bool ?? false
        connectedAt = row["connectedAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        lastSeenAt = row["lastSeenAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        capabilities = row["capabilities"]?.elements.compactMap(\.string) ?? []
        commands = row["commands"]?.elements.compactMap(Self.command) ?? []
        permissions = Dictionary(
            row["permissions"]?.members.compactMap { name, value in value.bool.map { (name, $0) } } ?? []
        ) { $0 && $1 }
        declared = []
    }

    private static func command(_ value: JSONValue) -> Command? {
        guard let name = value["name"]?.string else { return nil }
        let why = value["why"]?.string.flatMap(Reason.init(rawValue:))
        return Command(name: name, refusal: value["allowed"]?.bool == true ? nil : why ?? .notDeclared)
    }
}
