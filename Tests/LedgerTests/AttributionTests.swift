import Basics
import Gateway
import JSONBytes
import Ledger
import Testing

/// Each test is about a rule of the table, in its order.
struct AttributionTests {
    private typealias Row = Attribution.Row
    private typealias Claimant = Attribution.Claimant

    private func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_795_000_000_000 + seconds * 1_000) }

    private func said(_ text: String, at seconds: Int64, key: String? = nil) -> Row {
        Row(names: key.map { [$0] } ?? [], words: [Words(text)], at: time(seconds))
    }

    private func sent(_ id: String, _ text: String, at seconds: Int64) -> Claimant {
        Claimant(id, keys: [id], words: Words(text), written: .row(sentAt: time(seconds)))
    }

    private func stranger(_ id: String, start: Int64) -> Claimant {
        var turn = Claimant(id)
        turn.starts = [time(start)]
        return turn
    }

    private func owners(_ rows: [Row], _ turns: [Claimant]) -> [Int: String] {
        Attribution(rows, turns).owners.mapValues(\.turn)
    }

    @Test func `a key in the row decides, whatever the row says, and no other turn gets the row`() {
        let rows = [said("yes", at: 1, key: "b"), said("yes", at: 2, key: "a"), said("yes", at: 3, key: "phone")]
        let found = Attribution(rows, [sent("a", "yes", at: 0), sent("b", "yes", at: 0), sent("c", "yes", at: 0)])
        #expect(found.owners.mapValues(\.turn) == [0: "b", 1: "a"])
        #expect(found.owners.values.allSatisfy { $0.tie == .certain })
        #expect(found.shared.isEmpty)
    }

    @Test func `a run that is tried again has both of its rows`() {
        #expect(
            owners([said("a", at: 1, key: "k"), said("a", at: 9, key: "k")], [sent("k", "a", at: 0)]) == [
                0: "k", 1: "k",
            ]
        )
    }

    @Test func `a row of a known run goes to no turn with another run, and to a turn without one by its words`() {
        var row = said("yes", at: 1)
        row.run = "b"
        var (first, second) = (sent("a", "yes", at: 0), sent("b", "yes", at: 0))
        #expect(owners([row], [first]) == [0: "a"])
        (first.run, second.run) = ("a", "b")
        #expect(owners([row], [first]).isEmpty)
        #expect(owners([row], [first, second]) == [0: "b"])
        row.isNamed = true
        row.names = ["a"]
        #expect(owners([row], [first, second]) == [0: "a"], "the gateway's own key is stronger")
    }

    @Test func `a masked key that agrees decides together with the words`() {
        func row(_ key: String, _ text: String) -> Row {
            Row(mask: MaskedKey(key), words: [Words(text)], at: time(1))
        }
        let turn = sent("01a2053f-be64-7342-bcfc-e47199a32661", "hello", at: 0)
        let own = Attribution([row("01a2053f-be64-7342-bc***:user", "hello")], [turn])
        #expect(own.owners[0]?.tie == .certain)
        let masked = Attribution([row("01a2053f-be64-7342-bc***:user", "token=***")], [turn])
        #expect(masked.owners.isEmpty && masked.shared == [0: [turn.id]])
        let other = Attribution([row("01a2053f-be64-7000-bc***:user", "hello")], [turn])
        #expect(other.owners.isEmpty && other.shared.isEmpty)
    }

    @Test func `the id of a tool call decides, of two runs for the newer one`() {
        var (old, new) = (stranger("old", start: 0), stranger("new", start: 50))
        old.calls = { $0 == "call" }
        new.calls = { $0 == "call" }
        let row = Row(words: [Words("x")], at: time(400), calls: ["call"])
        #expect(owners([row], [old, new]) == [0: "new"])
    }

    @Test func `a start decides, for the nearest row, and removes what the words would claim`() {
        var own = sent("own", "yes", at: 0)
        own.starts = [time(9)]
        let rows = [said("yes", at: 1), said("yes", at: 9)]
        #expect(owners(rows, [own]) == [1: "own"])
        #expect(owners(rows, [own, stranger("other", start: 1)]) == [0: "other", 1: "own"])
    }

    @Test func `a run whose row has its key claims no other row by its start`() {
        var own = sent("own", "story", at: 0)
        own.starts = [time(1)]
        #expect(owners([said("from a phone", at: 1), said("story", at: 1, key: "own")], [own]) == [1: "own"])
    }

    @Test func `words decide from the time of sending on, and are only likely`() {
        let rows = [said("hello", at: -60), said("first\u{a0}line\nand", at: 1)]
        let found = Attribution(rows, [sent("a", "first line and", at: 0), sent("b", "hello", at: 0)])
        #expect(found.owners.mapValues(\.turn) == [1: "a"])
        #expect(found.owners[1]?.tie == .likely)
        #expect(found.shared.isEmpty)
    }

    @Test func `of equal words the first one sent has the first row`() {
        let rows = [said("yes", at: 1), said("yes", at: 2)]
        #expect(owners(rows, [sent("a", "yes", at: 0), sent("b", "yes", at: 0)]) == [0: "a", 1: "b"])
        #expect(owners(rows, [sent("a", "yes", at: 0)]) == [0: "a"])
    }

    @Test func `a row that more turns may own than there are rows goes to none`() {
        let turns = [sent("a", "yes", at: 0), sent("b", "yes", at: 0)]
        let found = Attribution([said("yes", at: 1)], turns)
        #expect(found.owners.isEmpty && found.shared == [0: ["a", "b"]])
        // The gateway has both in its queue and answers the first one first.
        #expect(Attribution([said("yes", at: 1)], turns, isQueue: true).owners[0]?.turn == "a")
        // The second was sent after the row was written.
        #expect(owners([said("yes", at: 1)], [sent("a", "yes", at: 0), sent("b", "yes", at: 60)]) == [0: "a"])
    }

    /// 2026.6.11 writes keys, so a row without one is another channel's; but it takes the key away where it goes on with a turn.
    @Test func `where rows have keys, words claim only the row of a resumed turn`() {
        var again = said("go", at: 5)
        let found = Attribution([said("hi", at: 0, key: "x"), again], [sent("k", "go", at: 0)])
        #expect(found.owners.isEmpty && found.shared == [1: ["k"]])
        again.isResumption = true
        #expect(owners([said("hi", at: 0, key: "x"), again], [sent("k", "go", at: 0)]) == [1: "k"])
    }

    @Test func `a run that was first seen at work has the last message before`() {
        var late = Claimant("late")
        late.seenAt = time(10)
        #expect(owners([said("a", at: 1), said("b", at: 9), said("c", at: 11)], [late]) == [1: "late"])
        #expect(owners([said("a", at: 1), said("b", at: 9, key: "x"), said("c", at: 11)], [late]).isEmpty)
    }

    @Test func `a run that begins between two rows of a turn is one more try of it`() {
        var tried = said("a", at: 1)
        tried.tries = time(2)...time(9)
        #expect(owners([tried, said("b", at: 20)], [stranger("late", start: 5)]) == [0: "late"])
        #expect(owners([tried], [stranger("late", start: 2)]).isEmpty)
        #expect(owners([tried], [stranger("later", start: 12)]).isEmpty)
        #expect(owners([tried], [stranger("own", start: 1), stranger("late", start: 5)]) == [0: "own"])
    }

    @Test func `a run that may have been seen late has the last message before if the answer has its text`() {
        var late = Claimant("late")
        (late.seenAt, late.said) = (time(10), "One two")
        var answered = said("a", at: 1)
        answered.says = { "One two three".hasPrefix($0) }
        #expect(owners([answered], [late]) == [0: "late"])
        late.said = "Two"
        #expect(owners([answered], [late]).isEmpty)
    }

    @Test func `rows that come alone belong to the newest run that was at work`() {
        let row = Row(isUser: false, at: time(10))
        var ended = stranger("ended", start: 8)
        ended.endedAt = time(9)
        let turns = [stranger("old", start: 1), stranger("new", start: 5), ended, stranger("later", start: 11)]
        #expect(Attribution([row], turns, beginsInside: true).owners[0]?.turn == "new")
        #expect(Attribution([row], turns).owners.isEmpty)
    }

    /// 2026.6.11, seen live: the end of a run and the start of the next one were missed, and the first run got both answers.
    @Test func `rows that come alone belong to the run of the last turn, whenever it was first seen`() {
        let row = Row(isUser: false, at: time(10))
        var late = Claimant("late")
        late.seenAt = time(11)
        #expect(Attribution([row], [stranger("old", start: 1), late], beginsInside: true).owners[0]?.turn == "old")
        late.isLast = true
        #expect(Attribution([row], [stranger("old", start: 1), late], beginsInside: true).owners[0]?.turn == "late")
    }

    @Test func `a cut text and a row without a time may be a turn's, and go to nobody`() {
        let long = String(repeating: "long ", count: 4_000)
        let rows = [said(long.prefix(9_000) + "…", at: 1), Row(words: [Words("hm")], at: nil)]
        let found = Attribution(rows, [sent("a", long, at: 0), sent("b", "hm", at: 0)])
        #expect(found.owners.isEmpty && found.shared == [0: ["a"], 1: ["b"]])
    }

    /// Recording equal-words-doubt.v2026.3.1, part 4.
    @Test func `a row that ends with the words is no reason for doubt`() {
        let found = Attribution([said("I come at eight, is that ok", at: 1)], [sent("a", "ok", at: 0)])
        #expect(found.owners.isEmpty && found.shared.isEmpty)
    }
}
