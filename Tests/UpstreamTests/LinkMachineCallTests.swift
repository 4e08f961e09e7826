import Gateway
import JSONBytes
import Testing

@testable import Upstream

struct LinkMachineCallTests {
    @Test func `requests run side by side and answers find theirs`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1)
        let first = link.lastRequest?["id"]?.string ?? ""
        link.call(2)
        let second = link.lastRequest?["id"]?.string ?? ""
        #expect(first != second)
        link.say(#"{"type":"res","id":"\#(second)","ok":true,"payload":{"n":2}}"#)
        link.say(
            #"{"type":"res","id":"\#(first)","ok":false,"error":{"code":"UNAVAILABLE","message":"busy","retryAfterMs":70}}"#
        )
        #expect(link.outcomes.map(\.id.number) == [2, 1])
        #expect(link.outcomes.map(\.outcome.name) == ["ok", "failed UNAVAILABLE"])
        link.say(#"{"type":"res","id":"\#(first)","ok":true}"#)
        #expect(link.machine.counters.unknownAnswers == 1)
    }

    @Test func `a timeout leaves the outcome open until the late answer`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1, timeoutMs: 1_000)
        let id = link.lastRequest?["id"]?.string ?? ""
        #expect(link.advanceToWake() == 1_000)
        #expect(link.outcomes.map(\.outcome.name) == ["ambiguous timedOut"])
        link.say(#"{"type":"res","id":"\#(id)","ok":true}"#)
        #expect(link.late.map(\.id.number) == [1] && link.machine.counters.lateAnswers == 1)
        link.say(#"{"type":"res","id":"\#(id)","ok":true}"#)
        #expect(link.late.count == 1)
    }

    @Test func `a drop leaves written requests ambiguous and waiting ones unsent`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1)
        link.fillOutput(2 << 20)
        let seen = link.requests.count
        link.perform(
            link.machine.request(CallID(2), method: "health", params: Array("{}".utf8), timeoutMs: 9_000, now: link.now)
        )
        #expect(link.requests.count == seen)
        link.perform(link.machine.transportFailed(.dropped, now: link.now))
        #expect(link.outcomes.map(\.outcome.name) == ["ambiguous linkLost", "notDispatched offline"])
    }

    @Test func `a request that waited goes out when the connection drains, unless its time is over`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.fillOutput(2 << 20)
        let before = link.requests.count
        for number in 1...3 as ClosedRange<UInt64> {
            let timeout: Int64 = number == 2 ? 100 : 60_000
            link.perform(
                link.machine.request(
                    CallID(number),
                    method: "m\(number)",
                    params: Array("{}".utf8),
                    timeoutMs: timeout,
                    now: link.now
                )
            )
        }
        #expect(link.requests.count == before)
        #expect(link.advanceToWake() == 100)
        #expect(link.outcomes.map(\.outcome.name) == ["notDispatched timedOut"])
        link.fillOutput(0)
        #expect(link.requests.dropFirst(before).compactMap { $0.root["method"]?.string } == ["m1", "m3"])
    }

    @Test func `limits answer at once`() throws {
        var link = try LinkHarness()
        link.call(1)
        #expect(link.outcomes.last?.outcome.name == "notDispatched offline")
        link.goOnline()
        let big = Array("\"\(String(repeating: "a", count: 26_214_400))\"".utf8)
        link.perform(link.machine.request(CallID(2), method: "x", params: big, timeoutMs: 1, now: link.now))
        guard case .notDispatched(.tooLarge) = link.outcomes.last?.outcome else {
            Issue.record("not refused as too large")
            return
        }
        for number in 0...UInt64(RequestQueue.maxPending) { link.call(100 + number) }
        #expect(link.outcomes.last?.outcome.name == "notDispatched queueFull")
        #expect(link.outcomes.count == 3)
        link.perform(link.machine.stop(now: link.now))
        #expect(link.outcomes.count == 3 + RequestQueue.maxPending)
        #expect(link.outcomes.last?.outcome.name == "ambiguous linkLost")
    }

    @Test func `ids are never used twice, also over reconnects`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.call(1)
        link.close(1000)
        link.reopenUntilOnline()
        link.call(2)
        let ids = link.requests.compactMap { $0.root["id"]?.string }
        #expect(Set(ids).count == ids.count)
    }

    @Test func `pings are answered`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.feed([0x89, 2, 5, 6])
        #expect(link.pongs == [[5, 6]])
    }
}
