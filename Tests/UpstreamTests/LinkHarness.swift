import Basics
import Gateway
import JSONBytes
import Observability
import TLS
import WebSocket

@testable import Upstream

/// The same numbers each time, so that a failing test fails again.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}

/// A link machine with a gateway's end of the WebSocket in memory and a clock that only the test moves.
struct LinkHarness {
    static let start = Timestamp(milliseconds: 1_767_225_600_000)

    var machine: LinkMachine
    var now = LinkTime(milliseconds: 1_000, wall: start)
    private var reader = ServerHandshake.Reader()
    private var gateway: WebSocketSession?

    var opened: [GatewayURL] = []
    var statuses: [LinkStatus] = []
    var events: [GatewayEvent] = []
    /// The last reported status before each event.
    var statesBehindEvents: [LinkState?] = []
    var gaps = 0
    var outcomes: [(id: CallID, outcome: CallOutcome)] = []
    var late: [(id: CallID, outcome: CallOutcome)] = []
    var stored: [DeviceTokenStore] = []
    var hellos = 0
    /// Requests as the gateway reads them.
    var requests: [JSONDocument] = []
    /// Close frames the gateway received.
    var closes: [WebSocketClose] = []
    var pongs: [[UInt8]] = []
    var hangUps = 0
    var logged: [LoggedFrame] = []
    private var answer: [UInt8] = []
    /// The bytes that the kernel has not taken, and those that it has.
    private var unsent = 0
    private var taken: UInt64 = 0
    /// Large messages that the machine handed out for parsing.
    var parsing: [(number: UInt64, bytes: [UInt8])] = []
    var parsesAtOnce = true
    /// The gateway's bytes reach the machine in pieces of this size.
    var pieceSize = Int.max

    init(
        _ url: String = "ws://127.0.0.1:18789",
        token: String? = "example-shared-token",
        scopes: [String]? = nil,
        tokens: DeviceTokenStore = DeviceTokenStore(),
        log: FrameLog? = nil,
        pin: String? = nil
    ) throws {
        let configuration = LinkConfiguration(
            url: try GatewayURL(url, pin: pin),
            token: token,
            scopes: scopes,
            clientVersion: "1.2.3"
        )
        machine = LinkMachine(
            target: .gateway(configuration),
            signer: try TestSigner(),
            tokens: tokens,
            random: SeededGenerator(state: 7),
            log: log,
            now: now
        )
    }

    mutating func perform(_ actions: [LinkAction]) {
        var actions = actions
        var next = 0
        while next < actions.count {
            next += 1
            switch actions[next - 1] {
            case .open(let url): opened.append(url)
            case .write(let bytes):
                gatewayReads(bytes)
                actions += machine.output(unsent: unsent, taken: taken, now: now)
            case .close:
                hangUps += 1
                gateway = nil
                reader = ServerHandshake.Reader()
            case .parse(let number, let bytes):
                parsing.append((number, bytes))
                if parsesAtOnce { parseNext() }
            case .status(let status): statuses.append(status)
            case .hello: hellos += 1
            case .event(let event):
                events.append(event)
                statesBehindEvents.append(statuses.last?.state)
            case .gap: gaps += 1
            case .outcome(let id, let outcome): outcomes.append((id, outcome))
            case .late(let id, let outcome): late.append((id, outcome))
            case .storeTokens(let tokens): stored.append(tokens)
            case .logged(let entry): logged.append(entry)
            }
        }
        if !answer.isEmpty {
            let bytes = answer
            answer = []
            feed(bytes)
        }
    }

    private mutating func gatewayReads(_ bytes: [UInt8]) {
        taken += UInt64(bytes.count)
        guard gateway != nil else {
            guard let request = try? reader.receive(bytes.span)?.handshake else { return }
            gateway = WebSocketSession(role: .server, limits: WebSocketLimits(messageBytes: 64 << 20))
            answer = request.response
            return
        }
        for action in gateway?.receive(bytes.span) ?? [] {
            switch action {
            case .message(let message):
                if let document = try? JSONDocument(parsing: message.bytes) { requests.append(document) }
            case .answerClose(let close): closes.append(close)
            case .pong(let payload): pongs.append(payload)
            default: break
            }
        }
    }

    mutating func feed(_ bytes: [UInt8]) {
        var start = 0
        while start < bytes.count {
            let end = start + min(pieceSize, bytes.count - start)
            let actions = machine.received(bytes.span.extracting(start..<end), now: now)
            perform(actions)
            start = end
        }
    }

