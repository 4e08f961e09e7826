/// One client's socket as the model sees it.
final class GatewayConnection {
    struct Client {
        var id: String
        var mode: String
        var version: String
        var platform: String
        var deviceFamily: String?
        var displayName: String?
        var instanceID: String?
    }

    let id: ConnectionID
    let peer: GatewayPeer
    let nonce: String
    let challengedAt: Int64
    /// `hello-ok.server.connId`.
    let connID: String

    var isOpen = false
    /// Closing was asked for; nothing more is sent or read.
    var isClosed = false
    var client = Client(id: "", mode: "", version: "", platform: "")
    var role = "operator"
    var scopes: Set<String> = []
    var caps: Set<String> = []
    var deviceID: String?
    var connectedAt: Int64 = 0
    /// Frames counted on this connection, where the release counts so.
    var seq: Int64 = 0
    var wrongRoleCalls = 0
    var subscribesToSessions = false
    var subscribedKeys: Set<String> = []

    init(id: ConnectionID, peer: GatewayPeer, nonce: String, challengedAt: Int64, connID: String) {
        self.id = id
        self.peer = peer
        self.nonce = nonce
        self.challengedAt = challengedAt
        self.connID = connID
    }

    /// Write includes read, admin includes all.
    func may(_ scope: String) -> Bool {
        if scopes.contains("operator.admin") || scopes.contains(scope) { return true }
        return scope == "operator.read" && scopes.contains("operator.write")
    }

    var key: String { deviceID ?? client.instanceID ?? connID }
}
