import Basics
import JSONBytes
import Testing

@testable import OpenAI

struct AnswerCourseTests {
    @Test func `text grows by pieces, and a missing piece is asked for`() {
        var course = AnswerCourse()
        _ = course.take("Hé", at: 0, replaces: false)
        _ = course.take("llo😀", at: 2, replaces: false)
        let isTaken = course.take("x", at: 9, replaces: false)
        #expect(!isTaken)
        course.take(whole: "Héllo😀 and more")
        #expect(course.text == "Héllo😀 and more" && course.count == 15)
        _ = course.take("!", at: 16, replaces: false)
        #expect(course.text.hasSuffix("more!"))
    }

    @Test func `a second try is waited for while it says the same, and follows when it says something else`() {
        var course = AnswerCourse()
        course.take(whole: "The answer")
        course.take(whole: "The")
        #expect(course.text == "The answer")
        let isLevel = course.take(" an", at: 3, replaces: false)
        #expect(!isLevel)
        course.take(whole: "The answer is 42")
        #expect(course.text == "The answer is 42" && course.marks.isEmpty)
        course.take(whole: "No, 43")
        #expect(course.text == "The answer is 42\n\nNo, 43")
        #expect(course.marks == [.init(at: 16, .replaced)])
    }

    @Test func `notes stand at their places`() {
        var course = AnswerCourse()
        course.note("Thinking\nhard")
        course.take(whole: "ab")
        course.note("Looking")
        course.take(whole: "abcd")
        course.finish(.completed(nil))
        #expect(
            CourseReader.pieces(of: course) == [.note("Thinking hard"), .text("ab"), .note("Looking"), .text("cd")]
        )
    }

    @Test func `a kept course shows nothing before it is on disk`() {
        var course = AnswerCourse(isKept: true)
        course.take(whole: "ab")
        course.note("Looking")
        course.take(whole: "abcd")
        var reader = CourseReader()
        let piece1 = reader.next(of: course)
        #expect(piece1 == .text("ab"))
        let piece2 = reader.next(of: course)
        #expect(piece2 == nil && course.wantsKeeping)
        course.settled(marks: 1, limit: course.wantedLimit, isOver: false)
        let piece3 = reader.next(of: course)
        #expect(piece3 == .note("Looking"))
        let piece4 = reader.next(of: course)
        #expect(piece4 == .text("cd") && !course.wantsKeeping)
        course.finish(.completed(nil))
        #expect(!reader.isAtEnd(of: course) && course.wantsKeeping && course.wantedLimit == 4)
        course.settled(marks: 1, limit: 4, isOver: true)
        #expect(reader.isAtEnd(of: course) && !course.wantsKeeping)
    }

    @Test func `long text raises its limit before it is shown`() {
        var course = AnswerCourse(isKept: true)
        course.take(whole: String(repeating: "x", count: 10_000))
        var (reader, seen) = (CourseReader(), 0)
        while case .text(let text)? = reader.next(of: course) { seen += text.count }
        #expect(seen == 8_192 && course.wantsKeeping)
        course.settled(marks: 0, limit: course.wantedLimit, isOver: false)
        while case .text(let text)? = reader.next(of: course) { seen += text.count }
        #expect(seen == 10_000 && !course.wantsKeeping)
    }

    @Test func `usage counts the cached part of the prompt`() {
        let usage = AnswerUsage(input: 10, output: 5, cacheRead: 100, cacheWrite: 1)
        #expect(usage.prompt == 111 && usage.total == 116)
    }
}

struct ResponseStreamTests {
    private let record = ResponseRecord(
        entry: "e1",
        owner: "owner",
        model: "ladle",
        session: "agent:main:x",
        input: "hi",
        created: Timestamp(milliseconds: 1_000_000)
    )

    private func object(_ course: AnswerCourse) -> ResponseObject {
        ResponseObject(record, course, status: course.isOver ? .completed : .inProgress, run: "r", completedAt: nil)
    }

