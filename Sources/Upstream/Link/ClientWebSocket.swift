import JSONBytes
import WebSocket

/// Our end of one WebSocket, from the upgrade request to the close frame: bytes in, JSON messages out, and the reverse;
/// no socket.
struct ClientWebSocket {
    enum Input {
        /// The document is nil if the message is not JSON.
        case message(JSONDocument?, size: Int)
        /// A large message must be parsed elsewhere. Nothing follows until `parsed` brings the result.
        case parse(UInt64, [UInt8])
        /// A ping, to be answered with `pong`.
        case ping([UInt8])
        /// A close frame, to be answered with `close`.
        case closed(WebSocketClose)
        case broken(WebSocketError)
        case finished
    }

    /// The largest message that the peer may send.
    enum Allowance {
        /// The challenge of an unauthenticated peer; real ones are far smaller.
        case challenge
        /// The hello contains a snapshot of the whole gateway, which grows with its sessions and presence.
        case hello
        /// A page of a transcript alone can be 6 MiB; the reference client accepts 25 MiB, and the gateway names its own limit.
        case anyFrame(Int)

        fileprivate var limits: WebSocketLimits {
            switch self {
            case .challenge: WebSocketLimits(messageBytes: 65_536)
            case .hello: WebSocketLimits(messageBytes: 4 << 20)
            case .anyFrame(let own): WebSocketLimits(messageBytes: max(26_214_400, own))
            }
        }
    }

    /// Larger messages are parsed off the loop: a megabyte of `{},` takes some 15 milliseconds.
    static let largestParsedHere = 1 << 20

    private var upgrade: ClientHandshake?
    private var session: WebSocketSession?
    private var received: [WebSocketSession.Action] = []
    /// The message that is being parsed elsewhere, and its number; numbers are never used twice.
    private var isParsing = false
    private var lastParsing: UInt64 = 0
    private var parsed: (document: JSONDocument?, size: Int)?
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
        drop()
        self.upgrade = upgrade
        return upgrade.request
    }

    /// Takes bytes from the peer; `next` returns their messages.
    mutating func receive(_ bytes: Span<UInt8>) throws(HandshakeError) {
        if let found = session?.receive(bytes) {
            received += found
        } else if let used = try upgrade?.receive(bytes) {
            upgrade = nil
            session = WebSocketSession(role: .client, limits: Allowance.challenge.limits)
            received += session?.receive(bytes.extracting(used..<bytes.count)) ?? []
        }
    }

    mutating func next() -> Input? {
        if isParsing {
            // The gateway gives a pong little time, so a ping overtakes the messages behind a large one.
            guard let place = received.firstIndex(where: \.isPing) else { return nil }
            if case .answerPing(let payload) = received.remove(at: place) { return .ping(payload) }
            return nil
        }
        if let (document, size) = parsed {
            parsed = nil
            return .message(document, size: size)
        }
        guard !received.isEmpty else { return nil }
        switch received.removeFirst() {
        case .message(let message): return input(message)
        case .answerPing(let payload): return .ping(payload)
        case .pong: return next()
        case .answerClose(let close): return .closed(close)
        case .failed(let error): return .broken(error)
        case .finished: return .finished
        }
    }

    private mutating func input(_ message: WebSocketMessage) -> Input {
        let size = message.bytes.count
        guard message.kind == .text else { return .message(nil, size: size) }
        guard size > Self.largestParsedHere else {
            return .message(try? JSONDocument(parsing: message.bytes, limits: .gateway), size: size)
        }
        lastParsing += 1
        isParsing = true
        return .parse(lastParsing, message.bytes)
    }

    /// False if the connection of this message is gone.
    mutating func parsed(_ number: UInt64, _ document: JSONDocument?, size: Int) -> Bool {
        guard isParsing, number == lastParsing else { return false }
        isParsing = false
        parsed = (document, size)
        return true
    }

    /// Sets the limit for all further messages.
    mutating func allow(_ allowance: Allowance) {
        session?.limits = allowance.limits
    }

    /// One text message; nil if the closing handshake forbids it.
    mutating func message(_ text: [UInt8]) -> [UInt8]? { frame(.text, text) }

    mutating func ping() -> [UInt8]? { frame(.ping, []) }

    mutating func pong(_ payload: [UInt8]) -> [UInt8]? { frame(.pong, payload) }

    /// The close frame, once; then the connection is over.
    mutating func close(_ close: WebSocketClose) -> [UInt8]? {
        var output: [UInt8] = []
        let key = maskKey()
        _ = session?.close(close, maskKey: key, to: &output)
        drop()
        return output.isEmpty ? nil : output
    }

    /// The connection is gone without a close frame.
    mutating func drop() {
        upgrade = nil
        session = nil
        received = []
        isParsing = false
        parsed = nil
    }

    /// The longest head of a masked frame, RFC 6455 section 5.2.
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

extension WebSocketSession.Action {
    fileprivate var isPing: Bool { if case .answerPing = self { true } else { false } }
}
