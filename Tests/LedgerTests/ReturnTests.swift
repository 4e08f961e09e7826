import Basics
import Testing

@testable import Ledger

/// May an ended run come back by itself?
@Suite struct ReturnTests {
    private static let now = Timestamp(milliseconds: 1_795_000_000_000)

    private typealias Trait = @Sendable (inout MessageTraits) -> Void
    private static let resumesRuns: Trait = { $0.resumesRuns = true }
    private static let readsRefusedRows: Trait = { $0.readsRefusedRows = true }
    private static let readsStoppedRows: Trait = { $0.readsStoppedRows = true }
    private static let leavesEarlyRow: Trait = { $0.earlyStop = .leavesRow }
    private static let everywhere: Trait = { _ in }

    private struct Case: Sendable {
        let row: String
        let ending: @Sendable (inout Ending) -> Void
        let work: Return.Work
        /// The trait with which the gateway brings it back; nil where none does.
        let trait: Trait?

        init(
            _ row: String,
            _ trait: Trait? = nil,
            isOurs: Bool = true,
            wasRefused: Bool = false,
            wasSeen: Bool = false,
            hasOutput: Bool = false,
            hasModelsWords: Bool = false,
            _ ending: @escaping @Sendable (inout Ending) -> Void
        ) {
            (self.row, self.ending, self.trait) = (row, ending, trait)
            work = Return.Work(
                isOurs: isOurs,
                wasRefused: wasRefused,
                wasSeen: wasSeen,
                hasOutput: hasOutput,
                hasModelsWords: hasModelsWords
            )
        }
    }

    private static let failed: @Sendable (inout Ending) -> Void = {
        $0.failed("overloaded", sequence: 1, mayBeTriedAgain: false, now: now)
    }

    private static let cases = [
        Case("goes on as another run") { $0.over(.continued(as: "g")) },
        Case("goes on as another run") {
            $0.stopped()
            $0.over(.continued(as: "g"))
        },
        Case("its process is gone", resumesRuns) { $0.over(.processGone) },
        Case("its process is gone", resumesRuns, isOurs: false, hasOutput: true) { $0.over(.processGone) },
        Case("of another client", isOurs: false) { $0.stopped() },
        Case("of another client", isOurs: false, failed),
        Case("failed, and no answer stands behind its message", everywhere, failed),
        Case("failed, and no answer stands behind its message", everywhere, wasSeen: true, failed),
        Case("failed, and no answer stands behind its message", everywhere, wasSeen: true, hasOutput: true, failed),
        Case(
            "failed, and no answer stands behind its message",
            everywhere,
            wasRefused: true,
            wasSeen: true,
            hasModelsWords: true,
            failed
        ),
        Case("unknown, and not run", readsRefusedRows) { $0.over(.reported(nil)) },
        Case("stopped at work", readsStoppedRows, wasSeen: true, hasOutput: true) { $0.stopped() },
        Case("stopped before it had output", leavesEarlyRow, wasSeen: true) { $0.stopped() },
        Case("over for good", wasSeen: true, hasModelsWords: true, failed),
        Case("over for good") { $0.finished() },
        Case("over for good") { $0.over(.conversationReset) },
    ]

    @Test func `each row of the table decides as it says`() {
        let never = MessageTraits(
            keysInRows: true,
            earlyStop: .clean,
            queuedStop: .clean,
            resumesRuns: false,
            readsRefusedRows: false
        )
        for each in Self.cases {
            var ending = Ending()
            each.ending(&ending)
            #expect(Return.row(ending, each.work).name == each.row)
            let isEverywhere = each.row == "failed, and no answer stands behind its message"
            #expect(Return.mayFollow(ending, each.work, never) == isEverywhere, "\(each.row)")
            var always = never
            for trait in [Self.resumesRuns, Self.readsRefusedRows, Self.readsStoppedRows, Self.leavesEarlyRow] {
                trait(&always)
            }
            #expect(Return.mayFollow(ending, each.work, always) == (each.trait != nil), "\(each.row)")
            guard let trait = each.trait else { continue }
            var only = never
            trait(&only)
            #expect(Return.mayFollow(ending, each.work, only), "\(each.row)")
        }
        #expect(Set(Self.cases.map(\.row)) == Set(Return.table.map(\.name)))
    }
}
