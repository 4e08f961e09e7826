import Gateway
import JSONBytes
import Ledger
import TestSupport

/// The gateway's own schemas, against which each call is held that a test makes Ladle send.
///
/// There are those of 2026.3, of protocol 4, and of what 2026.9.7 and 2026.10 changed. That of protocol 4 is June's but for the members
/// below. April, July and August have none: March's does not know all that April takes.
enum SentParams {
    private static let march = schema("protocol-2026-03")
    private static let june = schema("protocol-latest")
    private static let october = schema("protocol-2026-10")

    /// Members that the schema of protocol 4 has and June refuses.
    private static let afterJune: [String: Set<String>] = [
        "chat.send": ["queueMode", "sessionId"], "chat.history": ["inputRunIds", "cursor", "pendingBefore"],
    ]
    /// Members that it lacks, and the newest releases take by their published code and documents.
    private static let newest: [String: Set<String>] = [
        "cron.run": ["waitTimeoutMs"], "sessions.delete": ["expectedSessionId"], "sessions.usage": ["timeZone"],
        "sessions.patch": ["archived", "expectedSessionId", "pinned", "unread"],
    ]

    private static func schema(_ name: String) -> JSONSchema? {
        (try? TestData.document("\(name).schema.json")).map { JSONSchema(root: $0) }
    }

    /// The schema that describes the method for this release, and the name of the definition.
    private static func description(_ method: String, _ profile: GatewayProfile) -> (JSONSchema, name: String)? {
        let schemas: [JSONSchema?] =
            switch profile.generation {
            case .march: [march]
            case .april: []
            case .june: profile.offers(.sessionsArchive) ? [] : [june]
            case .autumn: [october, june]
            }
        for case let schema? in schemas {
            if let name = schema.parameters(of: method) { return (schema, name) }
        }
        return nil
    }

    /// Whether a schema of that release says which parameters the method takes.
    static func knows(_ method: String, _ profile: GatewayProfile) -> Bool { description(method, profile) != nil }

    /// The reasons why that release would refuse the call; none if no schema of it describes the method.
    static func problems(_ method: String, _ params: JSONValue, _ profile: GatewayProfile) -> [String] {
        guard let (schema, name) = description(method, profile) else { return [] }
        let later = (profile.generation == .autumn ? newest[method] : nil) ?? []
        var writer = JSONWriter()
        writer.object { object in
            for (key, value) in params.members where !later.contains(key) { object.member(key, raw: Array(value.raw)) }
        }
        guard let known = try? JSONDocument(parsing: writer.bytes).root else { return ["no JSON"] }
        let early = (profile.generation == .june ? afterJune[method] : nil) ?? []
        let refused = params.members.map(\.0).filter { early.contains("\($0)") }.map { "$.\($0): not in June" }
        return schema.problems(known, name) + refused
    }
}

extension JSONSchema {
    /// The name of the definition; a method that the table leaves out has one by its own name.
    fileprivate func parameters(of method: String) -> String? {
        if let listed = root["x-methods"]?[method]?["params"]?.string {
            return listed.split(separator: "/").last.map(String.init)
        }
        let name = method.split(separator: ".").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() + "Params"
        return root["$defs"]?[name] == nil ? nil : name
    }
}
