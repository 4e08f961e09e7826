import WebSocket

/// Our end of one WebSocket, from the upgrade request to the close frame: bytes in, bytes out, no socket.
struct ClientWebSocket {
    /// The largest message that the peer may send.
    enum Allowance {
        /// The challenge of a peer that nobody has checked; real ones are far smaller.
        case challenge
        /// It contains a snapshot of the whole gateway, which grows with its sessions and presence.
        case hello
        /// A history alone can be 6 MiB; the reference client accepts 25 MiB, and the gateway names its own limit.
        case anyFrame(Int)

        fileprivate var limits: WebSocketLimits {
            switch self {
            case .challenge: WebSocketLimits(messageBytes: 65_536)
            case .hello: WebSocketLimits(messageBytes: 4 << 20)
            case .anyFrame(let own): WebSocketLimits(messageBytes: max(26_214_400, own))
            }
        }
    }

    private var upgrade: ClientHandshake?
    private var session: WebSocketSession?
    private var random: any RandomNumberGenerator

    init(random: any RandomNumberGenerator) {
        self.random = random
    }

    /// The upgrade was answered, and no close frame was sent.
    var isOpen: Bool { session != nil }

    /// Starts a new connection; returns the upgrade request.
    mutating func connect(to url: GatewayURL, clientVersion: String) -> [UInt8] {
        let nonce = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next() as UInt64) }
        let userAgent = "ladle/\(clientVersion)"
        let upgrade = ClientHandshake(host: url.hostField, path: url.path, userAgent: userAgent, nonce: nonce)
        self.upgrade = upgrade
        session = nil
        return upgrade.request
    }

    mutating func receive(_ bytes: Span<UInt8>) throws(HandshakeError) -> [WebSocketSession.Action] {
        if let found = session?.receive(bytes) { return found }
        guard let used = try upgrade?.receive(bytes) else { return [] }
        upgrade = nil
        session = WebSocketSession(role: .client, limits: Allowance.challenge.limits)
        return session?.receive(bytes.extracting(used..<bytes.count)) ?? []
    }

    /// From now on.
    mutating func allow(_ allowance: Allowance) {
        session?.limits = allowance.limits
    }

    /// One text message; nil if the closing handshake forbids it.
    mutating func message(_ text: [UInt8]) -> [UInt8]? { frame(.text, text) }

    mutating func pong(_ payload: [UInt8]) -> [UInt8]? { frame(.pong, payload) }

    /// The close frame, once; then the connection is over.
    mutating func close(_ close: WebSocketClose) -> [UInt8]? {
        var output: [UInt8] = []
        let key = maskKey()
        _ = session?.close(close, maskKey: key, to: &output)
        self = ClientWebSocket(random: random)
        return output.isEmpty ? nil : output
    }

    /// The connection is gone without a close frame.
    mutating func drop() {
        self = ClientWebSocket(random: random)
    }

    /// Of a masked frame, RFC 6455 section 5.2.
    private static let longestHead = 14

    private mutating func frame(_ opcode: WebSocketOpcode, _ payload: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = []
        output.reserveCapacity(payload.count + Self.longestHead)
        let key = maskKey()
        let isSent = session?.send(opcode, payload.span, maskKey: key, to: &output)
        return isSent == true ? output : nil
    }

    private mutating func maskKey() -> UInt32 { UInt32(truncatingIfNeeded: random.next() as UInt64) }
}
