import Basics
import DemoGateway
import FaultyGateway
import JSONBytes
import TLS
import Testing

/// A gateway on a clock of the test; clients are inboxes. With faults it is the test double around the model.
final class GatewayBench {
    let core: any DemoGatewayCore
    let options: DemoGatewayOptions
    var release: DemoRelease { options.release }
    private let double: FaultyGateway?
    private(set) var wallMs: Int64
    private(set) var monotonic = monotonicStart
    private let startMs: Int64
    private static let monotonicStart: UInt64 = 5_000_000_000
    private var nextID: UInt64 = 0
    private(set) var inboxes: [DemoConnectionID: [[UInt8]]] = [:]
    private(set) var closes: [DemoConnectionID: DemoClose] = [:]
    private(set) var dropped: Set<DemoConnectionID> = []

    init(
        _ release: DemoRelease = .june,
        faults: [String: String]? = nil,
        startingAt start: Timestamp = Timestamp(milliseconds: 1_800_000_000_000),
        _ change: (inout DemoGatewayOptions) -> Void = { _ in }
    ) throws {
        var options = DemoGatewayOptions()
        options.release = release
        options.speed = 0
        change(&options)
        var state: UInt64 = 7
        let primitives = DemoPrimitives(
            verify: DemoPrimitives.system.verify,
            sha256: DemoPrimitives.system.sha256,
            randomBytes: { count in
                (0..<count).map { _ in
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return UInt8(truncatingIfNeeded: state >> 33)
                }
            }
        )
        self.options = options
        (wallMs, startMs) = (start.milliseconds, start.milliseconds)
        let now = DemoInstant(wall: start, monotonic: Self.monotonicStart)
        if let faults {
            var faulty = FaultyGatewayOptions()
            faulty.gateway = options
            for (name, value) in faults { try faulty.faults.set(name, to: value) }
            let made = try FaultyGateway(faulty, primitives: primitives, now: now)
            double = made
            core = made
        } else {
            double = nil
            core = DemoGatewayModel(options: options, primitives: primitives, now: now)
        }
    }

    /// The double of a bench created with faults.
    var faulty: FaultyGateway {
        get throws { try #require(double) }
    }

    @discardableResult
    func control(_ method: String, _ target: String, _ body: String = "") throws -> (status: Int, body: JSONValue?) {
        let answer = ControlSurface.answer(method, target, body: Array(body.utf8), by: try faulty, now: now)
        take(answer.actions)
        return (answer.status, try? JSONDocument(parsing: answer.body).root)
    }

    /// Adds an earlier message to the main session.
    func remember(_ text: String, key: String, at time: Timestamp) {
        let model = core as? DemoGatewayModel
        model?.restoreMessage(text, key: key, session: "agent:main:main", at: time.milliseconds)
    }

    var now: DemoInstant { DemoInstant(wall: Timestamp(milliseconds: wallMs), monotonic: monotonic) }

    func take(_ actions: [DemoAction]) {
        for action in actions {
            switch action {
            case .send(let id, let bytes): inboxes[id, default: []].append(bytes)
            case .close(let id, let close): closes[id] = close
            case .drop(let id): dropped.insert(id)
            }
        }
    }

    /// Moves the time, and does work that becomes due on the way at its own time.
    func run(ms: Int64) {
        let end = monotonic + UInt64(ms) * 1_000_000
        while let due = core.nextDeadline, due <= end {
            set(max(due, monotonic))
            take(core.advance(to: now))
        }
        set(end)
    }

    private func set(_ moment: UInt64) {
        monotonic = moment
        wallMs = startMs + Int64((moment - Self.monotonicStart) / 1_000_000)
    }

    func openSocket(_ peer: DemoPeer = DemoPeer()) -> TestClient {
        nextID += 1
        let id = DemoConnectionID(nextID)
        take(core.connected(id, peer: peer, now: now))
        return TestClient(self, id)
    }

    /// A connected operator with a device.
    func client(
        scopes: [String] = ["operator.read", "operator.write", "operator.admin"],
        caps: [String] = ["tool-events"],
        device: TestDevice? = TestDevice(1),
        id: String = "gateway-client",
        mode: String = "backend"
    ) -> TestClient {
        let client = openSocket()
        client.connect(scopes: scopes, caps: caps, device: device, id: id, mode: mode)
        return client
    }
}

/// A device; each number has its own key.
struct TestDevice {
    let key: Ed25519PrivateKey?

    init(_ number: UInt8) {
        key = try? Ed25519PrivateKey(seed: [UInt8](repeating: number, count: 32))
    }

    var publicKey: String { Base64.encode(key?.publicKey.raw ?? [], as: .url) }
    var id: String { Hex.encode(Digest.sha256(key?.publicKey.raw ?? [])) }

    func sign(_ payload: String) -> String {
        Base64.encode((try? key?.sign(Array(payload.utf8))) ?? [], as: .url)
    }
}

/// One connection of a test: sends requests and reads what arrived.
final class TestClient {
    let bench: GatewayBench
    let id: DemoConnectionID
    private var requests = 0
    /// The method of each request by its id.
    private(set) var methods: [String: String] = [:]
    private var parsed: [JSONValue] = []

    init(_ bench: GatewayBench, _ id: DemoConnectionID) {
        self.bench = bench
        self.id = id
    }

    /// Everything received so far that is JSON; parsed once.
    var frames: [JSONValue] {
        let all = bench.inboxes[id] ?? []
        for bytes in all[seen...] {
            if let document = try? JSONDocument(parsing: bytes, limits: .gateway) { parsed.append(document.root) }
        }
        seen = all.count
        return parsed
    }
    private var seen = 0
    var frameTexts: [String] { (bench.inboxes[id] ?? []).map { String(decoding: $0, as: UTF8.self) } }
    var nonce: String { frames.first?["payload"]?["nonce"]?.string ?? "" }
    var close: DemoClose? { bench.closes[id] }
    /// The number of its messages that the gateway has accepted.
    var accepted: Int { frames.filter { $0["payload"]?["status"]?.string == "started" }.count }

