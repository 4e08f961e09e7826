import Basics
import Gateway
import Ledger
import Outbox
import Testing

private let absent = SearchReport(isComplete: true)
private let found = SearchReport(proof: .textMatch, isComplete: true)
private let unknown = SearchReport(isComplete: false)
/// The row may be the message's or another one's.
private let shared = {
    var report = SearchReport(isComplete: true)
    report.isShared = true
    return report
}()

struct `A search among rows` {
    private func row(_ key: String?, _ text: String, _ at: Int64?, user: Bool = true) -> Attribution.Row {
        let mask = key.flatMap { MaskedKey($0) }
        let names = mask == nil ? key.map { [TranscriptRow.bareKey($0)] } ?? [] : []
        return Attribution.Row(
            names: names,
            mask: mask,
            isUser: user,
            words: user ? [Words(text)] : [],
            at: at.map(time)
        )
    }

    private func report(
        _ rows: [Attribution.Row],
        for text: String = "hello",
        isWhole: Bool = true,
        others: [OutboxEntry] = [],
        starts: [String: Timestamp] = [:]
    ) -> SearchReport {
        RowSearch(key: "id", words: Words(text), since: time(1_000_000), others: others, starts: starts)
            .report(on: rows, isWhole: isWhole, hasActiveRun: false)
    }

    @Test(arguments: ["id", "id:user"])
    func `finds a row by its key in any form`(key: String) {
        #expect(report([row("z", "x", 1), row(key, "y", 2)], isWhole: false).proof == .history)
    }

    /// 2026.4.26, seen live: another client had said the same, its run began with the row, and the gateway was killed with ours in its queue.
    @Test func `does not take the row with which another client's run began`() {
        let rows = [row(nil, "hello", 1_000_503)]
        let search = RowSearch(
            key: "id",
            words: Words("hello"),
            since: time(1_000_000),
            strangers: ["r1": time(900_000), "r2": time(1_000_500)]
        )
        #expect(search.report(on: rows, isWhole: true, hasActiveRun: false) == shared)
        let later = rows + [row(nil, "hello", 1_004_000)]
        #expect(search.report(on: later, isWhole: true, hasActiveRun: false) == found)
        #expect(search.report(on: [row(nil, "other", 1_000_503)], isWhole: true, hasActiveRun: false) == absent)
        #expect(search.report(on: [row("r2", "hello", 1_000_503)], isWhole: true, hasActiveRun: false) == absent)
        #expect(report(rows) == found)
    }

    /// A gateway may leave the row of a message that it refused to run.
    @Test func `does not go by a key that was given up`() {
        let rows = [row("id:user", "hello", 1_000_500)]
        let search = RowSearch(key: "id-r2", words: Words("hello"), since: time(1_000_000))
        #expect(search.report(on: rows, isWhole: true, hasActiveRun: false) == absent)
    }

    /// A gateway masks everything it takes for a secret, also in the keys of its rows.
    @Test func `knows its words under a masked key`() {
        let key = "01a2053f-be64-7342-bcfc-e47199a32661"
        let search = RowSearch(key: key, words: Words("hello"), since: time(1_000_000))
        func report(_ key: String, _ text: String) -> SearchReport {
            search.report(on: [row(key, text, 1_000_500)], isWhole: true, hasActiveRun: false)
        }
        #expect(report("01a2053f-be64-7342-bc***:user", "hello").proof == .history)
        #expect(report("01a2053f-be64-7342-bc***:user", "token=***") == shared)
        #expect(report("01a2053f-be64-7000-bc***:user", "hello") == absent)
    }

    @Test func `finds what was aborted by the row of its answer`() {
        #expect(report([row("id:assistant", "number 1, num", 1_000_500, user: false)]).proof == .history)
    }

    @Test func `is complete once it is past the first dispatch, or has the whole session`() {
        #expect(report([row("k", "later", 1_200_000)], isWhole: false) == unknown)
        // A time within the clock tolerance does not count as past.
        #expect(report([row("k", "near", 995_000)], isWhole: false) == unknown)
        #expect(report([row("k", "before", 900_000)], isWhole: false) == absent)
        #expect(report([]) == absent)
    }

    @Test func `goes by text and time where no row of a user shows a key`() {
        #expect(report([row(nil, "hello", 1_000_500)], for: " hello\n") == found)
        #expect(report([row(nil, "hello", 1_000_500)], for: "\u{1b} hel\u{7}lo") == found)
        #expect(report([row(nil, "caf\u{e9}", 1_000_500)], for: "cafe\u{301}") == found)
        let afterAbort = [row("x:assistant", "p", 900_000, user: false), row(nil, "hello", 1_000_500)]
        #expect(report(afterAbort) == found)
        #expect(report([row("other", "hello", 1_000_500)]) == absent)
    }

    @Test func `finds a message without words by what the gateway writes in their place`() {
        #expect(report([row(nil, "[User sent media without caption]", 1_000_500)], for: "") == found)
        #expect(report([row(nil, "[User sent media without caption]", 900_000)], for: "") == absent)
        #expect(report([row(nil, "hello", 1_000_500)], for: "") == absent)
    }

