package import JSONBytes

/// Lists questions that wait for an answer.
package struct QuestionList: GatewayCall {
    package static let method = "question.list"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [QuestionEvent] {
        try WaitingCalls.rows(of: payload, "questions", method: method).map { QuestionEvent($0) }
            .filter { $0.status == nil || $0.status == "pending" }
    }
}

/// Answers a question, or cancels it if there is no answer.
package struct QuestionResolve: GatewayCall {
    package static let method = "question.resolve"
    package var timeoutMs: Int64 { WaitingCalls.timeoutMs }
    package var id: String
    /// The answers by part id.
    package var answers: [(id: String, texts: [String])]?
    /// Whether to send the answers one level higher, as later releases expect.
    package var isFlat: Bool

    package init(id: String, answers: [(id: String, texts: [String])]?, isFlat: Bool) {
        self.id = id
        self.answers = answers
        self.isFlat = isFlat
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("id", id)
        guard let answers else { return writer.member("cancel", true) }
        func write(_ object: inout JSONWriter) {
            for answer in answers { object.array(answer.id, of: answer.texts) }
        }
        writer.object("answers") { object in
            if isFlat { write(&object) } else { object.object("answers") { write(&$0) } }
        }
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) {}
}

extension GatewayError {
    /// Nil for every other error.
    package var questionRefusal: WaitingRefusal? {
        switch detailsReason ?? detailsCode {
        case "QUESTION_NOT_FOUND": return .gone
        case "QUESTION_ALREADY_RESOLVED": return .resolved
        default: break
        }
        return message.contains("unknown or already-resolved question id") ? .gone : nil
    }

    /// The gateway expects the answers to a question in the other form, and did nothing.
    package var wantsOtherAnswers: Bool {
        questionRefusal == nil && message.contains("invalid question.resolve params")
    }
}
