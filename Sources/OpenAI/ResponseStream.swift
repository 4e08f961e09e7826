import JSONBytes

/// The events of a response's stream. The number of an event is fixed by its place in the course: each event takes one number, and text as many
/// as it has Unicode scalars, however it is cut into events. So a stream that begins anew, even in another process, numbers alike.
package struct ResponseStream: Sendable {
    package struct Event: Sendable, Equatable {
        package let number: Int
        package let bytes: [UInt8]
    }

    private enum Open: Equatable {
        case nothing
        case message(place: Int, text: String)
    }

    private var reader = CourseReader()
    private var number = -1
    private var items = 0
    private var open = Open.nothing
    private var queue: [Event] = []
    private var hasBegun = false
    package private(set) var isOver = false
    /// Events up to this number are not wanted.
    private let after: Int

    package static let keepAlive = Array(": keep-alive\n\n".utf8)

    package init(after: Int = -1) { self.after = after }

    /// The next event; nil if there is none yet, or if the stream is over.
    /// - Parameter answer: gives the response in its present state.
    package mutating func next(of answer: ResponseObject) -> Event? {
        while true {
            if !queue.isEmpty {
                let event = queue.removeFirst()
                if event.number > after { return event }
                continue
            }
            guard !isOver else { return nil }
            if !hasBegun {
                hasBegun = true
                begin(answer)
                continue
            }
            if let piece = reader.next(of: answer.course, most: most) {
                take(piece, answer)
            } else if reader.isAtEnd(of: answer.course) {
                finish(answer)
            } else {
                return nil
            }
        }
    }

    /// Text that was had before ends exactly where the wanted text begins.
    private var most: Int {
        let left = after - number - (open == .nothing ? 2 : 0)
        return left > 0 ? left : .max
    }

    private mutating func begin(_ answer: ResponseObject) {
        for (type, status) in [
            ("response.created", ResponseObject.Status.queued), ("response.in_progress", .inProgress),
        ] {
            var early = answer
            early.status = status
            early.completedAt = nil
            early.course = AnswerCourse()
            add(type) {
                $0.key("response"); early.write(to: &$0, hasOutput: false)
            }
        }
    }

    private mutating func take(_ piece: CourseReader.Piece, _ answer: ResponseObject) {
        switch piece {
        case .text(let more): write(more, answer)
        case .note(let line):
            closeMessage(answer, isFinal: false)
            write(note: line, answer)
        case .replaced: closeMessage(answer, isFinal: false)
        case .jump(let count): number += count
        case .skipped(let count):
            // Its item was opened and closed by the process that knew the text.
            number += count + 2
            if open == .nothing { open = .message(place: items, text: "") }
            items += 1
        }
    }

    private mutating func write(_ more: String, _ answer: ResponseObject) {
        if open == .nothing {
            let place = items
            items += 1
            add("response.output_item.added") { event in
                event.member("output_index", place)
                event.key("item")
                answer.writeMessage(nil, place, isDone: false, isFinal: false, to: &event)
            }
            add("response.content_part.added") { event in
                Self.writePlace(answer.itemID(place, isMessage: true), place, to: &event)
                event.object("part") { ResponseObject.writePart("", to: &$0) }
            }
            open = .message(place: place, text: "")
        }
        guard case .message(let place, let text) = open else { return }
        open = .message(place: place, text: text + more)
        add("response.output_text.delta", numbers: more.unicodeScalars.count) { event in
            Self.writePlace(answer.itemID(place, isMessage: true), place, to: &event)
            event.member("delta", more)
            event.array("logprobs") { _ in }
        }
    }

    private mutating func closeMessage(_ answer: ResponseObject, isFinal: Bool) {
        guard case .message(let place, let text) = open else { return }
        open = .nothing
        let id = answer.itemID(place, isMessage: true)
        add("response.output_text.done") { event in
            Self.writePlace(id, place, to: &event)
            event.member("text", text)
            event.array("logprobs") { _ in }
        }
        add("response.content_part.done") { event in
            Self.writePlace(id, place, to: &event)
            event.object("part") { ResponseObject.writePart(text, to: &$0) }
        }
        add("response.output_item.done") { event in
            event.member("output_index", place)
            event.key("item")
            answer.writeMessage(text, place, isDone: true, isFinal: isFinal, to: &event)
        }
    }

    private mutating func write(note line: String, _ answer: ResponseObject) {
        let place = items
        items += 1
        let id = answer.itemID(place, isMessage: false)
        add("response.output_item.added") { event in
            event.member("output_index", place)
            event.key("item")
            answer.writeReasoning(nil, place, isDone: false, to: &event)
        }
        let steps: [(String, (inout JSONWriter) -> Void)] = [
            ("part.added", { $0.object("part") { ResponseObject.writeSummary("", to: &$0) } }),
            ("text.delta", { $0.member("delta", line) }),
            ("text.done", { $0.member("text", line) }),
            ("part.done", { $0.object("part") { ResponseObject.writeSummary(line, to: &$0) } }),
        ]
        for (name, write) in steps {
            add("response.reasoning_summary_\(name)") { event in
                event.member("item_id", id)
                event.member("output_index", place)
                event.member("summary_index", 0)
                write(&event)
            }
        }
        add("response.output_item.done") { event in
            event.member("output_index", place)
            event.key("item")
            answer.writeReasoning(line, place, isDone: true, to: &event)
        }
    }

    private mutating func finish(_ answer: ResponseObject) {
        closeMessage(answer, isFinal: true)
        // There is no event for a response that was stopped; its status says it.
        add(answer.status == .completed ? "response.completed" : "response.failed") {
            $0.key("response")
            answer.write(to: &$0)
        }
        isOver = true
    }

    private static func writePlace(_ id: String, _ place: Int, to event: inout JSONWriter) {
        event.member("item_id", id)
        event.member("output_index", place)
        event.member("content_index", 0)
    }

    private mutating func add(_ type: String, numbers: Int = 1, _ write: (inout JSONWriter) -> Void) {
        number += numbers
        guard number > after else { return }
        var writer = JSONWriter()
        let number = number
        writer.object { event in
            event.member("type", type)
            event.member("sequence_number", number)
            write(&event)
        }
        queue.append(
            Event(number: number, bytes: Array("event: \(type)\ndata: ".utf8) + writer.bytes + Array("\n\n".utf8))
        )
    }
}
