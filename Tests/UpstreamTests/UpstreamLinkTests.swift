import EventLoops
import Gateway
import JSONBytes
import Observability
import POSIX
import TLS
import TestSupport
import Testing

@testable import Upstream

/// Puts all reports of the link into one inbox.
final class LinkProbe: UpstreamLinkHandler {
    enum Report: Sendable {
        case status(LinkStatus)
        case opened
        case event(String)
        case lost(Int64)
        case tokens(DeviceTokenStore)
        case outcome(String)
        case count(Int)
    }

    let inbox = Inbox<Report>()

    func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) { inbox.put(.status(status)) }
    func linkOpened(_ hello: Hello, on loop: isolated EventLoop) { inbox.put(.opened) }
    func linkReceived(_ event: GatewayEvent, on loop: isolated EventLoop) { inbox.put(.event(event.name)) }
    func linkLost(events: Int64, on loop: isolated EventLoop) { inbox.put(.lost(events)) }
    func linkLearned(_ outcome: CallOutcome, of call: CallID, on loop: isolated EventLoop) {}
    func linkTokensChanged(_ tokens: DeviceTokenStore, on loop: isolated EventLoop) { inbox.put(.tokens(tokens)) }
    func linkLogged(_ entry: LoggedFrame, on loop: isolated EventLoop) {}
}

/// Measures from the start of a link to the first answer, then releases everything.
final class Stopwatch: UpstreamLinkHandler {
    private let gateway: SocketGateway
    private let measured: Inbox<Duration>
    private let clock = ContinuousClock()
    private var began: ContinuousClock.Instant?
    private var link: UpstreamLink?

    init(_ gateway: SocketGateway, _ measured: Inbox<Duration>) {
        self.gateway = gateway
        self.measured = measured
    }

    func start(on loop: isolated EventLoop) throws {
        let url = try GatewayURL("ws://127.0.0.1:\(gateway.port)")
        let configuration = LinkConfiguration(url: url, token: gateway.script.token, clientVersion: "1")
        let link = UpstreamLink(target: .gateway(configuration), signer: try TestSigner(), on: loop)
        self.link = link
        link.handler = self
        began = clock.now
        link.start(on: loop)
        // Keeps this alive until it is done.
        loop.after(milliseconds: 20_000) { _ = self }
    }

    func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        link?.call(method: "health", params: Array("{}".utf8), on: loop) { _ in
            if let began = self.began { self.measured.put(self.clock.now - began) }
            self.link?.stop(on: loop)
            self.gateway.stop(on: loop)
        }
    }

    func linkChanged(_ status: LinkStatus, on loop: isolated EventLoop) {}
    func linkReceived(_ event: GatewayEvent, on loop: isolated EventLoop) {}
    func linkLost(events: Int64, on loop: isolated EventLoop) {}
    func linkLearned(_ outcome: CallOutcome, of call: CallID, on loop: isolated EventLoop) {}
    func linkTokensChanged(_ tokens: DeviceTokenStore, on loop: isolated EventLoop) {}
    func linkLogged(_ entry: LoggedFrame, on loop: isolated EventLoop) {}
}

/// A loop with a scripted gateway and a link to it.
final class LinkFixture {
    let gateway: SocketGateway
    let link: UpstreamLink
    let probe: LinkProbe

    init(
        _ script: SocketGateway.Script,
        token: String,
        tls: TLSServerContext?,
        host: String,
        pin: String?,
        trust: TLSTrust?,
        permit: Permit?,
        probe: LinkProbe,
        on loop: isolated EventLoop
    ) throws {
        gateway = try SocketGateway(script, tls: tls, on: loop)
        let url = try GatewayURL("\(tls == nil ? "ws" : "wss")://\(host):\(gateway.port)", pin: pin)
        let configuration = LinkConfiguration(url: url, token: token, clientVersion: "1.0.0")
        link = UpstreamLink(
            target: .gateway(configuration),
            signer: try TestSigner(),
            log: FrameLog(),
            trust: trust,
            permit: permit,
            on: loop
        )
        self.probe = probe
        link.handler = probe
        link.start(on: loop)
    }
}

struct LinkWorld: Sendable {
    let loop: EventLoop
    let inbox: Inbox<LinkProbe.Report>
    private let fixture: LoopBound<LinkFixture>

    static func make(
        _ script: SocketGateway.Script = .init(),
        token: String = "example-shared-token",
        tls: TLSServerContext? = nil,
        host: String = "127.0.0.1",
        pin: String? = nil,
        trust: TLSTrust? = nil,
        permit: Permit? = nil
    ) async throws -> LinkWorld {
        let loop = try EventLoop()
        loop.start()
        let made = Inbox<Result<LinkWorld, any Error>>()
        loop.post { loop in
            do {
                let probe = LinkProbe()
                let fixture = try LinkFixture(
                    script,
                    token: token,
                    tls: tls,
                    host: host,
                    pin: pin,
                    trust: trust,
                    permit: permit,
                    probe: probe,
                    on: loop
                )
                made.put(.success(LinkWorld(loop: loop, inbox: probe.inbox, fixture: LoopBound(fixture, on: loop))))
            } catch {
                made.put(.failure(error))
            }
        }
        return try await made.next().get()
    }

