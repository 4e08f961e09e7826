import Basics
import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import Runs

/// A question as it is shown, the answers that fit it, and its two events.
struct QuestionTests {
    private static let start: Int64 = 1_795_000_000_000
    private static let colour =
        #"{"questionId":"colour","question":"Which?","options":[{"label":"red"},{"label":"green"}]}"#

    private func at(_ ms: Int64) -> Timestamp { Timestamp(milliseconds: Self.start + ms) }

    private func question(_ parts: String..., id: String = "q", lifeMs: Int64? = 900_000) throws -> Question {
        let end = lifeMs.map { #","expiresAtMs":\#(Self.start + $0)"# } ?? ""
        let list = parts.joined(separator: ",")
        let text = #"{"id":"\#(id)","questions":[\#(list)],"createdAtMs":\#(Self.start)\#(end)}"#
        return try #require(QuestionProof.question(Array(text.utf8)))
    }

    private func resolved(_ members: String) throws -> QuestionEvent {
        try #require(QuestionProof.event(Array(#"{"id":"q",\#(members)}"#.utf8), isResolved: true))
    }

    private func fault(_ given: [String: [String]], _ question: Question) -> QuestionAnswer.Fault? {
        do throws(QuestionAnswer.Fault) {
            _ = try QuestionAnswer(given, to: question)
            return nil
        } catch {
            return error
        }
    }

    @Test func `an answer fits its question or says why not`() throws {
        let options = ["red", "green"]
        let one = try question(Self.colour)
        #expect(fault(["colour": ["red"]], one) == nil)
        #expect(fault(["colour": ["blue"]], one) == .notOffered("colour", options: options))
        #expect(fault(["colour": ["red", "green"]], one) == .onlyOne("colour", options: options))
        #expect(fault(["colour": []], one) == .unanswered("colour", options: options))
        #expect(fault(["colour": [""]], one) == .unanswered("colour", options: options))
        #expect(fault([:], one) == .unanswered("colour", options: options))
        #expect(fault(["colour": ["red"], "size": ["2"]], one) == .noSuchPart("size", parts: ["colour"]))
        let free = try question(#"{"id":"name","question":"Whose?"}"#)
        #expect(fault(["name": ["mine"]], free) == nil)
        #expect(fault(["name": [String(repeating: "x", count: 4_097)]], free) == .tooLong("name"))
        let several = try question(
            #"{"questionId":"c","question":"Which?","multiSelect":true,"isOther":true,"options":[{"label":"a"},{"label":"b"}]}"#
        )
        let answer = try QuestionAnswer(["c": ["own", "b", "a"]], to: several)
        #expect(answer.parts?.first?.texts == ["a", "b", "own"])
        #expect(try QuestionAnswer(["c": ["b", "a", "own"]], to: several).mark == answer.mark)
    }

    @Test func `what cannot be shown whole can only be cancelled`() throws {
        let cases: [(String, Bool)] = [
            (#"{"id":"a","question":"\#(String(repeating: "x", count: 2_048))"}"#, false),
            (#"{"id":"a","question":"\#(String(repeating: "x", count: 2_049))"}"#, true),
            (#"{"id":"a","question":"?","options":["a","a"]}"#, true),
            (#"{"id":"a","question":"?","options":[1]}"#, true),
            (#"{"id":"a","question":"?","options":[\#((0..<9).map { "\"\($0)\"" }.joined(separator: ","))]}"#, true),
            (#"{"id":"a","question":"?"},{"id":"a","question":"?"}"#, true), (#"{"question":"?"}"#, true),
            ((0..<5).map { #"{"id":"a\#($0)","question":"?"}"# }.joined(separator: ","), true),
        ]
        for (parts, isCut) in cases {
            let shown = try question(parts)
            #expect(shown.isTruncated == isCut, "\(parts.prefix(60))")
            if isCut { #expect(fault(["a": ["x"]], shown) == .onlyCancel) }
        }
        let tricky = try question(
            #"{"id":"a","question":"is\u001b[2K \u202eit?","options":[{"label":"no\u200b"},{"label":"no"}]}"#
        )
        #expect(tricky.parts[0].text == #"is\u{1B}[2K \u{202E}it?"#)
        let answer = try QuestionAnswer(["a": [#"no\u{200B}"#]], to: tricky)
        // The gateway knows it by its own text.
        #expect(answer.parts?.first?.texts == ["no\u{200B}"])
        #expect(QuestionProof.question(Array(#"{"id":"q","questions":[]}"#.utf8)) == nil)
        #expect(QuestionProof.question(Array(#"{"id":"q"}"#.utf8)) == nil)
    }

    @Test func `events of an end are ours, of another, or of nobody`() throws {
        let one = try question(Self.colour)
        let red = try QuestionAnswer(["colour": ["red"]], to: one)
        let cases: [(String, Bool, Question.State?, String?, Approval.Via?)] = [
            (
                #""status":"answered","answers":{"answers":{"colour":["red"]}},"resolvedBy":"phone""#, false, .answered,
                "phone", .other
            ),
            (#""status":"answered","answers":{"colour":["red"]},"resolvedBy":"Ladle""#, true, .answered, "sam", .ladle),
            (#""status":"answered","answers":{"colour":["red"]}"#, true, .answered, "sam", .ladle),
            (
                #""status":"answered","answers":{"colour":["green"]},"resolvedBy":"Ladle""#, true, .answered, "Ladle",
                .other
            ),
            (#""status":"answered","resolvedBy":"Ladle""#, true, .answered, "sam", .ladle),
            // Our own answer's reply will tell.
            (#""status":"answered""#, true, nil, nil, nil), (#""status":"answered""#, false, .answered, nil, nil),
            (#""status":"cancelled","resolvedBy":"phone""#, true, .cancelled, "phone", .other),
            (#""status":"expired""#, false, .expired, "timeout", nil),
            (#""ts":1795000000000"#, false, .unknown, nil, nil),
        ]
        for (members, isSent, state, name, via) in cases {
            var register = QuestionRegister()
            #expect(register.requested(one, now: at(0)) == [one])
            if isSent { _ = register.start(red, of: "q", by: "sam", now: at(1)) }
            let end = register.resolved(try resolved(members), own: "Ladle", now: at(2)).first
            #expect(end?.state == state, "\(members)")
            #expect(end?.endedBy == name, "\(members)")
            #expect(end?.via == via, "\(members)")
            if state != nil { #expect(register.resolved(try resolved(members), own: "Ladle", now: at(3)) == []) }
        }
    }

    @Test func `a secret is neither shown nor kept`() throws {
        let one = try question(#"{"id":"key","question":"Which key?","isSecret":true}"#)
        var register = QuestionRegister()
        _ = register.requested(one, now: at(0))
        let answer = try QuestionAnswer(["key": ["hunter2"]], to: one)
        guard case .send(_, let attempt) = register.start(answer, of: "q", by: "sam", now: at(1)) else {
            Issue.record("nothing is sent")
            return
        }
        let end = try #require(register.answered("q", attempt: attempt, .accepted, now: at(2)).first)
        var writer = JSONWriter()
        writer.value(end)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(text.contains(#""answered":true"#))
        #expect(!text.contains("hunter2") && !"\(register)".contains("hunter2"))
        #expect(end.hasEnded(by: answer))
        #expect(!end.hasEnded(by: try QuestionAnswer(["key": ["x"]], to: one)))
    }

    @Test func `the list decides over what was missed, and over the time`() throws {
        let one = try question(Self.colour)
        var register = QuestionRegister()
        _ = register.requested(one, now: at(0))
        // A list that was asked for before the question came need not show it.
        register.mayHaveMissed()
        let number = register.askList()
        #expect(register.listed([one], asked: number, now: at(1)) == [])
        // Its time is over: the gateway is asked, and shows it once more.
        #expect(register.tick(now: at(901_000)) { _ in true } == [])
        let isWished = register.takeListRequest()
        #expect(isWished)
        let again = register.askList()
        #expect(register.listed([one], asked: again, now: at(901_001)) == [])
        #expect(register.tick(now: at(901_002)) { _ in true } == [])
        let last = register.askList()
        #expect(register.listed([], asked: last, now: at(940_000)).map(\.state) == [.unknown])
        // Seen all the time, it ends with its time.
        var second = QuestionRegister()
        _ = second.requested(one, now: at(0))
        _ = second.tick(now: at(901_000)) { _ in true }
        let asked = second.askList()
        #expect(second.listed([], asked: asked, now: at(901_001)).map(\.state) == [.expired])
        // Without its run it is cancelled.
        var third = QuestionRegister()
        let text = #"{"id":"q","questions":[\#(Self.colour)],"createdAtMs":\#(Self.start)}"#
        let event = try #require(QuestionProof.event(Array(text.utf8)))
        let ran = try #require(Question(event, session: nil, run: "r", now: at(0)))
        _ = third.requested(ran, now: at(0))
        let (own, other) = (third.runEnded("r"), third.runEnded("x"))
        #expect(own && !other)
        let ended = third.askList()
        #expect(third.listed([], asked: ended, now: at(5)).map(\.state) == [.cancelled])
    }

    @Test(arguments: [true, false])
    func `a question that outlives its run and cannot be asked about expires, as an approval does`(
        isSeen: Bool
    ) throws {
        let times = #""createdAtMs":\#(Self.start),"expiresAtMs":\#(Self.start + 900_000)"#
        let text = #"{"id":"q","questions":[\#(Self.colour)],\#(times)}"#
        let event = try #require(QuestionProof.event(Array(text.utf8)))
        var register = QuestionRegister()
        _ = register.requested(try #require(Question(event, session: nil, run: "r", now: at(0))), now: at(0))
        _ = register.runEnded("r")
        if !isSeen { register.mayHaveMissed() }
        let ends = register.tick(now: at(901_000))
        #expect(ends.map(\.state) == [isSeen ? .expired : .unknown])
    }

    @Test func `another question under the same id takes its place`() throws {
        let one = try question(Self.colour)
        let other = try question(
            #"{"questionId":"colour","question":"Really?","options":[{"label":"red"},{"label":"green"}]}"#
        )
        var register = QuestionRegister()
        _ = register.requested(one, now: at(0))
        let news = register.requested(other, now: at(1))
        #expect(news.map(\.state) == [.unknown, .pending])
        #expect(register["q"]?.parts[0].text == "Really?")
    }

    @Test func `memory has a bound`() throws {
        var register = QuestionRegister()
        for number in 0...QuestionLimits.pending {
            let one = try question(Self.colour, id: "q\(number)")
            #expect(register.requested(one, now: at(0)).isEmpty == (number == QuestionLimits.pending))
        }
        #expect(register.isOverfull)
        _ = register.endAll(now: at(1))
        #expect(register.all.count == QuestionLimits.ended)
    }
}
