import Basics
package import Gateway
import JSONBytes
package import Store

/// Stored across restarts, so that messages accepted before the gateway connects go to the right session.
extension SessionDefaults {
    private static let space = "gateway"
    private static let name = "defaults"

    /// The defaults of the last connection, or the standard ones before the first.
    package static func kept(in journal: any Journal) async throws -> SessionDefaults {
        let value = try await journal.read { try $0.values.get(space: space, name: name) }
        guard let root = value.flatMap({ try? JSONDocument(parsing: $0.bytes).root }) else { return .standard }
        return SessionDefaults(
            agent: root["agent"]?.string ?? "",
            mainKey: root["mainKey"]?.string ?? "",
            mainSession: root["mainSession"]?.string
        )
    }

    func keep(in journal: any Journal, now: Timestamp) {
        var writer = JSONWriter()
        writer.object { object in
            object.member("agent", agent)
            object.member("mainKey", mainKey)
            object.member("mainSession", mainSession.text)
        }
        let bytes = writer.bytes
        journal.cache { transaction in
            try transaction.values.set(bytes, space: Self.space, name: Self.name, at: now)
        }
    }
}
