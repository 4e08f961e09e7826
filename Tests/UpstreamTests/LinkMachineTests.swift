import Basics
import Gateway
import JSONBytes
import Observability
import TLS
import Testing
import WebSocket

@testable import Upstream

struct LinkMachineTests {
    @Test func `a link connects, signs the challenge and is online`() throws {
        var link = try LinkHarness()
        link.upgrade()
        #expect(link.opened.map(\.description) == ["ws://127.0.0.1:18789"])
        #expect(link.statuses.map(\.state) == [.connecting])
        link.challenge()
        let connect = try #require(link.lastRequest)
        #expect(connect["method"]?.string == "connect")
        let params = try #require(connect["params"])
        #expect(params["minProtocol"]?.int == 3 && params["maxProtocol"]?.int == 4)
        #expect(params["scopes"]?.elements.compactMap(\.string) == Scopes.standard(for: .loopback))
        let device = try #require(params["device"])
        let payload = DevicePayload(
            deviceId: device["id"]?.string ?? "",
            clientId: "gateway-client",
            clientMode: "backend",
            role: "operator",
            scopes: Scopes.standard(for: .loopback),
            signedAtMs: 1_767_225_600_000,
            token: "example-shared-token",
            nonce: "3f1c0a52",
            platform: ConnectRequest.platform,
            deviceFamily: "server"
        )
        let signature = try #require(Base64.decode(device["signature"]?.string ?? "", as: .url))
        let key = try Ed25519PublicKey(raw: try TestSigner().publicKey)
        #expect(key.verify(signature, of: Array(payload.text.utf8)))
        link.sayHello()
        #expect(link.statuses.map(\.state) == [.connecting, .online])
        #expect(link.machine.status.scopes == ["operator.read", "operator.write", "operator.admin"])
        #expect(link.machine.status.gatewayVersion == "2026.6.11" && link.machine.status.protocolVersion == 4)
        #expect(link.machine.hello?.mainSessionKey == "agent:main:main")
        #expect(link.lastRequest?["method"]?.string == "sessions.subscribe")
        link.answerConnect(
            #""ok":false,"error":{"code":"INVALID_REQUEST","message":"unknown method: sessions.subscribe"}"#
        )
        #expect(link.machine.counters.unknownAnswers == 0)
    }