    /// The events after a number, as (number, JSON).
    private func events(_ course: AnswerCourse, after: Int = -1) throws -> [(number: Int, json: JSONValue)] {
        var (stream, events) = (ResponseStream(after: after), [(number: Int, json: JSONValue)]())
        while let event = stream.next(of: object(course)) {
            let line = try #require(event.bytes.split(separator: 0x0A).dropFirst().first?.dropFirst(6))
            events.append((event.number, try JSONDocument(parsing: Array(line)).root))
        }
        return events
    }

    private func type(_ event: (number: Int, json: JSONValue)) -> String { event.json["type"]?.string ?? "" }

    /// The text of the deltas, and the types and numbers of all other events.
    private func shape(_ events: [(number: Int, json: JSONValue)]) -> (text: String, rest: [String]) {
        var (text, rest) = ("", [String]())
        for event in events {
            if type(event) == "response.output_text.delta" {
                text += event.json["delta"]?.string ?? ""
            } else {
                rest.append("\(event.number) \(type(event))")
            }
        }
        return (text, rest)
    }

    private var course: AnswerCourse {
        var course = AnswerCourse()
        course.note("Looking")
        course.take(whole: "It is ")
        course.note("Checking")
        course.take(whole: "It is sünny.")
        course.finish(.completed(nil))
        return course
    }

