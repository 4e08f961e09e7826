import Basics
import Testing

@testable import Ledger

@Suite struct EndingTests {
    private static let now = Timestamp(milliseconds: 1_795_000_000_000)
    private static func after(_ milliseconds: Int64) -> Timestamp { now.adding(milliseconds: milliseconds) }

    private typealias Report = @Sendable (inout Ending) -> Void

    private static func fold(_ reports: [Report]) -> Ending {
        var ending = Ending()
        for report in reports { report(&ending) }
        return ending
    }

    // The reports, as events, pages and the link bring them.
    private static let stopped: Report = { $0.stopped() }
    private static let answeredAfterStop: Report = { $0.answeredAfterStop() }
    private static let finished: Report = { $0.finished() }
    private static let answered: Report = { $0.finished(withAnswer: true) }
    private static let failed: Report = { $0.failed("overloaded", sequence: 5, mayBeTriedAgain: false, now: now) }
    private static let failedOnce: Report = { $0.failed("overloaded", sequence: 5, mayBeTriedAgain: true, now: now) }
    private static let tryEnded: Report = { $0.tryEnded(.failed, error: nil, sequence: 4, isLast: false, now: now) }
    private static let begun: Report = { $0.started(sequence: 6) }
    private static let aMinuteLater: Report = { _ = $0.settle(now: after(60_000)) }
    private static let shown: Report = { $0.shown(.completed) }
    private static let shownError: Report = { $0.shown(.failed, error: "overloaded") }
    private static let gone: Report = { $0.over(.processGone) }
    private static let continued: Report = { $0.over(.continued(as: "g")) }
    private static let reset: Report = { $0.over(.conversationReset) }
    private static let calledOver: Report = { $0.over(.reported(nil)) }
    private static let calledAborted: Report = { $0.over(.reported(.aborted)) }

    private struct Case: Sendable {
        let row: String
        let reports: [Report]
        let end: Ending.How?
        init(_ row: String, _ reports: [Report], _ end: Ending.How?) {
            (self.row, self.reports, self.end) = (row, reports, end)
        }
    }

    private static let cases = [
        Case("under way", [], nil),
        Case("under way", [tryEnded], nil),
        Case("under way", [failedOnce], nil),
        Case("under way", [shownError], nil),
        Case("answered in spite of its stop", [stopped, shown, answeredAfterStop], .completed),
        Case("answered before its stop", [answered, stopped], .completed),
        Case("stopped", [stopped, answered], .aborted),
        Case("stopped", [finished, stopped], .aborted),
        Case("stopped", [stopped, finished], .aborted),
        Case("stopped", [failed, gone, stopped], .aborted),
        Case("answered", [finished], .completed),
        Case("answered", [failedOnce, begun, finished], .completed),
        Case("answered", [failed, finished], .completed),
        Case("failed for good", [failed, shown], .failed),
        Case("not tried again", [tryEnded, aMinuteLater], .failed),
        Case("not tried again", [failedOnce, aMinuteLater], .failed),
        Case("shown by its rows", [shown, gone], .completed),
        Case("shown by its rows", [shownError, calledOver], .failed),
        Case("over after its last try", [tryEnded, calledOver], .failed),
        Case("its session's last end", [calledAborted], .aborted),
        Case("over with its conversation", [reset], .reset),
        Case("over with its conversation", [tryEnded, begun, reset], .reset),
        Case("over after a failure", [failedOnce, gone], .failed),
        Case("over for some reason", [gone], .interrupted),
        Case("over for some reason", [tryEnded, begun, gone], .interrupted),
        Case("over for some reason", [calledOver], .unknown),
    ]

    @Test func `each row of the table decides as it says`() {
        for each in Self.cases {
            let ending = Self.fold(each.reports)
            #expect(ending.row.name == each.row && ending.end == each.end, "\(each.row): \(ending.row.name)")
        }
        #expect(Set(Self.cases.map(\.row)) == Set(Ending.table.map(\.name)))
    }

    @Test func `a report that comes again changes nothing`() {
        for each in Self.cases {
            let again = Self.fold(each.reports.flatMap { [$0, $0] })
            #expect(again.row.name == each.row && again.end == each.end, "\(each.row): \(again.row.name)")
        }
    }

    @Test func `an end that was published is read back as it was`() {
        for each in Self.cases {
            let ending = Self.fold(each.reports)
            let read = Ending(published: ending.end, continuedAs: ending.continuedAs, error: ending.providersError)
            #expect(read.end == ending.end && read.continuedAs == ending.continuedAs, "\(each.row)")
        }
    }

    @Test func `a last try that was seen to end shows that the agent had the message`() {
        #expect(Self.fold([Self.tryEnded, Self.calledOver]).showsDelivery)
        #expect(!Self.fold([Self.tryEnded, Self.begun, Self.calledOver]).showsDelivery)
        #expect(!Self.fold([Self.calledOver]).showsDelivery)
    }

    @Test func `a run that was given up may be continued late, and no other`() {
        #expect(Self.fold([Self.gone]).wasGivenUp)
        let late = Self.fold([Self.gone, Self.continued])
        #expect(late.end == .interrupted && late.continuedAs == "g" && !late.wasGivenUp)
        #expect(Self.fold([Self.reset, Self.continued]).continuedAs == nil)
        #expect(Self.fold([Self.finished, Self.continued]).continuedAs == nil)
    }

    @Test func `of a try that failed the next one is awaited, for a minute`() {
        var ending = Self.fold([Self.failedOnce])
        #expect(ending.isAwaitingRetry)
        #expect(!ending.settle(now: Self.after(59_999)) && ending.end == nil)
        Self.begun(&ending)
        #expect(!ending.settle(now: Self.after(600_000)) && ending.end == nil, "another try has begun")
        #expect(!ending.isAwaitingRetry)
    }

    @Test func `a run that was cut off is executed again once its second try is reported`() {
        for each in Self.cases {
            var ending = Self.fold(each.reports)
            ending.lost(hadBegun: false)
            Self.begun(&ending)
            #expect(ending.end == nil && !ending.isAgain, "\(each.row): it had not begun")
            ending.lost(hadBegun: true)
            ending.lost(hadBegun: false)
            #expect(ending.end == nil && !ending.isAgain, "\(each.row): it waits to be sent again")
            Self.begun(&ending)
            #expect(ending.isAgain, "\(each.row)")
        }
        #expect(Ending(published: nil, continuedAs: nil, error: nil, isAgain: true).isAgain)
        var next = Self.fold([Self.begun])
        next.beganBefore()
        #expect(next.isAgain)
    }
}
