import Basics
import Testing

@testable import Runs

struct RunTimesTests {
    private func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: milliseconds) }

    @Test func `a reported start counts more than the first event`() {
        var times = RunTimes(createdAt: at(100))
        #expect(!times.hasBegun && times.start == at(100))
        times.began(at: at(90))
        times.began(at: at(95))
        #expect(times.hasBegun && times.start == at(90) && times.sentAt == at(100))
        times.started(at: at(120))
        times.started(at: at(110))
        #expect(times.start == at(110) && times.sentAt == at(120) && times.starts == [at(120), at(110)])
    }

    @Test func `the last end of a try counts more than the first chat end, and that more than the last event`() {
        var times = RunTimes(createdAt: at(0))
        times.seen(at: at(30))
        times.seen(at: at(20))
        #expect(times.lastSeen == at(30))
        times.chatEnded(at: at(28))
        times.chatEnded(at: at(29))
        #expect(times.lastSeen == at(28))
        times.ended(at: at(27), sequence: 5)
        times.ended(at: at(26), sequence: 4)
        #expect(times.lastSeen == at(27))
        times.forgetEnd()
        #expect(times.lastSeen == at(30))
    }

    @Test func `only a reported start shows that a run began before a process`() {
        var times = RunTimes(createdAt: at(0))
        #expect(!times.began(before: at(5_000)))
        times.started(at: at(1_000))
        #expect(times.began(before: at(3_001)) && !times.began(before: at(3_000)) && !times.began(before: nil))
    }
}
