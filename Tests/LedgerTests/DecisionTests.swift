import Foundation
import Testing

@testable import Ledger

/// A history for each row of the table, by the row's name. `source` is the recording of a gateway that needs the row, or the trace of the
/// explored model (`explored`) where no gateway has been caught at it; `read` is known from a gateway's source alone.
@Suite struct DecisionTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let row: String
        let source: String
        let release: GatewayProfile.Generation
        let facts: [Fact]
        let told: Statement?
        let next: Decision.Next

        init(
            _ row: String,
            _ source: String,
            _ release: GatewayProfile.Generation,
            _ facts: [Fact],
            told: Statement? = nil,
            _ next: Decision.Next = .nothing
        ) {
            (self.row, self.source, self.release) = (row, source, release)
            (self.facts, self.told, self.next) = (facts, told, next)
        }

        var testDescription: String { row }
    }

    // MARK: Histories

    private static let sent = Fact.sent(key: 1, contact: 1)
    private static func answer(_ answer: Fact.Answer) -> Fact { .answered(key: 1, contact: 1, answer) }
    private static let taken = [sent, answer(.taken)]
    private static let atWork = taken + [.began(.key(1))]
    private static let stop = Fact.will(.stop, number: 1)
    private static let confirmed = Fact.stopAnswered(key: 1, stopped: true)
    private static let ownRow = Fact.Row("r", .certain)

    /// A page that has all rows of the session and was asked for after everything that came before.
    private static func page(
        over contact: Int = 1,
        _ rows: [Fact.Row] = [],
        _ activity: Fact.Activity = .unknown,
        receipt: Fact.Receipt? = nil
    ) -> Fact {
        let knew: Fact.Knowledge = [.answer, .stopped, .nothingToStop]
        return .page(
            Fact.Page(
                number: 1,
                contact: contact,
                rows: rows,
                activity: activity,
                receipt: receipt,
                knew: knew
            )
        )
    }

    /// The gateway was restarted, and the transcript was read.
    private static func restarted(_ rows: [Fact.Row] = [], receipt: Fact.Receipt? = nil) -> [Fact] {
        [.contact(2, .other), page(over: 2, rows, receipt: receipt)]
    }

    // MARK: The table

    private static let notSent = [
        Case("cancelled before it was sent", "explored", .june, [stop], told: Statement(.cancelled)),
        Case("waits for its turn", "busy-sends.v2026.6.11", .june, [], .send),
    ]

    private static let ended = [
        Case(
            "answered",
            "busy-sends.v2026.6.11",
            .june,
            atWork + [.ended(.key(1), .answered)],
            told: Statement(.completed)
        ),
        Case(
            "went into a run at work",
            "read",
            .autumn,
            taken + [.ended(.key(1), .empty), .row(Fact.Row("r", .certain, .joined))],
            told: Statement(.joined)
        ),
        Case(
            "stopped, and the gateway stops cleanly",
            "read",
            .autumn,
            taken + [stop, confirmed, page()],
            told: Statement(.cancelled),
            .read
        ),
        Case(
            "stopped",
            "stop-early-more.v2026.3.1",
            .march,
            taken + [stop, confirmed],
            told: Statement(.aborted, [.mayHaveRun, .mayReturn])
        ),
        Case(
            "turned away",
            "refused-rows-merged.v2026.6.11",
            .june,
            taken + [.row(ownRow), .ended(.key(1), .refused)],
            told: Statement(.failed, .mayReturn)
        ),
        Case("failed", "provider-429.v2026.3.1", .march, atWork + [.ended(.key(1), .failed)], told: Statement(.failed)),
    ]

    private static let stored = [
        Case("at work", "client-restart-midrun.v2026.6.11", .june, atWork, .watch),
        Case(
            "cut off, to be read",
            "gateway-kill-midrun.v2026.6.11",
            .june,
            atWork + [.contact(2, .other)],
            .read
        ),
        Case(
            "cut off, and may be resumed",
            "gateway-kill-midrun.v2026.6.11",
            .june,
            atWork + restarted([ownRow]) + [.waited(contact: 2)],
            told: Statement(.interrupted, .mayReturn),
            .wait
        ),
        Case(
            "cut off",
            "gateway-kill-midrun.v2026.3.1",
            .march,
            atWork + restarted([ownRow]),
            told: Statement(.interrupted)
        ),
        Case(
            "perhaps cut off",
            "restart-in-process.v2026.3.1",
            .march,
            atWork + [.contact(2, .either), page(over: 2, [ownRow]), .waited(contact: 2)],
            told: Statement(.interrupted, .mayReturn),
            .wait
        ),
    ]

    private static let notRun = [
        Case(
            "refused, and stopped",
            "drain-read-refusals.v2026.6.11",
            .june,
            [sent, answer(.refused), stop],
            told: Statement(.cancelled)
        ),
        Case(
            "refused over this contact",
            "drain-read-refusals.v2026.6.11",
            .june,
            [sent, answer(.refused)],
            .wait
        ),
        Case(
            "refused",
            "drain-read-refusals.v2026.6.11",
            .june,
            [sent, answer(.refused), .contact(2, .other)],
            .newKey
        ),
        Case(
            "dropped for equal words, and stopped",
            "explored",
            .june,
            [sent, answer(.dropped), stop],
            told: Statement(.cancelled)
        ),
        Case(
            "dropped for equal words that ended",
            "same-words-running.v2026.6.11",
            .june,
            [sent, answer(.dropped), page([], .idle)],
            .newKey
        ),
        Case(
            "dropped for equal words",
            "same-words-running.v2026.6.11",
            .june,
            [sent, answer(.dropped)],
            .watch
        ),
    ]

    private static let absent = [
        Case(
            "lost",
            "explored",
            .june,
            taken + [.told(Statement(.unknown), number: 1)] + restarted(),
            told: Statement(.lost)
        ),
        Case("kept by the gateway", "read", .autumn, taken + restarted(receipt: .queued), .watch),
        Case(
            "withdrawn at the gateway",
            "read",
            .autumn,
            taken + restarted(receipt: .cancelled),
            told: Statement(.cancelled)
        ),
        Case(
            "kept by the gateway, and stopped",
            "read",
            .autumn,
            taken + [stop] + restarted(receipt: .interrupted),
            .discard
        ),
        Case(
            "taken by the gateway",
            "read",
            .autumn,
            taken + restarted(receipt: .consumed) + [.waited(contact: 2)],
            told: Statement(.unknown),
            .wait
        ),
        Case(
            "still cancelled",
            "explored",
            .june,
            taken + [stop, .told(Statement(.cancelled), number: 1)] + restarted(),
            told: Statement(.cancelled)
        ),
        Case(
            "absent, and stopped",
            "explored",
            .march,
            taken + [stop] + restarted(),
            told: Statement(.aborted, [.mayHaveRun, .mayReturn])
        ),
        Case("absent", "gateway-kill-after-ack.v2026.3.1", .march, taken + restarted(), .repeatKey),
    ]

    private static let doubtful = [
        Case("named at work", "client-restart-midrun.v2026.6.11", .june, taken + [page([], .own)], .watch),
        Case(
            "not there, and stopped",
            "explored",
            .june,
            [sent, stop, .stopAnswered(key: 1, stopped: false), page(), .waited(contact: 1)],
            told: Statement(.aborted, [.mayHaveRun, .mayReturn])
        ),
        Case(
            "unknown",
            "equal-words-doubt.v2026.3.1",
            .march,
            taken + [page(), .waited(contact: 1)],
            told: Statement(.unknown),
            .wait
        ),
        Case("asked again", "same-key-later.v2026.6.11", .june, [sent, .contact(2, .same)], .repeatKey),
        Case("doubtful", "gateway-kill-after-ack.v2026.6.11", .june, taken + [.contact(2, .other)], .wait),
    ]

    private static let cases = notSent + ended + stored + notRun + absent + doubtful

    @Test(arguments: cases)
    func `a row of the table decides as it says`(_ each: Case) {
        let decision = Decision(Turn(each.facts).verdict, GatewayProfile(each.release).messages)
        #expect(decision.row == each.row)
        #expect(decision.told == each.told)
        #expect(decision.next == each.next)
    }

    /// Where the messages of the histories are, as the outbox shows it.
    private static let places: [Decision.Place: Set<String>] = [
        .here: [
            "waits for its turn", "refused", "refused over this contact", "dropped for equal words",
            "dropped for equal words that ended", "absent",
        ],
        .held: ["at work", "kept by the gateway", "named at work", "stopped", "failed"],
        .inDoubt: [
            "asked again", "cut off, to be read", "doubtful", "kept by the gateway, and stopped",
            "taken by the gateway",
            "unknown",
        ],
        .arrived: ["answered", "cut off", "cut off, and may be resumed", "perhaps cut off", "went into a run at work"],
        .over: [
            "absent, and stopped", "cancelled before it was sent", "dropped for equal words, and stopped", "lost",
            "not there, and stopped", "refused, and stopped", "still cancelled",
            "stopped, and the gateway stops cleanly", "turned away", "withdrawn at the gateway",
        ],
    ]

    @Test func `every row says where its message is`() {
        let places = Dictionary(grouping: Self.cases) { each in
            Decision(Turn(each.facts).verdict, GatewayProfile(each.release).messages).place
        }
        #expect(places.mapValues { Set($0.map(\.row)) } == Self.places)
    }

    @Test func `a frame is on its way until its answer comes or its contact ends`() {
        let traits = GatewayProfile(.june).messages
        #expect(Decision(Turn([Self.sent]).verdict, traits).place == .onItsWay)
        #expect(Decision(Turn([Self.sent, .contact(2, .same)]).verdict, traits).place == .inDoubt)
        #expect(Decision(Turn(Self.taken).verdict, traits).place == .held)
    }

    /// The process that has the message now need not be the one to which its frame went.
    @Test func `an answer over a later contact counts for the process of that contact`() {
        let traits = GatewayProfile(.june).messages
        let away: [Fact] = Self.taken + [.contact(2, .other)]
        #expect(Decision(Turn(away).verdict, traits).place == .inDoubt)
        #expect(Decision(Turn(away + [.answered(key: 1, contact: 2, .taken)]).verdict, traits).place == .held)
    }

    /// Nothing of it is in the transcript: in a new session the gateway has nothing on disk before the first answer is complete.
    @Test func `a stopped message that had begun is not told as never run`() {
        let begun = Self.taken + [.began(.key(1)), Self.stop]
        for facts in [
            begun + [Self.confirmed, Self.page()], begun + Self.restarted(),
            begun + [Self.confirmed] + Self.restarted(),
        ] {
            #expect(Decision(Turn(facts).verdict, GatewayProfile(.autumn).messages).told?.kind == .aborted)
        }
    }

    @Test func `every row has a history`() {
        #expect(Set(Self.cases.map(\.row)) == Set(Decision.table.map(\.name)))
    }

    @Test(arguments: cases)
    func `facts decide the same in any order`(_ each: Case) {
        for _ in 0..<20 {
            let decision = Decision(Turn(each.facts.shuffled()).verdict, GatewayProfile(each.release).messages)
            #expect(decision.row == each.row)
        }
    }

    @Test func `the first page shows the table's rows in their order`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let page = root.deletingLastPathComponent().appending(path: "Sources/Ledger/README.md")
        let lines = try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
        let rows = lines.drop { !$0.hasPrefix("| row |") }.dropFirst(2).prefix { $0.hasPrefix("|") }
        let names = rows.compactMap { $0.split(separator: "|").first?.trimmingCharacters(in: .whitespaces) }
        #expect(names == Decision.table.map(\.name))
    }
}
