import Ledger
import Testing

@Suite struct TurnTests {
    /// A message in doubt over a restart of the gateway, then found answered.
    private static let facts: [Fact] = [
        .sent(key: 1, contact: 1),
        .answered(key: 1, contact: 1, .taken),
        .contact(2, .other),
        .page(Fact.Page(number: 1, contact: 2)),
        .sent(key: 1, contact: 2),
        .answered(key: 1, contact: 2, .taken),
        .began(.key(1)),
        .page(Fact.Page(number: 2, contact: 2, rows: [Fact.Row("r", .certain, .answered)], activity: .idle)),
        .will(.stop, number: 1),
        .will(.run, number: 2),
        .told(Statement(.unknown), number: 1),
    ]

    @Test func `facts in any order and any number of times give one verdict`() {
        let expected = Turn(Self.facts).verdict
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let shuffled = (Self.facts + Self.facts).shuffled(using: &random)
            #expect(Turn(shuffled).verdict == expected)
        }
    }

    @Test func `a fold in two parts is the fold of all facts`() {
        for place in Self.facts.indices {
            var turn = Turn(Self.facts[..<place])
            for fact in Self.facts[place...] { turn.take(fact) }
            #expect(turn == Turn(Self.facts))
        }
    }

    @Test func `a frame that was never written is no attempt`() {
        let turn = Turn([.sent(key: 1, contact: 1), .unsent(key: 1, contact: 1)])
        #expect(turn.verdict.delivery == .none)
    }

    @Test func `the gateway's own words after a stop are no answer`() {
        let turn = Turn([
            .sent(key: 1, contact: 1), .answered(key: 1, contact: 1, .taken),
            .stopAnswered(key: 1, stopped: true), .ended(.key(1), .injected),
        ])
        #expect(turn.verdict.work == .stopped)
    }

    @Test func `an answer after a stop refutes the stop`() {
        let turn = Turn([
            .sent(key: 1, contact: 1), .stopAnswered(key: 1, stopped: true), .ended(.key(1), .stopped),
            .ended(.key(1), .answered),
        ])
        #expect(turn.verdict.work == .answered)
    }

    @Test func `a page shows nothing about an answer that came after the question`() {
        let facts: [Fact] = [
            .sent(key: 1, contact: 1), .answered(key: 1, contact: 1, .dropped),
        ]
        let before = Turn(facts + [.page(Fact.Page(number: 1, contact: 1, activity: .idle))])
        let after = Turn(facts + [.page(Fact.Page(number: 1, contact: 1, activity: .idle, knew: .answer))])
        #expect(!before.verdict.marks.contains(.idle) && after.verdict.marks.contains(.idle))
    }

    @Test func `of two rows with the same words the certain one is ours`() {
        let page = Fact.Page(number: 1, contact: 1, rows: [Fact.Row("a", .likely, .answered), Fact.Row("b", .certain)])
        let verdict = Turn([.sent(key: 1, contact: 1), .page(page)]).verdict
        #expect(verdict.tie == .certain && verdict.work == .running)
    }
}
