import Basics
import Gateway
import JSONBytes
import Observability
import Testing
import WebSocket

@testable import Upstream

/// Each state of the link that only the gateway can end, with a gateway that never does.
struct LinkDeadlineTests {
    static let shutdowns: [(Int64?, Int64)] = [(1_500, 1_500), (600_000, 30_000), (-5, 0), (nil, 5_000)]

    @Test(arguments: shutdowns)
    func `a shutdown without a close is shown at once and ends by itself`(expected: Int64?, wait: Int64) throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, timeoutMs: 600_000)
        link.advance(10_000)
        let figure = expected.map { "\($0)" } ?? "null"
        link.say(
            #"{"type":"event","event":"shutdown","payload":{"reason":"update","restartExpectedMs":\#(figure)}}"#
        )
        #expect(link.statuses.last?.state == .offline && link.statuses.last?.code == "GATEWAY_RESTARTING")
        // No events were missed before this one, and its receivers know that.
        #expect(link.events.last?.name == "shutdown" && link.statesBehindEvents.last == .online)
        #expect(link.machine.status.retryAt == link.now.wall.adding(milliseconds: wait))
        link.call(2)
        #expect(link.outcomes.map(\.outcome.name) == ["notDispatched offline"])
        #expect(link.hangUps == 0)

        #expect(link.advanceToWake() == wait)
        #expect(link.hangUps == 1 && link.closes.count == 1)
        #expect(link.outcomes.last?.outcome.name == "ambiguous linkLost")
        #expect(link.machine.status.code == "GATEWAY_RESTARTING")
        #expect(link.advanceToWake() == 0)
        link.perform(link.machine.opened(now: link.now))
        link.challenge()
        link.sayHello()
        #expect(link.machine.isOnline && link.machine.status.state == .online)
    }

    @Test func `answers and events still count during a shutdown, and a second one does not extend it`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1)
        let id = link.lastRequest?["id"]?.string ?? ""
        link.advance(10_000)
        let shutdown = #"{"type":"event","event":"shutdown","payload":{"reason":"update","restartExpectedMs":20000}}"#
        link.say(shutdown)
        link.say(#"{"type":"event","event":"chat","payload":{"runId":"r"}}"#)
        link.say(#"{"type":"res","id":"\#(id)","ok":true}"#)
        #expect(link.events.map(\.name) == ["shutdown", "chat"])
        #expect(link.outcomes.map(\.outcome.name) == ["ok"])
        link.advance(15_000)
        link.say(shutdown)
        #expect(link.advanceToWake() == 5_000)
        #expect(link.hangUps == 1)
    }

    @Test func `a connection lost during a shutdown is a restart`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.advance(10_000)
        link.say(#"{"type":"event","event":"shutdown","payload":{"reason":"update","restartExpectedMs":1500}}"#)
        link.advance(400)
        link.perform(link.machine.transportFailed(.dropped, now: link.now))
        #expect(link.machine.status.code == "GATEWAY_RESTARTING")
        #expect(link.advanceToWake() == 1_100)
    }

    @Test func `the upgrade, the challenge and the hello each get 25 seconds`() throws {
        var link = try LinkHarness()
        link.perform(link.machine.start(now: link.now))
        link.advance(10_000)
        link.perform(link.machine.opened(now: link.now))
        // The answer to the upgrade comes at once in the harness; the challenge and the hello do not.
        link.advance(16_000)
        link.perform(link.machine.wake(now: link.now))
        #expect(link.hangUps == 0)
        link.challenge()
        #expect(link.advanceToWake() == 9_000)
        #expect(link.machine.status.code == "GATEWAY_TIMEOUT" && link.hangUps == 1)
    }

    @Test func `a message that never ends is given up, though its bytes keep coming`() throws {
        var link = try LinkHarness()
        link.goOnline()
        // The head of a message of 1,000 bytes.
        link.feed([0x81, 126, 0x03, 0xE8])
        var sent = 0
        while link.hangUps == 0, sent < 30 {
            link.advance(50_000)
            link.perform(link.machine.wake(now: link.now))
            if link.hangUps == 0 { link.feed([UInt8(ascii: " ")]) }
            sent += 1
        }
        #expect(sent == 12 && link.machine.status.code == "LINK_STALLED")
        #expect(link.machine.wakeAt != nil)
    }

    @Test func `pings alone do not keep a link alive for ever`() throws {
        var link = try LinkHarness()
        link.goOnline()
        for _ in 0..<12 {
            link.advance(50_000)
            link.perform(link.machine.wake(now: link.now))
            link.feed([0x89, 0])
        }
        #expect(link.hangUps == 1 && link.machine.status.code == "LINK_STALLED")
    }

    @Test func `a gateway that does not read is given up, a slow one is not`() throws {
        var link = try LinkHarness()
        link.goOnline()
        let tick = #"{"type":"event","event":"tick","payload":{"ts":1}}"#
        link.fillOutput(2 << 20)
        link.call(1, timeoutMs: 600_000)
        for _ in 0..<5 {
            link.advance(50_000)
            link.fillOutput(2 << 20, taking: 1)
            link.perform(link.machine.wake(now: link.now))
            link.say(tick)
        }
        #expect(link.machine.isOnline)
        link.advance(59_999)
        link.say(tick)
        link.perform(link.machine.wake(now: link.now))
        #expect(link.machine.isOnline)
        link.advance(1)
        link.fillOutput(2 << 20)
        link.perform(link.machine.wake(now: link.now))
        #expect(link.machine.status.code == "LINK_STALLED")
        #expect(link.outcomes.map(\.outcome.name) == ["notDispatched offline"])
    }

    @Test func `a read that is refused for the moment is asked again within its caller's time`() throws {
        let starting =
            #""ok":false,"error":{"code":"UNAVAILABLE","message":"starting","retryable":true,"retryAfterMs":500}"#
        let soon = #""ok":false,"error":{"code":"UNAVAILABLE","message":"starting","retryable":true,"retryAfterMs":0}"#
        let unnamed = #""ok":false,"error":{"code":"UNAVAILABLE","message":"starting","retryable":true}"#
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, "chat.history", timeoutMs: 2_000)
        let first = link.lastRequest
        let answers: [(String, Int64)] = [(starting, 500), (soon, 250), (unnamed, 1_000)]
        for (answer, wait) in answers {
            let count = link.requests.count
            link.answerConnect(answer)
            #expect(link.outcomes.isEmpty && link.requests.count == count)
            #expect(link.advanceToWake() == wait)
            #expect(link.requests.count == count + 1)
            #expect(link.lastRequest?["method"]?.string == "chat.history")
            #expect(link.lastRequest?["id"]?.string != first?["id"]?.string)
        }
        // 250 ms are left, too few for another wait.
        link.answerConnect(starting)
        #expect(link.outcomes.map(\.outcome.name) == ["failed UNAVAILABLE"])
    }

    static let finalRefusals: [(String, String)] = [
        ("chat.send", #""code":"UNAVAILABLE","message":"m","retryable":true"#),
        ("chat.history", #""code":"UNAVAILABLE","message":"m""#),
        ("chat.history", #""code":"UNAVAILABLE","message":"m","retryable":false"#),
        ("chat.history", #""code":"INVALID_REQUEST","message":"m","retryable":true"#),
        ("chat.history", #""code":"UNAVAILABLE","message":"m","retryable":true,"retryAfterMs":30000"#),
    ]

    @Test(arguments: finalRefusals)
    func `a write and a final refusal are not repeated`(method: String, error: String) throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, method)
        link.answerConnect(#""ok":false,"error":{\#(error)}"#)
        #expect(link.outcomes.count == 1)
    }

    @Test func `a read that waits for its repeat ends with the connection`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, "sessions.list")
        link.answerConnect(#""ok":false,"error":{"code":"UNAVAILABLE","message":"m","retryable":true}"#)
        link.perform(link.machine.transportFailed(.dropped, now: link.now))
        #expect(link.outcomes.map(\.outcome.name) == ["notDispatched offline"])
        #expect(link.advanceToWake() == 3_000)
    }
}