    /// The gateway may have been replaced since by one that shows keys.
    @Test func `does not call absent what may be a row without its key`() {
        #expect(report([row("other", "hello", 1_000_500), row(nil, "hello", 1_000_600)]) == shared)
    }

    @Test(arguments: [
        ("ab ", 9_000, 4_000, "\n...(truncated)..."), ("👩‍👩‍👧", 9_000, 1_500, "\u{fffd}…"),
    ])
    func `does not call absent what may stand there otherwise`(word: String, said: Int, shown: Int, mark: String) {
        let text = String(repeating: word, count: said)
        let seen = String(repeating: word, count: shown) + mark
        #expect(report([row(nil, seen, 1_000_500)], for: text) == shared)
        #expect(report([row(nil, text, nil)], for: text) == shared, "of no known time")
        #expect(report([row(nil, seen, 900_000)], for: text) == absent)
        #expect(report([row("other", seen, 1_000_500)], for: text) == absent)
    }

    @Test(arguments: [
        ("ok", 1, 0, "I come at eight, is that ok"), ("hello", 1, 1, " there"), ("hello", 1, 0, ""),
        ("hello", 0, 1, ""), ("ab ", 9_000, 2, "...(truncated)..."),
        ("ab ", 9_000, 4_000, String(repeating: "c", count: 65)),
    ])
    func `takes no other text for its own`(word: String, said: Int, shown: Int, mark: String) {
        let seen = String(repeating: word, count: shown) + mark
        #expect(report([row(nil, seen, 1_000_500)], for: String(repeating: word, count: said)) == absent)
    }

    /// Another entry, sent before, that said the same.
    private func other(_ text: String, _ state: OutboxState, updated: Int64 = 1_000_000) -> OutboxEntry {
        var other = OutboxEntry.sample("other\(updated)", text: text, at: 990_000).state(state)
        other.firstDispatchAt = time(990_000)
        other.updatedAt = time(updated)
        return other
    }

    /// A "yes" after a "yes": a row that came when only the first had been sent is the first one's.
    @Test(
        arguments: [
            (0, 1, absent), (1, 1, absent), (2, 1, found), (2, 0, found), (2, 2, shared),
        ]
    )
    func `takes no other entry's row for its own`(rows: Int, sameText: Int, expected: SearchReport) {
        let page = (0..<rows).map { row(nil, "yes", 995_000 + Int64($0) * 6_000) }
        let others = (0..<sameText).map { other("yes ", .delivered, updated: 1_000_000 + Int64($0)) }
        #expect(report(page, for: "yes", others: others) == expected)
    }

    /// 2026.3.1, whose rows have no keys: a row has the time of its run's start.
    @Test func `a row that another entry's run began with is that one's`() {
        let (page, sent) = ([row(nil, "yes", 999_500)], other("yes", .delivered))
        #expect(report(page, for: "yes", others: [sent]) == shared)
        #expect(report(page, for: "yes", others: [sent], starts: [sent.id: time(999_490)]) == absent)
        #expect(report(page, for: "yes", others: [sent], starts: [sent.id: time(990_000)]) == shared)
    }

    @Test func `a row long after another entry was delivered is not that one's`() {
        let page = [row(nil, "yes", 1_050_000)]
        #expect(report(page, for: "yes", others: [other("yes", .delivered)]) == found)
        #expect(report(page, for: "yes", others: [other("yes", .accepted)]) == shared, "its row may be late")
        #expect(report(page, for: "yes", others: [other("no", .accepted)]) == found)
    }

    @Test func `takes the row with which a restarted gateway goes on for the entry's, unless it may be another's`() {
        let again = Attribution.Row(words: [Words("go")], at: time(1_900_000), isResumption: true)
        let rows = [row("other:user", "hello", 900_000), again]
        #expect(report(rows, for: "go") == found)
        #expect(report(rows, for: "go", others: [other("go", .delivered)]) == shared)
    }

    /// Everybody's pictures come without words.
    @Test func `does not know a message without words by the words`() {
        #expect(report([row(nil, "", 1_000_500)], for: "") == shared)
        #expect(report([row(nil, "hello", 1_000_500)], for: "") == absent)
    }

    @Test func `does not take an equal text of an earlier time or of another role`() {
        #expect(report([row(nil, "hello", 900_000), row(nil, "hello", 1_000_500, user: false)]) == absent)
    }

    /// 2026.4.26, seen live: the same words had been sent 15 s before, were stopped, and their row came late.
    @Test func `leaves a row from before the message to the earlier one with the same words`() {
        var earlier = OutboxEntry.sample("earlier", text: "hello")
        earlier.state = .delivered
        earlier.firstDispatchAt = time(985_000)
        earlier.updatedAt = time(990_000)
        #expect(report([row(nil, "hello", 992_000)], others: [earlier]) == absent)
        #expect(report([row(nil, "hello", 999_000)], others: [earlier]) == shared)
        #expect(report([row(nil, "hello", 992_000)]) == found, "one of the clocks may have been set")
    }
}
