import Testing

@testable import Outbox

struct HistorySearchTests {
    private let policy = OutboxPolicy()
    private let now = Moment(wallMs: 1_000_000, monotonicMs: 50_000)
    private let scan = ScanID(number: 7)

    private func situation(_ process: GatewayContinuity) -> Reconciliation.Situation {
        Reconciliation.Situation(
            mayOnlyBeProven: false,
            process: process,
            leastSinceDispatchMs: 5_000,
            mostSinceDispatchMs: 5_000,
            mayGoOut: true,
            isBusy: false
        )
    }

    @Test func `an entry in doubt is looked for on the newest page first, an accepted one in the whole history`() {
        var search = HistorySearch()
        #expect(search.begin(.unconfirmed) == .scan(.recent))
        #expect(search.begin(.accepted) == .scan(.complete))
        #expect(search.begin(.sending) == nil)
    }

    @Test func `one look is under way at a time, and only its own report ends it`() {
        var search = HistorySearch()
        search.begun(scan)
        #expect(!search.isIdle)
        #expect(search.end(ScanID(number: 6)) == false)
        #expect(search.end(scan) == true)
        #expect(search.isIdle)
        #expect(search.end(scan) == false)
    }

    @Test func `a lost link ends the look under way and leaves the calendar`() {
        var search = HistorySearch()
        search.begun(scan)
        #expect(search.rest(1_000, from: now) == 51_000)
        search.linkLost()
        #expect(search.isIdle)
        #expect(search.nextMs == 51_000)
        #expect(!search.isDue(now))
        #expect(search.isDue(Moment(wallMs: 0, monotonicMs: 51_000)))
    }

    @Test func `checks of an accepted entry come less often, and start anew with its next acceptance`() {
        var search = HistorySearch()
        let found = ScanReport(isComplete: true)
        let rests = (0..<5).map { _ in search.received(found, .accepted, situation(.same), policy: policy) }
        #expect(rests == [120_000, 600_000, 1_800_000, 1_800_000, 1_800_000].map { .lookAgain(afterMs: $0) })
        #expect(search.accepted(policy: policy) == 30_000)
        #expect(search.received(found, .accepted, situation(.same), policy: policy) == .lookAgain(afterMs: 120_000))
        #expect(search.received(.failed, .accepted, situation(.same), policy: policy) == .lookAgain(afterMs: 30_000))
    }

    @Test func `a row that should be there is looked for at once, the first time`() {
        var search = HistorySearch()
        search.rowShouldBeThere()
        #expect(search.accepted(policy: policy) == 0)
        #expect(search.accepted(policy: policy) == 30_000)
    }

    @Test func `the same gateway is asked once in a doubt, and once more in the next`() {
        var search = HistorySearch()
        let empty = ScanReport(isComplete: false)
        #expect(search.received(empty, .unconfirmed, situation(.same), policy: policy) == .repeatSameKey)
        #expect(search.received(empty, .unconfirmed, situation(.same), policy: policy) == .scan(.complete))
        search.startAnew()
        #expect(search.received(empty, .unconfirmed, situation(.same), policy: policy) == .repeatSameKey)
        search.repeatFailed()
        #expect(search.received(empty, .unconfirmed, situation(.same), policy: policy) == .repeatSameKey)
    }

    @Test func `a history without the row shows absence once the gateway is another`() {
        var search = HistorySearch()
        let empty = ScanReport(isComplete: true)
        #expect(search.received(empty, .unconfirmed, situation(.other), policy: policy) == .settleAbsent)
        #expect(search.received(empty, .delivered, situation(.other), policy: policy) == nil)
    }
}
