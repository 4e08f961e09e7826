import Ledger
import Testing

@testable import Outbox

struct SearchScheduleTests {
    private let policy = OutboxPolicy()
    private let now = Moment(wallMs: 1_000_000, monotonicMs: 50_000)

    @Test func `pauses of an accepted entry grow, and start anew with its next acceptance`() {
        var search = SearchSchedule()
        #expect(search.accepted(policy: policy) == 30_000)
        let rests = (0..<5).map { _ in search.pauseAfterNothing(.accepted, policy) }
        #expect(rests == [120_000, 600_000, 1_800_000, 1_800_000, 1_800_000])
        #expect(search.accepted(policy: policy) == 30_000)
        #expect(search.pauseAfterNothing(.accepted, policy) == 120_000)
        #expect(search.pauseAfterFailure(.accepted, policy) == 30_000)
    }

    @Test func `a row that should be there is looked for at once, the first time`() {
        var search = SearchSchedule()
        search.rowShouldBeThere()
        #expect(search.accepted(policy: policy) == 0)
        #expect(search.accepted(policy: policy) == 30_000)
    }

    @Test func `the newest page is read first, then the whole history, once each`() {
        var search = SearchSchedule()
        let steps = [search.readBack(), search.readBack()]
        _ = search.pauseAfterNothing(.unconfirmed, policy)
        #expect(steps + [search.readBack()] == [true, false, true])
    }

    @Test func `a lost link ends the search under way and leaves the calendar`() {
        var search = SearchSchedule()
        #expect(search.rest(1_000, from: now) == 51_000)
        search.linkLost()
        #expect(search.isIdle)
        #expect(search.nextMs == 51_000)
        #expect(!search.isDue(now))
        #expect(search.isDue(Moment(wallMs: 0, monotonicMs: 51_000)))
    }
}
