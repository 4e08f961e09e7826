import Ledger
import Testing

@testable import Outbox

struct HistorySearchTests {
    private let policy = OutboxPolicy()
    private let now = Moment(wallMs: 1_000_000, monotonicMs: 50_000)
    private let number = SearchID(number: 7)

    private func situation(
        _ process: Continuity,
        isBusy: Bool = false,
        sinceContactMs: Int64 = 5_000
    ) -> Reconciliation.Situation {
        Reconciliation.Situation(
            mayOnlyBeProven: false,
            process: process,
            leastSinceDispatchMs: 5_000,
            mostSinceDispatchMs: 5_000,
            mayGoOut: true,
            isWithdrawn: false,
            isBusy: isBusy,
            sinceContactMs: sinceContactMs
        )
    }

    @Test func `an entry in doubt is looked for on the newest page first, an accepted one in the whole history`() {
        var search = HistorySearch()
        #expect(search.begin(.unconfirmed) == .search(.recent))
        #expect(search.begin(.accepted) == .search(.complete))
        #expect(search.begin(.sending) == nil)
    }

    @Test func `one search is under way at a time, and only its own report ends it`() {
        var search = HistorySearch()
        search.begun(number)
        #expect(!search.isIdle)
        #expect(search.end(SearchID(number: 6)) == false)
        #expect(search.end(number) == true)
        #expect(search.isIdle)
        #expect(search.end(number) == false)
    }

    @Test func `a lost link ends the search under way and leaves the calendar`() {
        var search = HistorySearch()
        search.begun(number)
        #expect(search.rest(1_000, from: now) == 51_000)
        search.linkLost()
        #expect(search.isIdle)
        #expect(search.nextMs == 51_000)
        #expect(!search.isDue(now))
        #expect(search.isDue(Moment(wallMs: 0, monotonicMs: 51_000)))
    }

    @Test func `checks of an accepted entry come less often, and start anew with its next acceptance`() {
        var search = HistorySearch()
        let found = SearchReport(isComplete: true)
        let rests = (0..<5).map { _ in search.received(found, .accepted, situation(.same), policy: policy) }
        #expect(rests == [120_000, 600_000, 1_800_000, 1_800_000, 1_800_000].map { .searchAgain(afterMs: $0) })
        #expect(search.accepted(policy: policy) == 30_000)
        #expect(search.received(found, .accepted, situation(.same), policy: policy) == .searchAgain(afterMs: 120_000))
        #expect(search.received(.failed, .accepted, situation(.same), policy: policy) == .searchAgain(afterMs: 30_000))
    }

    @Test func `a row that should be there is looked for at once, the first time`() {
        var search = HistorySearch()
        search.rowShouldBeThere()
        #expect(search.accepted(policy: policy) == 0)
        #expect(search.accepted(policy: policy) == 30_000)
    }

    @Test func `the same gateway is asked once in a doubt, and once more in the next`() {
        var search = HistorySearch()
        let empty = SearchReport(isComplete: false)
        #expect(search.received(empty, .unconfirmed, situation(.same), policy: policy) == .repeatSameKey)
        #expect(search.received(empty, .unconfirmed, situation(.same), policy: policy) == .search(.complete))
        search.startAnew()
        #expect(search.received(empty, .unconfirmed, situation(.same), policy: policy) == .repeatSameKey)
        search.repeatFailed()
        #expect(search.received(empty, .unconfirmed, situation(.same), policy: policy) == .repeatSameKey)
    }

    @Test func `an accepted entry is doubted a minute after the reconnect if neither row nor run shows it`() {
        var search = HistorySearch()
        let nothing = SearchReport(isComplete: true)
        func ask(_ report: SearchReport, isBusy: Bool = false, sinceContactMs: Int64) -> Reconciliation.Ask? {
            let situation = situation(.either, isBusy: isBusy, sinceContactMs: sinceContactMs)
            return search.received(report, .accepted, situation, policy: policy)
        }
        #expect(ask(nothing, sinceContactMs: 0) == .searchAgain(afterMs: 30_000))
        #expect(ask(nothing, sinceContactMs: 45_000) == .searchAgain(afterMs: 15_000))
        #expect(ask(nothing, sinceContactMs: 60_000) == .doubt)
        #expect(ask(nothing, isBusy: true, sinceContactMs: 60_000) != .doubt)
        #expect(ask(SearchReport(isComplete: true, hasActiveRun: true), sinceContactMs: 60_000) != .doubt)
        #expect(ask(SearchReport(isComplete: false), sinceContactMs: 60_000) != .doubt)
    }

    @Test func `a history without the row shows absence once the gateway is another`() {
        var search = HistorySearch()
        let empty = SearchReport(isComplete: true)
        #expect(search.received(empty, .unconfirmed, situation(.other), policy: policy) == .settleAbsent)
        #expect(search.received(empty, .delivered, situation(.other), policy: policy) == nil)
    }
}