    /// Sets the bytes that the kernel has yet to take.
    mutating func fillOutput(_ unsent: Int, taking count: UInt64 = 0) {
        self.unsent = unsent
        taken += count
        perform(machine.output(unsent: unsent, taken: taken, now: now))
    }

    /// Finishes the parsing of the oldest large message.
    mutating func parseNext() {
        guard !parsing.isEmpty else { return }
        let (number, bytes) = parsing.removeFirst()
        let document = try? JSONDocument(parsing: bytes, limits: .gateway)
        perform(machine.parsed(number, document, size: bytes.count, now: now))
    }

    /// Starts the link and brings it to the open WebSocket.
    mutating func upgrade() {
        perform(machine.start(now: now))
        perform(machine.opened(now: now))
    }

    mutating func reopen() {
        perform(machine.wake(now: now))
        perform(machine.opened(now: now))
    }

    mutating func say(_ json: String) {
        say(Array(json.utf8))
    }

    mutating func say(_ json: [UInt8]) {
        var bytes: [UInt8] = []
        WebSocketEncoder.append(.text, json, mask: nil, to: &bytes)
        feed(bytes)
    }

    mutating func close(_ code: UInt16, _ reason: String = "") {
        var bytes: [UInt8] = []
        WebSocketEncoder.append(.close, WebSocketClose(code, reason).payload, mask: nil, to: &bytes)
        feed(bytes)
    }

    mutating func challenge() {
        say(#"{"type":"event","event":"connect.challenge","payload":{"nonce":"3f1c0a52","ts":1767225600000}}"#)
    }

    mutating func answerConnect(_ rest: String) {
        let id = requests.last?.root["id"]?.string ?? ""
        say(#"{"type":"res","id":"\#(id)",\#(rest)}"#)
    }

    mutating func reject(_ code: String, _ message: String, details: String = "{}", extra: String = "") {
        answerConnect(#""ok":false,"error":{"code":"\#(code)","message":"\#(message)","details":\#(details)\#(extra)}"#)
    }

    static let v4 = #""auth":{"role":"operator","scopes":["operator.admin","operator.read","operator.write"]},"#

    mutating func sayHello(protocol version: Int = 4, auth: String = v4, policy: String = "") {
        answerConnect(
            #""ok":true,"payload":{"type":"hello-ok","protocol":\#(version),"server":{"version":"2026.6.11","connId":"c-1"},"#
                + #""features":{"methods":["health"],"events":[]},"snapshot":{"uptimeMs":5,"sessionDefaults":"#
                + #"{"defaultAgentId":"main","mainKey":"main","mainSessionKey":"agent:main:main"}},"#
                + auth
                + #""policy":{"maxPayload":26214400,"maxBufferedBytes":52428800,"tickIntervalMs":30000\#(policy)}}"#
        )
    }

    /// Brings the link to the working state.
    mutating func goOnline(protocol version: Int = 4, auth: String = v4) {
        upgrade()
        challenge()
        sayHello(protocol: version, auth: auth)
    }

    mutating func advance(_ milliseconds: Int64) {
        now.milliseconds += milliseconds
        now.wall = now.wall.adding(milliseconds: milliseconds)
    }

    /// Moves the clock to the machine's next deadline and wakes it; returns the wait in milliseconds.
    @discardableResult
    mutating func advanceToWake() -> Int64? {
        guard let time = machine.wakeAt else { return nil }
        let wait = time - now.milliseconds
        advance(max(wait, 0))
        perform(machine.wake(now: now))
        return wait
    }

    mutating func call(_ number: UInt64, _ method: String = "health", timeoutMs: Int64 = 30_000) {
        perform(
            machine.request(CallID(number), method: method, params: Array("{}".utf8), timeoutMs: timeoutMs, now: now)
        )
    }

    var lastRequest: JSONValue? { requests.last?.root }
}

struct TestSigner: DeviceSigner {
    private let key: Ed25519PrivateKey

    init() throws {
        key = try Ed25519PrivateKey(seed: (0..<32).map { UInt8($0) })
    }

    var publicKey: [UInt8] { key.publicKey.raw }
    var deviceId: String { Hex.encode(Digest.sha256(key.publicKey.raw)) }
    func sign(_ message: [UInt8]) -> [UInt8]? { try? key.sign(message) }
}

extension CallOutcome {
    /// Short names for tables.
    var name: String {
        switch self {
        case .ok: "ok"
        case .failed(let error, _): "failed \(error.code)"
        case .notDispatched(let reason): "notDispatched \(reason)"
        case .ambiguous(let reason): "ambiguous \(reason)"
        }
    }
}
