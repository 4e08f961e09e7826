package import Basics
package import JSONBytes

/// A response in OpenAI's form, from its record, its course and its state. Programs with strict schemas want every member.
package struct ResponseObject: Sendable {
    package enum Status: String, Sendable {
        case queued
        case inProgress = "in_progress"
        case completed, failed, cancelled
    }

    package enum Item: Sendable, Equatable {
        case reasoning(String)
        case message(String, isOpen: Bool)
    }

    package let record: ResponseRecord
    package var status: Status
    package var run: String?
    package var completedAt: Timestamp?
    package var course: AnswerCourse

    package init(
        _ record: ResponseRecord,
        _ course: AnswerCourse,
        status: Status,
        run: String?,
        completedAt: Timestamp?
    ) {
        self.record = record
        self.course = course
        self.status = status
        self.run = run
        self.completedAt = completedAt
    }

    func itemID(_ place: Int, isMessage: Bool) -> String {
        "\(isMessage ? "msg" : "rs")_\(record.entry)_\(place)"
    }

    package var items: [Item] {
        var items: [Item] = []
        var isOpen = false
        for piece in CourseReader.pieces(of: course) {
            switch piece {
            case .text(let more):
                if isOpen, case .message(let text, _)? = items.last {
                    items[items.count - 1] = .message(text + more, isOpen: true)
                } else {
                    items.append(.message(more, isOpen: true))
                }
                isOpen = true
            case .note(let line):
                items.append(.reasoning(line))
                isOpen = false
            case .replaced: isOpen = false
            case .skipped:
                items.append(.message("", isOpen: true))
                isOpen = true
            case .jump: break
            }
        }
        for place in items.indices where !(isOpen && place == items.count - 1 && course.end == nil) {
            if case .message(let text, _) = items[place] { items[place] = .message(text, isOpen: false) }
        }
        return items
    }

    /// - Parameter hasOutput: false in the first events of a stream, before anything came.
    package func write(to writer: inout JSONWriter, hasOutput: Bool = true) {
        writer.object { object in
            object.member("id", record.id)
            object.member("object", "response")
            object.member("created_at", record.created.milliseconds / 1000)
            object.member("status", status.rawValue)
            object.member("background", record.isBackground)
            if let completedAt {
                object.member("completed_at", completedAt.milliseconds / 1000)
            } else {
                object.member("completed_at", orNull: nil)
            }
            writeError(to: &object)
            object.member("incomplete_details", orNull: nil)
            object.member("instructions", orNull: record.instructions)
            object.member("max_output_tokens", orNull: nil)
            object.member("model", record.model)
            let items = hasOutput ? items : []
            object.array("output") { list in
                for (place, item) in items.enumerated() {
                    write(item, place, isLast: place == items.count - 1, to: &list)
                }
            }
            object.member("parallel_tool_calls", false)
            object.member("previous_response_id", orNull: record.previous)
            if let conversation = record.conversation {
                object.object("conversation") { $0.member("id", conversation) }
            } else {
                object.member("conversation", orNull: nil)
            }
            object.object("reasoning") { reasoning in
                reasoning.member("effort", orNull: nil)
                reasoning.member("summary", orNull: nil)
            }
            object.member("store", true)
            object.member("temperature", orNull: nil)
            object.object("text") { text in text.object("format") { $0.member("type", "text") } }
            object.member("tool_choice", "auto")
            object.array("tools") { _ in }
            object.member("top_p", orNull: nil)
            object.member("truncation", "disabled")
            writeUsage(to: &object)
            object.member("user", orNull: nil)
            object.object("metadata") { metadata in
                for item in record.metadata { metadata.member(item.name, item.value) }
                metadata.member("ladle_session", record.session)
                metadata.member("ladle_run", run)
            }
        }
    }

    private func writeError(to object: inout JSONWriter) {
        guard case .failed(let error)? = course.end, status == .failed else {
            return object.member("error", orNull: nil)
        }
        object.object("error") { item in
            item.member("code", error.kind == .rateLimit ? "rate_limit_exceeded" : "server_error")
            item.member("message", error.message)
        }
    }

    private func writeUsage(to object: inout JSONWriter) {
        guard case .completed(let usage?)? = course.end else { return object.member("usage", orNull: nil) }
        object.object("usage") { item in
            item.member("input_tokens", usage.prompt)
            item.object("input_tokens_details") { details in
                details.member("cached_tokens", usage.cacheRead)
                details.member("cache_write_tokens", usage.cacheWrite)
            }
            item.member("output_tokens", usage.output)
            item.object("output_tokens_details") { $0.member("reasoning_tokens", 0) }
            item.member("total_tokens", usage.total)
        }
    }

    package func write(_ item: Item, _ place: Int, isLast: Bool, to list: inout JSONWriter) {
        switch item {
        case .reasoning(let line): writeReasoning(line, place, isDone: true, to: &list)
        case .message(let text, let isOpen):
            writeMessage(text, place, isDone: !isOpen, isFinal: isLast && course.end != nil, to: &list)
        }
    }

    func writeReasoning(_ line: String?, _ place: Int, isDone: Bool, to list: inout JSONWriter) {
        list.object { object in
            object.member("id", itemID(place, isMessage: false))
            object.member("type", "reasoning")
            object.array("summary") { parts in
                guard let line else { return }
                parts.object { Self.writeSummary(line, to: &$0) }
            }
            object.member("status", isDone ? "completed" : "in_progress")
        }
    }

    static func writeSummary(_ line: String, to part: inout JSONWriter) {
        part.member("type", "summary_text")
        part.member("text", line)
    }

    /// - Parameter text: nil for an item that has no part yet.
    func writeMessage(_ text: String?, _ place: Int, isDone: Bool, isFinal: Bool, to list: inout JSONWriter) {
        list.object { object in
            object.member("id", itemID(place, isMessage: true))
            object.member("type", "message")
            object.member("role", "assistant")
            object.member("status", isDone ? "completed" : "in_progress")
            if isDone { object.member("phase", isFinal ? "final_answer" : "commentary") }
            object.array("content") { parts in
                if let text { parts.object { Self.writePart(text, to: &$0) } }
            }
        }
    }

    static func writePart(_ text: String, to part: inout JSONWriter) {
        part.member("type", "output_text")
        part.member("text", text)
        part.array("annotations") { _ in }
        part.array("logprobs") { _ in }
    }
}
