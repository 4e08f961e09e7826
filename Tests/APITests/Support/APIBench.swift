import Access
import Basics
import DemoGateway
import EventLoops
import HTTPModel
import POSIX
import Server
import Service
import TestSupport
import Testing

@testable import API

/// The API over all services, without sockets: requests go to its responder as from the server, and time passes when
/// the test says so.
final class APIBench {
    /// Settings that the program reads from its configuration.
    struct Setup: Sendable {
        var services: @Sendable (inout ServiceSettings) -> Void = { _ in }
        var api: @Sendable (inout APISettings) -> Void = { _ in }
        var limits: [RateLimitKind: RateLimitPolicy] = [:]
        var streams = StreamSlots()
        var hostNames: [String] = []
        var origins: [String] = []
        var tailnet = TailnetPolicy()
        var audit: AuditTrail?
        /// The demo gateway's options; nil leaves the gateway to the bench's script.
        var demo: (@Sendable (inout DemoGatewayOptions) -> Void)?

        /// The demo gateway at full speed.
        static let demo = Setup(demo: { _ in })
        /// No gateway answers, so entries wait.
        static let away = Setup()
    }

    /// The origin of a request.
    struct Place: Sendable {
        var listener = ListenerKind.tcp
        var user: UInt32? = APIBench.owner
        var remote = SocketAddress.ip(.loopback4, port: 40_000)
        var local = SocketAddress.ip(.loopback4, port: APIBench.port)

        static let tcp = Place()
        static let unix = Place(listener: .unix, remote: .unix(path: ""), local: .unix(path: "/run/api"))

        static func user(_ user: UInt32) -> Place { Place(user: user) }
    }

    struct Unanswered: Error {
        let text: String
    }

    static let port: UInt16 = 18_789
    static let owner: UInt32 = 1000

    let bench: ServiceBench
    let setup: Setup
    private(set) var demo: DemoLink?
    private(set) var api: HTTPAPI
    private(set) var access: AccessService
    private var requests: UInt64 = 0

    var gateway: ScriptedGateway { bench.gateway }

    init(_ bench: ServiceBench, _ setup: Setup, on loop: isolated EventLoop) throws {
        self.bench = bench
        self.setup = setup
        (api, access) = try Self.make(bench, setup, on: loop)
        access.start(on: loop)
        if let change = setup.demo { demo = try DemoLink(bench, change, on: loop) }
    }

    private static func make(
        _ bench: ServiceBench,
        _ setup: Setup,
        on loop: isolated EventLoop
    ) throws -> (HTTPAPI, AccessService) {
        var settings = APISettings(version: "0.0.0", isDemo: setup.demo != nil)
        setup.api(&settings)
        let open = OpenRequests(slots: setup.streams)
        let hub = EventHub(
            last: bench.journal.newest,
            bufferLimit: settings.streamBufferBytes,
            open: open,
            audience: bench.services.audience
        )
        let access = AccessService(
            authenticator: Authenticator(
                settings: Authenticator.Settings(ownerUID: owner, tailnet: setup.tailnet),
                limiter: RateLimiter(policies: setup.limits)
            ),
            rows: bench.services.tokenRows,
            hub: hub,
            open: open,
            audit: setup.audit
        )
        let rules = HostRules(names: setup.hostNames, origins: try OriginList(setup.origins))
        rules.listening = [.ip(.loopback4, port: port)]
        let api = HTTPAPI(
            settings: settings,
            services: bench.services,
            hub: hub,
            open: open,
            access: access,
            rules: rules,
            on: loop
        )
        return (api, access)
    }

    /// A new process with the database of this one. Tokens are not read again.
    func restart(on loop: isolated EventLoop) async throws {
        try await bench.restart(on: loop)
        (api, access) = try Self.make(bench, setup, on: loop)
    }

    func advance(_ milliseconds: Int64, on loop: isolated EventLoop) async throws {
        try await bench.advance(milliseconds, on: loop)
    }

    // MARK: Requests

