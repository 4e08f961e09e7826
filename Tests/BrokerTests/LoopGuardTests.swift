import Basics
import Testing

@testable import Broker

struct LoopGuardTests {
    private func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_795_000_000_000 + seconds * 1000) }

    @Test func `the fourth equal text in a minute is refused for ten minutes`() {
        var guardian = LoopGuard()
        for second in Int64(0)..<3 { #expect(guardian.admit("hi", session: nil, now: at(second)) == nil) }
        #expect(guardian.admit("hi", session: "main", now: at(3))?.code == .loopSuspected)
        #expect(guardian.admit("hi", session: "den", now: at(3)) == nil)
        #expect(guardian.admit("ho", session: nil, now: at(3)) == nil)
        #expect(guardian.admit("hi", session: nil, now: at(602))?.code == .loopSuspected)
        #expect(guardian.admit("hi", session: nil, now: at(603)) == nil)
    }

    @Test func `an equal text now and then is no loop`() {
        var guardian = LoopGuard()
        for minute in Int64(0)..<20 { #expect(guardian.admit("hi", session: nil, now: at(minute * 20)) == nil) }
    }

    @Test func `it forgets the oldest of many texts, and a clock that goes back does not lock it`() {
        var guardian = LoopGuard()
        for number in 0..<2_200 { #expect(guardian.admit("\(number)", session: nil, now: at(0)) == nil) }
        #expect(guardian.count <= LoopGuard.capacity && guardian.count > LoopGuard.capacity / 2)
        for _ in 0..<4 { _ = guardian.admit("hi", session: nil, now: at(10_000)) }
        #expect(guardian.admit("hi", session: nil, now: at(-10_000)) == nil)
    }

    @Test func `twenty commands may come at once, then five a second`() {
        var rate = BrokerLimits.commandRate
        let now: UInt64 = 1_000_000_000_000
        let taken = (0..<30).count { _ in rate.take(now: now) }
        #expect(taken == 20)
        let later = (0..<30).count { _ in rate.take(now: now + 1_000_000_000) }
        #expect(later == 5)
    }
}
