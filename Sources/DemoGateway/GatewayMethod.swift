import JSONBytes

/// One request on an open connection.
struct GatewayRequest {
    let connection: GatewayConnection
    let id: String
    let method: String
    let params: JSONValue?

    func string(_ name: String) -> String? { params?[name]?.string }
    func int(_ name: String) -> Int64? { params?[name]?.int }
    func bool(_ name: String) -> Bool? { params?[name]?.bool }
}

enum GatewayReply {
    case ok(WireValue)
    case failed(GatewayError, payload: WireValue? = nil)
    /// The method answers by itself, now or later.
    case handled

    static func invalid(_ message: String) -> GatewayReply { .failed(.invalid(message)) }
}

/// A method: who may call it, what it takes, what it does.
struct GatewayMethod: Sendable {
    var name: String
    /// nil: anybody connected.
    var scope: String?
    /// nil: anything is taken.
    var rules: [ParamsRule]?
    var since = GatewayRelease.march
    /// Some methods work without standing in the hello's list.
    var isListed = true
    var run: @Sendable (GatewayModel) -> (GatewayRequest) -> GatewayReply

    static func named(_ name: String, release: GatewayRelease) -> GatewayMethod? {
        table[name].flatMap { $0.since <= release ? $0 : nil }
    }

    static func listed(for release: GatewayRelease) -> [String] {
        all.filter { $0.isListed && $0.since <= release }.map(\.name)
    }

    /// Methods of the node role: an operator who calls one is told so, and closed after ten in a row.
    static let nodeOnly: Set<String> = [
        "node.event", "node.invoke.result", "node.canvas.capability.refresh", "skills.bins", "node.pending.drain",
        "node.pending.pull", "node.pending.ack", "node.pluginSurface.refresh",
    ]

    private static let table: [String: GatewayMethod] = Dictionary(
        all.map { ($0.name, $0) },
        uniquingKeysWith: { first, _ in first }
    )
}