    func send(_ text: String) { bench.take(bench.core.received(Array(text.utf8), from: id, now: bench.now)) }

    /// The newest response with this id.
    func response(_ requestID: String) -> JSONValue? {
        frames.last { $0["type"]?.string == "res" && $0["id"]?.string == requestID }
    }

    /// Sends a request and returns its answer, if it came at once.
    @discardableResult
    func call(_ method: String, _ params: String = "{}") -> JSONValue? {
        requests += 1
        let requestID = "r\(requests)"
        methods[requestID] = method
        send("{\"type\":\"req\",\"id\":\"\(requestID)\",\"method\":\"\(method)\",\"params\":\(params)}")
        return response(requestID)
    }

    func error(_ method: String, _ params: String = "{}") -> String? {
        call(method, params)?["error"]?["message"]?.string
    }
    func payload(_ method: String, _ params: String = "{}") -> JSONValue? { call(method, params)?["payload"] }

    func events(_ name: String) -> [JSONValue] { frames.filter { $0["event"]?.string == name } }
    func payloads(_ name: String) -> [JSONValue] { events(name).compactMap { $0["payload"] } }
    func agent(_ stream: String) -> [JSONValue] { payloads("agent").filter { $0["stream"]?.string == stream } }
    func chat(_ state: String) -> [JSONValue] { payloads("chat").filter { $0["state"]?.string == state } }

    @discardableResult
    func chatSend(_ text: String, key: String, session: String = "agent:main:main", mode: String? = nil) -> JSONValue? {
        let quoted = WireValue.string(text)
        let queueMode = mode.map { ",\"queueMode\":\"\($0)\"" } ?? ""
        return call(
            "chat.send",
            "{\"sessionKey\":\"\(session)\",\"message\":\(String(decoding: quoted.bytes, as: UTF8.self)),\"idempotencyKey\":\"\(key)\"\(queueMode)}"
        )
    }

    @discardableResult
    func wait(_ run: String) -> JSONValue? { payload("agent.wait", "{\"runId\":\"\(run)\",\"timeoutMs\":1}") }

    /// The main session's history, with the receipts of some inputs.
    @discardableResult
    func history(receipts keys: [String] = []) -> JSONValue? {
        let asked = keys.isEmpty ? "" : ",\"inputRunIds\":[\(keys.map { "\"\($0)\"" }.joined(separator: ","))]"
        return payload("chat.history", "{\"sessionKey\":\"main\"\(asked)}")
    }

    /// The chat events of one run: `final`, or `final+` with a message.
    func chat(of run: String) -> [String] {
        payloads("chat").filter { $0["runId"]?.string == run && $0["state"]?.string != "delta" }.map {
            ($0["state"]?.string ?? "") + ($0["message"] == nil ? "" : "+")
        }
    }

    /// The main agent's name in `agents.list`.
    var agentName: String? { payload("agents.list")?["agents"]?[0]?["identity"]?["name"]?.string }

    @discardableResult
    func connect(
        scopes: [String] = ["operator.read", "operator.write", "operator.admin"],
        caps: [String] = ["tool-events"],
        device: TestDevice? = TestDevice(1),
        id clientID: String = "gateway-client",
        mode: String = "backend",
        role: String = "operator",
        platform: String = "linux",
        family: String? = "server",
        auth: String = "{\"token\":\"demo-token\"}",
        signedToken: String = "demo-token",
        signedAt: Int64? = nil,
        nonce: String? = nil,
        protocols: (Int, Int) = (3, 4),
        payloadVersion: String = "v3",
        extra: String = ""
    ) -> JSONValue? {
        let quotedScopes = scopes.map { "\"\($0)\"" }.joined(separator: ",")
        let quotedCaps = caps.map { "\"\($0)\"" }.joined(separator: ",")
        var deviceText = ""
        if let device {
            let moment = signedAt ?? bench.wallMs
            let used = nonce ?? self.nonce
            var fields = [
                payloadVersion, device.id, clientID, mode, role, scopes.joined(separator: ","), String(moment),
                signedToken, used,
            ]
            if payloadVersion == "v3" { fields += [platform.lowercased(), (family ?? "").lowercased()] }
            deviceText =
                ",\"device\":{\"id\":\"\(device.id)\",\"publicKey\":\"\(device.publicKey)\",\"signature\":\""
                + "\(device.sign(fields.joined(separator: "|")))\",\"signedAt\":\(moment),\"nonce\":\"\(used)\"}"
        }
        let familyText = family.map { ",\"deviceFamily\":\"\($0)\"" } ?? ""
        send(
            "{\"type\":\"req\",\"id\":\"c\",\"method\":\"connect\",\"params\":{\"minProtocol\":\(protocols.0),"
                + "\"maxProtocol\":\(protocols.1),\"client\":{\"id\":\"\(clientID)\",\"version\":\"1.0\",\"platform\":"
                + "\"\(platform)\",\"mode\":\"\(mode)\"\(familyText)},\"role\":\"\(role)\",\"scopes\":[\(quotedScopes)],"
                + "\"caps\":[\(quotedCaps)],\"auth\":\(auth)\(deviceText)\(extra)}}"
        )
        return response("c")
    }
}

extension JSONValue {
    /// The text of a chat message.
    var messageText: String? { self["content"]?[0]?["text"]?.string }
    var text: String { String(decoding: raw, as: UTF8.self) }
}