    func use(_ body: @escaping @Sendable (LinkFixture, isolated EventLoop) -> Void) {
        loop.post { [fixture] loop in
            if let fixture = fixture.value(on: loop) { body(fixture, loop) }
        }
    }

    func ask<Value: Sendable>(_ body: @escaping @Sendable (LinkFixture) -> Value) async throws -> Value {
        let answer = Inbox<Value>()
        use { fixture, _ in answer.put(body(fixture)) }
        return try await answer.next()
    }

    /// The next status in this state.
    func status(_ state: LinkState) async throws -> LinkStatus {
        while true {
            if case .status(let status) = try await inbox.next(), status.state == state { return status }
        }
    }

    func outcome() async throws -> String {
        while true {
            if case .outcome(let name) = try await inbox.next() { return name }
        }
    }

    func call(_ method: String, timeoutMs: Int64 = 30_000) {
        use { fixture, loop in
            fixture.link.call(method: method, params: Array("{}".utf8), timeoutMs: timeoutMs, on: loop) { outcome in
                fixture.probe.inbox.put(.outcome(outcome.name))
            }
        }
    }

    func end() async {
        use { fixture, loop in
            fixture.link.stop(on: loop)
            fixture.gateway.stop(on: loop)
        }
    }
}

struct UpstreamLinkTests {
    @Test(arguments: [Int.max, 1, 7])
    func `a link over a real socket goes online, keeps its token and answers calls`(_ pieceSize: Int) async throws {
        let world = try await LinkWorld.make(.init(pieceSize: pieceSize))
        _ = try await world.status(.online)
        world.call("health")
        let answer1 = try await world.outcome()
        #expect(answer1 == "ok")
        let answer2 = try await world.ask { $0.gateway.methods }
        #expect(answer2 == ["connect", "sessions.subscribe", "health"])
        let frames = try await world.ask {
            $0.link.frames(after: 0)?.map { String(decoding: $0.frame, as: UTF8.self) } ?? []
        }
        #expect(frames.count == 7)
        #expect(!frames.joined().contains("example-shared-token") && !frames.joined().contains("dt-example"))
        await world.end()
    }

    /// Measured on the loop, because the tests' own threads may be busy. The bound only shows that nothing waits for a
    /// timer.
    @Test func `without a permit the link is cut and stays away, and comes back with it`() async throws {
        let permit = Permit(marginMs: 1000) { 0 }
        permit.limit(to: 1)
        let world = try await LinkWorld.make(permit: permit)
        _ = try await world.status(.online)
        permit.limit(to: 0)
        world.use { fixture, loop in fixture.link.cut(on: loop) }
        _ = try await world.status(.offline)
        world.use { fixture, loop in fixture.link.retryNow(on: loop) }
        #expect(try await world.status(.offline).detail.contains("lease"))
        permit.limit(to: 1)
        world.use { fixture, loop in fixture.link.retryNow(on: loop) }
        _ = try await world.status(.online)
        await world.end()
    }

    @Test func `handshake and first answer wait for no timer`() async throws {
        let loop = try EventLoop()
        loop.start()
        let measured = Inbox<Duration>()
        loop.post { loop in
            do {
                let gateway = try SocketGateway(on: loop)
                let stopwatch = Stopwatch(gateway, measured)
                try stopwatch.start(on: loop)
            } catch {
                measured.put(.seconds(99))
            }
        }
        let taken = try await measured.next()
        #expect(taken < .seconds(2), "took \(taken)")
    }

    @Test func `a torn connection is noticed at once and its requests are ambiguous`() async throws {
        let world = try await LinkWorld.make(.init(dropsOn: ["chat.send"]))
        _ = try await world.status(.online)
        world.call("chat.send")
        let answer4 = try await world.outcome()
        #expect(answer4 == "ambiguous linkLost")
        let answer5 = try await world.status(.offline)
        #expect(answer5.code == "LINK_LOST")
        await world.end()
    }

    @Test func `silence is noticed within two ticks`() async throws {
        let world = try await LinkWorld.make(.init(tickMs: 100))
        _ = try await world.status(.online)
        let answer6 = try await world.status(.offline)
        #expect(answer6.code == "TICK_TIMEOUT")
        await world.end()
    }

    @Test func `bytes that arrive while input is held are read afterwards`() async throws {
        let world = try await LinkWorld.make()
        _ = try await world.status(.online)
        world.use { fixture, loop in fixture.link.holdInput(true, on: loop) }
        world.call("health", timeoutMs: 50)
        let whileHeld = try await world.outcome()
        #expect(whileHeld == "ambiguous timedOut")
        world.use { fixture, loop in fixture.link.holdInput(false, on: loop) }
        world.call("health")
        let afterwards = try await world.outcome()
        #expect(afterwards == "ok")
        let counters = try await world.ask { $0.link.counters }
        #expect(counters.lateAnswers == 1 && counters.holds == 1 && counters.drops == 0)
        await world.end()
    }