    @Test func `events come in OpenAI's order`() throws {
        let events = try events(course)
        #expect(
            events.map { type($0).replacing("response.", with: "") } == [
                "created", "in_progress", "output_item.added", "reasoning_summary_part.added",
                "reasoning_summary_text.delta",
                "reasoning_summary_text.done", "reasoning_summary_part.done", "output_item.done", "output_item.added",
                "content_part.added", "output_text.delta", "output_text.done", "content_part.done", "output_item.done",
                "output_item.added", "reasoning_summary_part.added", "reasoning_summary_text.delta",
                "reasoning_summary_text.done",
                "reasoning_summary_part.done", "output_item.done", "output_item.added", "content_part.added",
                "output_text.delta",
                "output_text.done", "content_part.done", "output_item.done", "completed",
            ]
        )
        let output = try #require(events.last?.json["response"]?["output"])
        #expect(output.elements.compactMap { $0["type"]?.string } == ["reasoning", "message", "reasoning", "message"])
        #expect(output[1]?["phase"]?.string == "commentary" && output[3]?["phase"]?.string == "final_answer")
        #expect(output[3]?["id"]?.string == "msg_e1_3")
        #expect(
            events.map(\.number) == events.map(\.number).sorted() && Set(events.map(\.number)).count == events.count
        )
        #expect(events.allSatisfy { $0.json["sequence_number"]?.int == Int64($0.number) })
    }

    @Test func `after any number comes exactly the rest, however the text was cut`() throws {
        let all = try events(course)
        let whole = shape(all)
        for after in -1...(all.last?.number ?? 0) {
            let rest = shape(try events(course, after: after))
            #expect(rest.rest == whole.rest.filter { (Int($0.split(separator: " ")[0]) ?? 0) > after })
            var text = ""
            for event in all where type(event) == "response.output_text.delta" {
                let words = Array((event.json["delta"]?.string ?? "").unicodeScalars)
                let first = event.number - words.count
                text.unicodeScalars.append(contentsOf: words.dropFirst(max(0, after - first)))
            }
            #expect(rest.text == text, "after \(after)")
        }
    }

    @Test func `text in single pieces has the numbers of text in one piece`() throws {
        var (course, stream, pieces) = (AnswerCourse(), ResponseStream(), [Int]())
        course.note("Looking")
        for (place, scalar) in "It is sünny.".unicodeScalars.enumerated() {
            if place == 6 { course.note("Checking") }
            _ = course.take(String(scalar), at: place, replaces: false)
            while let event = stream.next(of: object(course)) { pieces.append(event.number) }
        }
        course.finish(.completed(nil))
        while let event = stream.next(of: object(course)) { pieces.append(event.number) }
        #expect(pieces.last == (try events(self.course)).last?.number)
        #expect(stream.isOver)
    }

    @Test func `a process that follows goes on under the same numbers`() throws {
        var first = AnswerCourse(isKept: true)
        first.note("Looking")
        first.settled(marks: 1, limit: first.wantedLimit, isOver: false)
        first.take(whole: "It is")
        let seen = try events(first)
        let last = try #require(seen.last)
        #expect(last.json["delta"]?.string == "It is")

        // The next process knows less of the text at first, and hears of a step meanwhile.
        var next = AnswerCourse(resuming: first.marks, limit: first.limit)
        next.take(whole: "It")
        next.note("Checking")
        #expect(try events(next, after: last.number).isEmpty)
        next.take(whole: "It is sunny.")
        #expect(shape(try events(next, after: last.number)).text == " sunny.")
        next.finish(.completed(nil))
        next.settled(marks: next.marks.count, limit: next.wantedLimit, isOver: true)
        let rest = shape(try events(next, after: last.number))
        #expect(rest.text == " sunny." && rest.rest.last?.hasSuffix("response.completed") == true)

        // And the one after that reads what is on disk.
        var third = AnswerCourse(resuming: next.marks, limit: next.wantedLimit)
        third.take(whole: "It is sunny.")
        third.finish(.completed(nil))
        third.settled(marks: third.marks.count, limit: third.wantedLimit, isOver: true)
        #expect(shape(try events(third, after: last.number)).rest == rest.rest)
    }

    @Test func `another text is another item, and a lost one keeps its numbers`() throws {
        var course = AnswerCourse(isKept: true)
        course.take(whole: "First try")
        course.take(whole: "Second")
        course.settled(marks: 1, limit: course.wantedLimit, isOver: false)
        let seen = try events(course)
        #expect(shape(seen).text == "First trySecond")
        var next = AnswerCourse(resuming: course.marks, limit: course.limit)
        next.take(whole: "Second one")
        #expect(shape(try events(next, after: seen.last?.number ?? 0)).text == " one")
    }

    @Test func `a stopped response fails with the status cancelled`() throws {
        var course = AnswerCourse()
        course.take(whole: "It")
        course.finish(.cancelled(.invalid(nil, "stopped", code: "run_aborted")))
        var object = object(course)
        object.status = .cancelled
        var (stream, last) = (ResponseStream(), [UInt8]())
        while let event = stream.next(of: object) { last = event.bytes }
        let text = String(decoding: last, as: UTF8.self)
        #expect(text.hasPrefix("event: response.failed\n") && text.contains(#""status":"cancelled""#))
    }

    @Test func `a record is read as it was written`() throws {
        var record = record
        record.metadata = [("a", "b")]
        record.previous = "resp_0"
        record.isBackground = true
        record.marks = [.init(at: 3, .note("x")), .init(at: 5, .replaced), .init(at: 6, .jump(to: 8_192))]
        record.limit = 8_192
        #expect(ResponseRecord(record.bytes) == record)
        #expect(ResponseRecord(Array("{}".utf8)) == nil)
    }
}

struct ChatAnswerTests {
    @Test func `a stream has no ids, and every chunk the same head`() {
        let chat = ChatAnswer(id: "chatcmpl-1", created: 7, model: "ladle")
        let lines = [chat.first, chat.text("a"), chat.note("b"), chat.last(), ChatAnswer.done].map {
            String(decoding: $0, as: UTF8.self)
        }
        #expect(
            lines[0]
                == #"data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"ladle","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#
                + "\n\n"
        )
        #expect(lines[2].contains(#""delta":{"reasoning_content":"b\n"}"#))
        #expect(lines[3].contains(#""delta":{},"finish_reason":"stop""#) && lines[4] == "data: [DONE]\n\n")
    }
}
