import Ledger
import Testing

@testable import Outbox

struct EntryDoubtTests {
    private let policy = OutboxPolicy()
    private let now = Moment(wallMs: 1_000_000, monotonicMs: 50_000)

    @Test func `pauses of an accepted entry grow, and start anew with its next acceptance`() {
        var doubt = EntryDoubt()
        #expect(doubt.accepted(policy: policy) == 30_000)
        let rests = (0..<5).map { _ in doubt.pauseAfterNothing(.accepted, policy) }
        #expect(rests == [120_000, 600_000, 1_800_000, 1_800_000, 1_800_000])
        #expect(doubt.accepted(policy: policy) == 30_000)
        #expect(doubt.pauseAfterNothing(.accepted, policy) == 120_000)
        #expect(doubt.pauseAfterFailure(.accepted, policy) == 30_000)
    }

    @Test func `a row that should be there is looked for at once, the first time`() {
        var doubt = EntryDoubt()
        doubt.rowShouldBeThere()
        #expect(doubt.accepted(policy: policy) == 0)
        #expect(doubt.accepted(policy: policy) == 30_000)
    }

    @Test func `a lost link ends the search under way and leaves the calendar`() {
        var doubt = EntryDoubt()
        #expect(doubt.rest(1_000, from: now) == 51_000)
        doubt.linkLost()
        #expect(doubt.isIdle)
        #expect(doubt.nextMs == 51_000)
        #expect(!doubt.isDue(now))
        #expect(doubt.isDue(Moment(wallMs: 0, monotonicMs: 51_000)))
    }
}
