import Ledger
import Testing

@testable import Runs

/// A look for each row of the table, by the row's name.
@Suite struct RunEndTableTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let row: String
        let act: RunEndTable.Act
        let look: RunEndTable.Look

        init(_ row: String, _ act: RunEndTable.Act, _ facts: (inout RunEndTable.Look) -> Void) {
            var look = RunEndTable.Look()
            facts(&look)
            (self.row, self.act, self.look) = (row, act, look)
        }

        var testDescription: String { "\(row): \(act)" }
    }

    private static let over = [
        Case("ended", .leave) { $0.isActive = false },
        Case("over, and nothing was shown", .drop) { ($0.isOver, $0.isNothing) = (true, true) },
        Case("over", .read) { ($0.isOver, $0.isEndShown) = (true, true) },
        Case("over", .read) { ($0.isOver, $0.isGone) = (true, true) },
    ]

    private static let gone = [
        Case("gone, and its rows show the end", .read) { ($0.isGone, $0.isEndShown) = (true, true) },
        Case("gone before it began, and the outbox looks for it", .read) {
            ($0.isGone, $0.awaitsDelivery) = (true, true)
        },
        Case("gone before it began, and the outbox looks for it", .read) {
            ($0.isGone, $0.awaitsDelivery, $0.isStored, $0.pagesTellRuns) = (true, true, true, true)
        },
        Case("gone before it began, and its message too", .drop) { $0.isGone = true },
        Case("gone, and may come back", .wait) { ($0.isGone, $0.hasBegun, $0.awaitsDelivery) = (true, true, true) },
        Case("gone, and may come back", .wait) {
            ($0.isGone, $0.isStored, $0.awaitsDelivery) = (true, true, true)
        },
        Case("gone, and may come back", .wait) { ($0.isGone, $0.isStored, $0.mayComeBack) = (true, true, true) },
        Case("gone", .end(.processGone)) { ($0.isGone, $0.hasBegun, $0.isInFlight) = (true, true, true) },
        Case("gone", .end(.processGone)) { ($0.isGone, $0.isStored) = (true, true) },
    ]

    private static let doubtful = [
        Case("refused, and no answer of its own", .drop) { $0.wasRefused = true },
        Case("stopped, perhaps behind its answer", .read) { $0.isStopInDoubt = true },
        Case("no doubt about it", .leave) { ($0.hasBegun, $0.isSessionIdle, $0.isEndShown) = (true, true, true) },
        Case("at work", .hear) { ($0.isDoubtful, $0.isInFlight, $0.isEndShown) = (true, true, true) },
        Case("its rows show the end", .read) { ($0.isDoubtful, $0.isEndShown) = (true, true) },
        Case("begun, and a later message is answered", .end(.reported(nil))) {
            ($0.isDoubtful, $0.hasBegun, $0.isPassed) = (true, true, true)
        },
        Case("perhaps at work", .read) { ($0.isDoubtful, $0.isPassed) = (true, true) },
        Case("perhaps at work", .read) { ($0.isDoubtful, $0.isNothing, $0.lastEnd) = (true, true, .completed) },
        Case("idle, and nothing was shown", .drop) {
            ($0.isDoubtful, $0.isSessionIdle, $0.isNothing) = (true, true, true)
        },
        Case("idle, and neither begun nor stored", .read) {
            ($0.isDoubtful, $0.isSessionIdle, $0.isLongOver) = (true, true, true)
        },
        Case("idle, and perhaps refused", .read) {
            ($0.isDoubtful, $0.isSessionIdle, $0.isStored) = (true, true, true)
            ($0.awaitsDelivery, $0.mayBeRefused, $0.lastEnd) = (true, true, .failed)
        },
        Case("idle, and over", .end(.reported(.failed))) {
            ($0.isDoubtful, $0.isSessionIdle, $0.hasBegun, $0.lastEnd) = (true, true, true, .failed)
        },
        Case("idle, and over", .end(.reported(nil))) {
            ($0.isDoubtful, $0.isSessionIdle, $0.isStored, $0.isLongOver) = (true, true, true, true)
        },
        Case("idle, and asked for its end", .lookAgain) {
            ($0.isDoubtful, $0.isSessionIdle, $0.hasBegun, $0.lastEnd) = (true, true, true, .failed)
            $0.isAskedForEnd = true
        },
        Case("idle, and over", .end(.reported(nil))) {
            ($0.isDoubtful, $0.isSessionIdle, $0.hasBegun, $0.lastEnd) = (true, true, true, .failed)
            ($0.isAskedForEnd, $0.isLongOver) = (true, true)
        },
        Case("idle, and over just now", .lookAgain) {
            ($0.isDoubtful, $0.isSessionIdle, $0.hasBegun) = (true, true, true)
        },
    ]

    private static let cases = over + gone + doubtful

    @Test(arguments: cases)
    func `a row of the table decides as it says`(_ each: Case) {
        let row = RunEndTable.row(for: each.look)
        #expect(row.name == each.row)
        #expect(row.act(each.look) == each.act)
    }

    @Test func `every row has a look`() {
        #expect(Set(Self.cases.map(\.row)) == Set(RunEndTable.table.map(\.name)))
    }
}
