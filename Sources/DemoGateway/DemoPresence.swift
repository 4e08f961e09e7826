/// The list of connected and formerly connected clients.
final class DemoPresence {
    private static let limit = 100

    private let host: DemoHost
    private var entries: [String: WireValue] = [:]

    init(_ host: DemoHost) { self.host = host }

    var list: [WireValue] {
        let version = host.release.version
        let own: WireValue = [
            "host": "demo", "version": version, "platform": "linux", "deviceFamily": "Linux", "mode": "gateway",
            "reason": "self", "text": "Gateway: demo · app \(version) · mode gateway · reason self",
            "ts": host.clock.wallMs,
        ]
        return [own] + entries.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Sends no event, because the following hello shows the list.
    func joined(_ connection: DemoConnection) {
        guard connection.client.mode != "cli" else { return }
        entries[connection.presenceKey] = entry(connection, reason: "connect")
        host.connections.presenceVersion += 1
    }

    func left(_ connection: DemoConnection) {
        guard connection.client.mode != "cli" else { return }
        entries[connection.presenceKey] = entry(connection, reason: "disconnect")
        host.connections.presenceVersion += 1
        while entries.count > Self.limit, let first = entries.keys.min() { entries[first] = nil }
        host.connections.broadcast(
            "presence",
            ["presence": list],
            scope: host.release >= .autumn ? "operator.read" : nil,
            withVersions: true
        )
    }

    private func entry(_ connection: DemoConnection, reason: String) -> WireValue {
        let client = connection.client
        let name = client.displayName ?? client.id
        return [
            "host": name, "version": client.version, "platform": client.platform,
            "deviceFamily": client.deviceFamily, "mode": client.mode, "deviceId": connection.deviceID,
            "roles": [connection.role], "scopes": connection.scopes.sorted(), "instanceId": connection.presenceKey,
            "reason": reason, "ts": host.clock.wallMs, "text": "Node: \(name) · mode \(client.mode)",
        ]
    }
}