    @Test(arguments: [Int64.min, .min + 1_767_225_599_800, -1, 0, 1_767_225_600_000, .max])
    func `any time in a challenge is accepted without overflow`(time: Int64) throws {
        var link = try LinkHarness()
        link.upgrade()
        link.say(#"{"type":"event","event":"connect.challenge","payload":{"nonce":"3f1c0a52","ts":\#(time)}}"#)
        link.sayHello()
        #expect(link.machine.isOnline)
        #expect(abs(link.machine.clockSkewMs(at: link.now)) < 300_000_000_000_000)
    }

    @Test(arguments: [-3_600_000, 3_600_000])
    func `a step of our clock moves the difference of the clocks by as much`(stepMs: Int64) throws {
        var link = try LinkHarness()
        link.goOnline()
        link.advance(1_000)
        link.now.wall = link.now.wall.adding(milliseconds: stepMs)
        #expect(link.machine.clockSkewMs(at: link.now) == -stepMs)
    }

    @Test func `a tick shows how long our machine slept, and a late one shows nothing`() throws {
        var link = try LinkHarness()
        link.goOnline()
        // The monotonic clock stops during sleep.
        link.now.wall = link.now.wall.adding(milliseconds: 60_000)
        link.say(#"{"type":"event","event":"tick","payload":{"ts":1767225659800}}"#)
        #expect(link.machine.clockSkewMs(at: link.now) == -200)
        link.say(#"{"type":"event","event":"tick","payload":{"ts":1767225630000}}"#)
        link.say(#"{"type":"event","event":"tick","payload":{}}"#)
        link.say(#"{"type":"event","event":"tick"}"#)
        #expect(link.machine.clockSkewMs(at: link.now) == -200)
    }

    @Test func `every byte of the gateway may come alone`() throws {
        var link = try LinkHarness()
        link.pieceSize = 1
        link.goOnline()
        #expect(link.machine.isOnline)
    }

    @Test func `scopes in effect are those asked for that the grant covers`() throws {
        var link = try LinkHarness(scopes: ["operator.read", "operator.write"])
        link.goOnline()
        #expect(link.machine.status.scopes == ["operator.read", "operator.write"])
        #expect(link.machine.status.code == nil)
        link = try LinkHarness()
        link.goOnline(auth: #""auth":{"role":"operator","scopes":["operator.write"]},"#)
        #expect(link.machine.status.scopes == ["operator.read", "operator.write"])
        #expect(link.machine.status.code == "SCOPES_REDUCED")
        #expect(link.machine.status.detail == "Connected, but without operator.admin.")
        #expect(link.machine.status.hint?.hasSuffix("--scope operator.write --scope operator.admin") == true)
        let hint = Scopes.hint(toGain: "operator.admin", requested: ["operator.read"], deviceId: "d")
        #expect(hint == "ladle serve --gateway-scopes operator.read,operator.admin")
        link = try LinkHarness()
        link.goOnline(protocol: 3, auth: "")
        #expect(link.machine.status.scopes == Scopes.standard(for: .loopback))
    }

    @Test func `scopes that the owner grants later are had on the next connection, with the new token`() throws {
        var link = try LinkHarness()
        link.goOnline(auth: #""auth":{"role":"operator","scopes":["operator.write"],"deviceToken":"dt-old"},"#)
        #expect(link.machine.scopesToGain == Scopes.standard(for: .loopback))
        link.perform(link.machine.awaitsScopes(request: "up-1"))
        #expect(link.machine.status.hint == "openclaw devices approve up-1" && link.machine.status.requestId == "up-1")
        link.perform(link.machine.awaitsScopes(request: "$(id)"))
        #expect(link.machine.status.hint == "openclaw devices list" && link.machine.status.requestId == nil)
        link.perform(link.machine.gainedScopes(DeviceToken(token: "dt-new", scopes: []), now: link.now))
        #expect(link.stored.last?.secrets == ["dt-new"])
        #expect(!link.machine.isOnline && link.machine.scopesToGain == nil)
        link.goOnline(auth: #""auth":{"role":"operator","scopes":["operator.admin"],"deviceToken":"dt-new"},"#)
        #expect(link.machine.status.code == nil && link.machine.scopesToGain == nil)
    }

    @Test func `a device token is kept, reused without a secret, and dropped when it is void`() throws {
        let auth = #""auth":{"role":"operator","scopes":["operator.read"],"deviceToken":"dt-example","issuedAtMs":5},"#
        var link = try LinkHarness()
        link.goOnline(auth: auth)
        let tokens = try #require(link.stored.last)
        let key = DeviceTokenStore.Key(
            gateway: "ws://127.0.0.1:18789",
            deviceId: try TestSigner().deviceId,
            role: "operator"
        )
        #expect(tokens[key] == DeviceToken(token: "dt-example", scopes: ["operator.read"], issuedAtMs: 5))

        var again = try LinkHarness(token: nil, tokens: tokens)
        again.upgrade()
        again.challenge()
        #expect(again.lastRequest?["params"]?["auth"]?["deviceToken"]?.string == "dt-example")
        again.reject("INVALID_REQUEST", "unauthorized", details: #"{"code":"AUTH_DEVICE_TOKEN_MISMATCH"}"#)
        #expect(again.stored == [DeviceTokenStore()])
        #expect(again.advanceToWake() == 250)
        again.perform(again.machine.opened(now: again.now))
        again.challenge()
        #expect(again.lastRequest?["params"]?["auth"] == nil)
        again.reject("INVALID_REQUEST", "unauthorized", details: #"{"code":"AUTH_TOKEN_MISSING"}"#)
        #expect(again.machine.status.state == .refused)
        #expect(again.machine.wakeAt == nil)
    }

    @Test func `a refused shared token is retried once with the device token, on a trusted path only`() throws {
        let details = #"{"code":"AUTH_TOKEN_MISMATCH","canRetryWithDeviceToken":true}"#
        for (url, expected) in [("ws://127.0.0.1:18789", 2), ("ws://100.64.1.2:18789", 1)] {
            let key = DeviceTokenStore.Key(gateway: url, deviceId: try TestSigner().deviceId, role: "operator")
            var tokens = DeviceTokenStore()
            tokens[key] = DeviceToken(token: "dt-example", scopes: [])
            var link = try LinkHarness(url, tokens: tokens)
            link.upgrade()
            link.challenge()
            #expect(link.lastRequest?["params"]?["auth"]?["deviceToken"] == nil)
            link.reject("INVALID_REQUEST", "unauthorized", details: details)
            if expected == 2 {
                #expect(link.advanceToWake() == 250)
                link.perform(link.machine.opened(now: link.now))
                link.challenge()
                #expect(link.lastRequest?["params"]?["auth"]?["deviceToken"]?.string == "dt-example")
                #expect(link.lastRequest?["params"]?["auth"]?["token"]?.string == "example-shared-token")
                link.reject("INVALID_REQUEST", "unauthorized", details: details)
            }
            #expect(link.opened.count == expected)
            #expect(link.machine.status.state == .refused && link.machine.wakeAt == nil)
        }
    }

    @Test func `pairing shows the request and the command, and waits in its rhythm`() throws {
        var link = try LinkHarness()
        var waits: [Int64] = []
        link.upgrade()
        for _ in 0..<64 {
            link.challenge()
            link.reject(
                "NOT_PAIRED",
                "pairing required",
                details: #"{"code":"PAIRING_REQUIRED","requestId":"9e0b-1","reason":"not-paired"}"#
            )
            waits.append(link.advanceToWake() ?? -1)
            link.perform(link.machine.opened(now: link.now))
        }
        #expect(Set(waits.prefix(60)) == [5_000])
        #expect(waits.last == 30_000)
        let status = link.machine.status
        #expect(status.state == .waitingForApproval && status.code == "PAIRING_REQUIRED")
        #expect(status.hint == "openclaw devices approve 9e0b-1" && status.requestId == "9e0b-1")
        #expect(status.since == LinkHarness.start)
        #expect(link.statuses.filter { $0.state == .waitingForApproval }.count == 1)
        link.challenge()
        link.sayHello()
        #expect(link.machine.status.state == .online)
    }

    @Test func `a plain drop is retried after three seconds, then doubling with jitter to thirty`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.close(1000)
        var waits: [Int64] = []
        for _ in 0..<9 {
            waits.append(link.advanceToWake() ?? -1)
            link.perform(link.machine.transportFailed(.unreachable("connection refused"), now: link.now))
        }
        #expect(waits[0] == 3_000)
        for (wait, base) in zip(
            waits.dropFirst(),
            [6_000, 12_000, 24_000, 30_000, 30_000, 30_000, 30_000, 30_000] as [Int64]
        ) {
            #expect((base / 2...base).contains(wait))
        }
        #expect(link.machine.status.code == "GATEWAY_UNREACHABLE" && link.machine.status.retryAt != nil)
        link.reopenUntilOnline()
        link.perform(link.machine.transportFailed(.dropped, now: link.now))
        #expect(link.advanceToWake() == 3_000)
    }

    @Test func `an announced restart is followed at once, but not in a loop`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.advance(10_000)
        link.say(
            #"{"type":"event","event":"shutdown","payload":{"reason":"stopping","restartExpectedMs":null},"seq":1}"#
        )
        link.call(1)
        #expect(link.outcomes.last?.outcome.name == "notDispatched offline")
        link.close(1012, "service restart")
        #expect(link.machine.status.code == "GATEWAY_RESTARTING")
        var waits: [Int64] = []
        for _ in 0..<5 {
            waits.append(link.advanceToWake() ?? -1)
            link.perform(link.machine.transportFailed(.unreachable("refused"), now: link.now))
        }
        #expect(waits == [0, 500, 1_000, 2_000, 3_000])
        link.reopenUntilOnline()
        link.close(1012, "service restart")
        #expect(link.advanceToWake() == 3_000)
    }

    @Test func `the gateway's own figure for a restart wins`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.advance(10_000)
        link.say(#"{"type":"event","event":"shutdown","payload":{"reason":"update","restartExpectedMs":1500}}"#)
        link.close(1012)
        #expect(link.advanceToWake() == 1_500)
    }

    @Test func `silence for two ticks closes with 4000 and fails what was asked`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, timeoutMs: 600_000)
        link.advance(30_000)
        link.say(#"{"type":"event","event":"tick","payload":{"ts":1}}"#)
        #expect(link.machine.wakeAt == link.now.milliseconds + 60_000)
        link.advance(59_999)
        link.perform(link.machine.wake(now: link.now))
        #expect(link.machine.isOnline)
        link.advanceToWake()
        #expect(link.closes.last?.code == 4_000)
        #expect(link.outcomes.map(\.outcome.name) == ["ambiguous linkLost"])
        #expect(link.machine.status.code == "TICK_TIMEOUT" && link.machine.counters.silences == 1)
    }

    @Test func `a gateway that answers neither a call nor a ping for ten seconds is shown as stalled`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.advance(1_000)
        link.call(1, timeoutMs: 600_000)
        #expect(link.advanceToWake() == 5_000)
        link.call(2, timeoutMs: 600_000)
        #expect(link.advanceToWake() == 5_000)
        #expect(link.machine.status.code == "GATEWAY_STALLED" && link.machine.isOnline)
        link.say(#"{"type":"event","event":"tick","payload":{"ts":1}}"#)
        #expect(link.machine.status.code == nil && link.machine.status.detail == "Connected.")
    }

    @Test func `a gateway that is suspended is shown as paused until it says that it goes on`() throws {
        var link = try LinkHarness()
        link.goOnline()
        func say(_ phase: String) -> String {
            #"{"type":"event","event":"gateway.suspension","payload":{"phase":"\#(phase)"}}"#
        }
        link.say(say("draining"))
        #expect(link.machine.status.state == .paused && link.machine.isOnline)
        link.call(1, timeoutMs: 600_000)
        link.answerConnect(#""ok":true,"payload":{}"#)
        #expect(link.machine.status.state == .paused, "an approval may still be answered")
        link.say(say("accepting"))
        #expect(link.machine.status.state == .online && link.machine.status.code == nil)
    }

    @Test func `a gateway that says in its hello that it is suspended is shown as paused`() throws {
        var link = try LinkHarness()
        link.upgrade()
        link.challenge()
        link.answerConnect(
            #""ok":true,"payload":{"type":"hello-ok","protocol":4,"features":{"methods":[]},"#
                + #""snapshot":{"suspension":{"phase":"prepared"}}}"#
        )
        #expect(link.machine.isOnline && link.machine.status.state == .paused)
    }

    @Test func `a gateway that refuses because it starts is shown as paused until it carries out a call`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, timeoutMs: 600_000)
        link.answerConnect(
            #""ok":false,"error":{"code":"UNAVAILABLE","message":"not yet","retryable":true,"retryAfterMs":500,"#
                + #""details":{"reason":"startup-sidecars","method":"chat.send"}}"#
        )
        #expect(link.machine.status.state == .paused)
        #expect(link.machine.status.until == link.now.wall.adding(milliseconds: 500))
        link.call(2, timeoutMs: 600_000)
        link.answerConnect(#""ok":true,"payload":{}"#)
        #expect(link.machine.status.state == .online && link.machine.status.until == nil)
    }

    @Test func `a pause of which the gateway names the end is over then, though nobody asks anything`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, timeoutMs: 600_000)
        link.answerConnect(
            #""ok":false,"error":{"code":"UNAVAILABLE","message":"not yet","retryable":true,"retryAfterMs":500,"#
                + #""details":{"reason":"gateway-restarting"}}"#
        )
        #expect(link.machine.status.state == .paused)
        #expect(link.advanceToWake() == 500)
        #expect(link.machine.status.state == .online && link.machine.status.until == nil)
    }

    @Test func `after lost events a good answer ends a suspension too, because its end may be among them`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.say(#"{"type":"event","event":"gateway.suspension","seq":1,"payload":{"phase":"prepared"}}"#)
        link.say(#"{"type":"event","event":"presence","seq":4,"payload":{}}"#)
        #expect(link.machine.status.state == .paused)
        link.call(1, timeoutMs: 600_000)
        link.answerConnect(#""ok":true,"payload":{}"#)
        #expect(link.machine.status.state == .online)
    }

    @Test func `a gateway that works on an answer for long is not stalled`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, timeoutMs: 600_000)
        link.advanceToWake()
        var pong: [UInt8] = []
        WebSocketEncoder.append(.pong, [], mask: nil, to: &pong)
        link.feed(pong)
        link.advance(20_000)
        link.perform(link.machine.wake(now: link.now))
        #expect(link.machine.status.code == nil && link.machine.isOnline)
    }

    @Test func `a large answer over a slow line is no silence`() throws {
        var link = try LinkHarness()
        link.goOnline()
        var frame: [UInt8] = []
        let event =
            #"{"type":"event","event":"agent","payload":{"runId":"r","text":"\#(String(repeating: "x", count: 400))"}}"#
        WebSocketEncoder.append(.text, Array(event.utf8), mask: nil, to: &frame)
        for byte in frame {
            link.advance(1_000)
            link.perform(link.machine.wake(now: link.now))
            link.feed([byte])
        }
        #expect(link.machine.isOnline && link.events.count == 1)
    }

    @Test func `each attempt begins with another address until one is good`() {
        var turn = AddressRotation()
        #expect(turn.order([1, 2, 3]) == [1, 2, 3])
        #expect(turn.order([1, 2, 3]) == [2, 3, 1])
        turn.opened()
        #expect(turn.order([1, 2, 3]) == [2, 3, 1])
        #expect(turn.order([1, 2]) == [1, 2])
        #expect(turn.order([Int]()) == [])
    }

    @Test func `silence does not count while reading is paused`() throws {
        var link = try LinkHarness()
        link.goOnline()
        for _ in 0..<2 { link.machine.holdInput(true, now: link.now) }
        #expect(link.machine.wakeAt == nil && link.machine.counters.holds == 1)
        link.advance(600_000)
        link.perform(link.machine.wake(now: link.now))
        #expect(link.machine.isOnline)
        link.machine.holdInput(false, now: link.now)
        #expect(link.machine.wakeAt == link.now.milliseconds + 60_000)
        link.advanceToWake()
        #expect(link.machine.status.code == "TICK_TIMEOUT")
    }

    @Test func `sequence holes are loss on protocol 4 only`() throws {
        for (version, gaps) in [(3, 0), (4, 1)] {
            var link = try LinkHarness()
            link.goOnline(protocol: version)
            for seq in ["\"seq\":1,", "", "\"seq\":2,", "\"seq\":7,", "\"seq\":7,", "\"seq\":8,"] {
                link.say(#"{"type":"event","event":"chat",\#(seq)"payload":{}}"#)
            }
            #expect(link.gaps == gaps)
            #expect(link.events.count == 6)
            #expect(link.machine.counters.lostEvents == UInt64(gaps * 4))
        }
    }

    @Test func `handshakes that stall are given up`() throws {
        var link = try LinkHarness()
        link.perform(link.machine.start(now: link.now))
        #expect(link.advanceToWake() == 25_000)
        #expect(link.machine.status.code == "GATEWAY_TIMEOUT")
        link.advanceToWake()
        link.perform(link.machine.opened(now: link.now))
        #expect(link.advanceToWake() == 25_000)
        #expect(link.machine.status.code == "GATEWAY_TIMEOUT" && link.hangUps == 2)
    }

    @Test func `a new configuration, an attempt at once, and the stop`() throws {
        var link = try LinkHarness()
        link.upgrade()
        link.challenge()
        link.reject("INVALID_REQUEST", "unauthorized", details: #"{"code":"AUTH_TOKEN_MISMATCH"}"#)
        #expect(link.machine.status.state == .refused && link.machine.needsNewTarget)
        link.perform(link.machine.retryNow(now: link.now))
        #expect(link.opened.count == 2)
        let other = LinkConfiguration(url: try GatewayURL("ws://127.0.0.1:2"), token: "b", clientVersion: "1")
        link.perform(link.machine.configure(.gateway(other), now: link.now))
        #expect(link.opened.last?.port == 2 && link.machine.status.state == .connecting)
        #expect(!link.machine.needsNewTarget)
        link.perform(link.machine.configure(.notFound, now: link.now))
        #expect(link.machine.status.code == "GATEWAY_NOT_FOUND" && link.machine.status.state == .offline)
        #expect(link.machine.needsNewTarget)
        link.perform(link.machine.stop(now: link.now))
        #expect(link.machine.status.code == "STOPPED" && link.machine.wakeAt == nil)
    }

    @Test func `garbage is counted and harmless`() throws {
        var link = try LinkHarness()
        link.goOnline()
        for text in [
            "", "not json", "[]", "null", "{}", #"{"type":"nope"}"#, #"{"type":"res"}"#, #"{"type":"event"}"#,
            #"{"type":"res","id":7,"ok":true}"#, #"{"type":"res","id":"nobody","ok":true}"#,
            #"{"type":"event","event":"x","seq":-9223372036854775808}"#,
            #"{"type":"event","event":"x","seq":9223372036854775807}"#,
            #"{"type":"event","event":"x","seq":1e400}"#, #"{"type":"event","event":"shutdown"}"#,
            String(repeating: "[", count: 100_000),
        ] { link.say(text) }
        #expect(link.hangUps == 0)
        #expect(link.machine.counters.unreadableFrames == 3)
        #expect(link.machine.counters.unknownFrames == 6)
        #expect(link.machine.counters.unknownAnswers == 2)
        link.feed([0xC1, 0x00])
        #expect(link.machine.status.code == "PROTOCOL_ERROR" && link.closes.last?.code == 1_002)
    }

    @Test func `a large message before connect is refused`() throws {
        var link = try LinkHarness()
        link.upgrade()
        link.say(String(repeating: " ", count: 65_537))
        #expect(link.closes.last?.code == 1_009 && link.machine.status.code == "PROTOCOL_ERROR")
    }

    @Test func `frames before the hello, a second challenge and an early event change nothing`() throws {
        var link = try LinkHarness()
        link.upgrade()
        link.say(#"{"type":"event","event":"health","payload":{}}"#)
        link.challenge()
        let sent = link.requests.count
        link.challenge()
        #expect(link.requests.count == sent)
        link.say(#"{"type":"res","id":"other","ok":true,"payload":{"type":"hello-ok","protocol":4}}"#)
        #expect(!link.machine.isOnline && link.events.isEmpty)
        link.sayHello()
        #expect(link.machine.isOnline)
    }
}

extension LinkHarness {
    /// The next attempt succeeds.
    mutating func reopenUntilOnline() {
        advanceToWake()
        perform(machine.opened(now: now))
        challenge()
        sayHello()
    }
}