    @Test func `a call without an answer times out alone`() async throws {
        let world = try await LinkWorld.make(.init(silentOn: ["slow"]))
        _ = try await world.status(.online)
        world.call("slow", timeoutMs: 20)
        let answer7 = try await world.outcome()
        #expect(answer7 == "ambiguous timedOut")
        world.call("health")
        let answer8 = try await world.outcome()
        #expect(answer8 == "ok")
        await world.end()
    }

    @Test func `garbage, floods and gaps after the hello leave the link up`() async throws {
        let frames = [
            "nonsense", "[1]", #"{"type":"event","event":"chat","seq":1}"#, #"{"type":"event","event":"chat","seq":5}"#,
        ]
        let world = try await LinkWorld.make(.init(afterHello: frames))
        _ = try await world.inbox.first { if case .lost(3) = $0 { true } else { false } }
        world.call("health")
        let answer9 = try await world.outcome()
        #expect(answer9 == "ok")
        let counters = try await world.ask { $0.link.counters }
        #expect(counters.unreadableFrames == 1 && counters.unknownFrames == 1 && counters.lostEvents == 3)
        await world.end()
    }

    @Test func `a web server is reported as no gateway`() async throws {
        let page = Array("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".utf8)
        let world = try await LinkWorld.make(.init(garbage: page))
        let answer10 = try await world.status(.offline)
        #expect(answer10.code == "UPGRADE_REFUSED")
        await world.end()
    }

    @Test func `a wrong token stops the link until it is configured anew`() async throws {
        let world = try await LinkWorld.make(token: "wrong-token")
        let refused = try await world.status(.refused)
        #expect(refused.code == "AUTH_TOKEN_MISMATCH" && refused.hint?.contains("openclaw") == true)
        world.use { fixture, loop in
            guard let url = fixture.link.status.url.flatMap({ try? GatewayURL($0) }) else { return }
            let fixed = LinkConfiguration(url: url, token: "example-shared-token", clientVersion: "1")
            fixture.link.configure(.gateway(fixed), on: loop)
        }
        _ = try await world.status(.online)
        await world.end()
    }

    @Test func `a port where nothing listens is offline and retried`() async throws {
        let world = try await LinkWorld.make()
        _ = try await world.status(.online)
        world.use { fixture, loop in fixture.gateway.stop(on: loop) }
        let answer11 = try await world.status(.offline)
        #expect(answer11.code == "LINK_LOST")
        world.use { fixture, loop in fixture.link.retryNow(on: loop) }
        let status = try await world.status(.offline)
        #expect(status.code == "GATEWAY_UNREACHABLE" && status.retryAt != nil)
        await world.end()
    }

    /// In a process of its own: other tests open and close sockets meanwhile.
    @Test func `hundreds of forced drops leave nothing behind`() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            loop.start()
            let done = Inbox<DropDriver.Report>()
            loop.post { loop in
                do {
                    try DropDriver(drops: 300, SocketGateway(on: loop), done).start(on: loop)
                } catch {
                    done.put(DropDriver.Report())
                }
            }
            let report = try await done.next(within: 60)
            #expect(report.counters.drops == 300 && report.counters.hellos == 301)
            #expect(report.gatewayConnections == 1)
            #expect(report.descriptorsAfter <= report.descriptorsBefore + 4)
        }
    }

    @Test func `wss with a pin, with a trusted authority, and the refusals`() async throws {
        let made = try SelfSignedCertificate.make(names: ["localhost", "127.0.0.1"], validDays: 1)
        let identity = try TLSIdentity(chainPEM: made.certificatePEM, keyPEM: made.keyPEM)
        let server = try TLSServerContext(identities: [identity], protocols: ["http/1.1"])
        let pin = made.pin.map { byte in
            String(byte, radix: 16).count == 1 ? "0" + String(byte, radix: 16) : String(byte, radix: 16)
        }.joined(separator: ":")

        let pinned = try await LinkWorld.make(tls: server, pin: "SHA-256 " + pin.uppercased())
        _ = try await pinned.status(.online)
        pinned.call("health")
        let answer13 = try await pinned.outcome()
        #expect(answer13 == "ok")
        await pinned.end()

        let trusted = try await LinkWorld.make(
            tls: server,
            host: "localhost",
            trust: .authorities(pem: made.certificatePEM)
        )
        _ = try await trusted.status(.online)
        await trusted.end()

        let wrongPin = try await LinkWorld.make(tls: server, pin: String(repeating: "ab", count: 32))
        let answer14 = try await wrongPin.status(.refused)
        #expect(answer14.code == "TLS_PIN_MISMATCH")
        await wrongPin.end()

        let unknown = try await LinkWorld.make(tls: server)
        let answer15 = try await unknown.status(.refused)
        #expect(answer15.code == "TLS_NOT_TRUSTED")
        await unknown.end()
    }
}