    /// Gives a request to the API and waits until no work is pending; the request may stay open.
    /// - Parameters:
    ///   - fields: as they stand in a head, such as `Accept: text/plain`.
    ///   - host: nil for the address of the listener, `.some(nil)` for none.
    ///   - room: how many pieces of a stream the client takes before it reads no more.
    func open(
        _ method: String,
        _ path: String,
        _ fields: [String] = [],
        body: String? = nil,
        isWhole: Bool = true,
        host: String?? = .none,
        from place: Place = .tcp,
        room: Int = .max,
        on loop: isolated EventLoop
    ) async throws -> MemoryRequest {
        var head = try RequestHead(method: HTTPMethod(Array(method.utf8)), target: path)
        if let host = host ?? "127.0.0.1:\(Self.port)" { head.fields.append(.host, host) }
        for field in fields {
            let parts = field.split(separator: ":", maxSplits: 1)
            let name = Array(parts[0].lowercased().utf8)
            let value = Array(parts[1].drop { $0 == " " }.utf8)
            let isTaken = head.fields.appendReceived(name: name.span, value: value.span)
            #expect(isTaken, "\(field)")
        }
        if let body { head.fields.append(.contentLength, body.utf8.count) }
        requests += 1
        // A millisecond after the previous request: ids are in order of their times.
        bench.clock.move(to: bench.clock.monotonic + 1_000_000)
        let request = MemoryRequest(
            head,
            Array((body ?? "").utf8),
            isWhole: isWhole,
            connection: ConnectionInfo(
                listener: place.listener,
                remote: place.remote,
                local: place.local,
                user: place.user
            ),
            number: requests,
            room: room,
            to: api,
            on: loop
        )
        try await bench.settle(on: loop)
        return request
    }

    /// A request that is answered without any time passing.
    @discardableResult
    func request(
        _ method: String,
        _ path: String,
        _ fields: [String] = [],
        body: String? = nil,
        host: String?? = .none,
        from place: Place = .tcp,
        on loop: isolated EventLoop
    ) async throws -> Answer {
        let request = try await open(method, path, fields, body: body, host: host, from: place, on: loop)
        guard request.hasEnded, let answer = request.answer else { throw Unanswered(text: request.text) }
        return answer
    }

    @discardableResult
    func get(
        _ path: String,
        _ fields: [String] = [],
        from place: Place = .tcp,
        on loop: isolated EventLoop
    ) async throws -> Answer {
        try await request("GET", path, fields, from: place, on: loop)
    }

    @discardableResult
    func post(
        _ path: String,
        _ fields: [String] = Field.json,
        _ body: String? = nil,
        from place: Place = .tcp,
        on loop: isolated EventLoop
    ) async throws -> Answer {
        try await request("POST", path, fields, body: body, from: place, on: loop)
    }

    /// Sends a message as plain text.
    @discardableResult
    func say(
        _ text: String,
        _ query: String = "",
        _ fields: [String] = [],
        on loop: isolated EventLoop
    ) async throws -> Answer {
        try await post("/v1/messages\(query)", Field.text + fields, text, on: loop)
    }

    /// A request with a wrong credential. The answer to a guess over the limit is delayed.
    func guess(_ credential: String, from place: Place = .tcp, on loop: isolated EventLoop) async throws -> Answer {
        let fields = ["Authorization: Bearer \(credential)"]
        let request = try await open("GET", "/v1/status", fields, from: place, on: loop)
        if !request.hasEnded { try await advance(1000, on: loop) }
        return try #require(request.answer)
    }

    /// A token made by the owner.
    func token(_ scopes: String..., more: String = "", on loop: isolated EventLoop) async throws -> (
        id: String, token: String, bearer: [String]
    ) {
        let list = scopes.map { "\"\($0)\"" }.joined(separator: ",")
        let body = #"{"name":"test","scopes":[\#(list)]\#(more)}"#
        let answer = try await request("POST", "/v1/tokens", Field.json, body: body, on: loop)
        #expect(answer.status == 201, "\(answer)")
        let token = try #require(answer["token"])
        return (try #require(answer["id"]), token, ["Authorization: Bearer \(token)"])
    }
}

/// Fields used by many requests.
enum Field {
    static let json = ["Content-Type: application/json"]
    static let text = ["Content-Type: text/plain"]
    static let form = ["Content-Type: application/x-www-form-urlencoded"]
    static let stream = ["Accept: text/event-stream"]
    /// A forwarding field has the same effect as another user's connection: the caller is unknown.
    static let forwarded = ["X-Forwarded-For: 192.0.2.1"]
}

/// Runs a test of the API on a loop of its own. The link to a demo gateway is up already; any other gateway is away.
func withAPI(
    _ setup: APIBench.Setup = .away,
    _ test: @escaping @Sendable (APIBench, isolated EventLoop) async throws -> Void
) async throws {
    var settings = ServiceSettings()
    setup.services(&settings)
    try await withServices(settings) { bench, loop in
        let api = try APIBench(bench, setup, on: loop)
        if let demo = api.demo { try await demo.open(on: loop) } else { try await bench.drop(on: loop) }
        try await test(api, loop)
    }
}
