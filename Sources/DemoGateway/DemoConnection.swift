/// One client's connection as the model sees it.
final class DemoConnection {
    struct Client {
        var id: String
        var mode: String
        var version: String
        var platform: String
        var deviceFamily: String?
        var displayName: String?
        var instanceID: String?
    }

    let id: DemoConnectionID
    let peer: DemoPeer
    /// Sent in the challenge and signed by the client's device.
    let nonce: String
    /// `hello-ok.server.connId`.
    let connID: String

    /// Whether the hello was sent.
    private(set) var isOpen = false
    /// Whether the gateway has closed the connection: nothing more is sent or read.
    var isClosed = false
    private(set) var client = Client(id: "", mode: "", version: "", platform: "")
    private(set) var role = "operator"
    private(set) var caps: Set<String> = []
    private(set) var deviceID: String?
    var scopes: Set<String> = []
    /// The number of the last broadcast, in releases that count per connection.
    var seq: Int64 = 0
    /// Calls in a row to methods of another role.
    var wrongRoleCalls = 0
    var subscribesToSessions = false

    init(id: DemoConnectionID, peer: DemoPeer, nonce: String, connID: String) {
        self.id = id
        self.peer = peer
        self.nonce = nonce
        self.connID = connID
    }

    func open(_ admitted: DemoAdmission.Admitted) {
        isOpen = true
        client = admitted.client
        role = admitted.role
        caps = admitted.caps
        deviceID = admitted.deviceID
        scopes = Set(admitted.scopes)
    }

    /// Whether the client has a scope.
    func may(_ scope: String) -> Bool { Self.covers(scopes, scope) }

    /// The scopes that include another one, besides admin, which includes all.
    private static let wider = [
        "operator.read": ["operator.write"],
        "operator.sessions.write": ["operator.write"],
        "operator.sessions.read": ["operator.sessions.write", "operator.read", "operator.write"],
    ]

    static func covers(_ granted: Set<String>, _ scope: String) -> Bool {
        if granted.contains("operator.admin") || granted.contains(scope) { return true }
        return wider[scope, default: []].contains { granted.contains($0) }
    }

    /// The key of the connection's entry in the presence list.
    var presenceKey: String { deviceID ?? client.instanceID ?? connID }
}
