package import JSONBytes

/// Questions that wait for an answer.
package struct QuestionList: GatewayCall {
    package static let method = "question.list"
    /// As for approvals: a person waits for it.
    package var timeoutMs: Int64 { 10_000 }
    package init() {}
    package func writeParams(to writer: inout JSONWriter) {}

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> [QuestionEvent] {
        try GatewayRows.list(of: payload, "questions", method: method).elements.map { QuestionEvent($0) }
    }
}

/// An answer, or without one that nobody will answer.
package struct QuestionResolve: GatewayCall {
    package static let method = "question.resolve"
    package var timeoutMs: Int64 { 10_000 }
    package var id: String
    /// By the id of each part.
    package var answers: [(id: String, texts: [String])]?
    /// Later releases take the answers one level higher.
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

/// Why the gateway did not take an answer.
package enum QuestionRefusal: Sendable, Equatable {
    /// It has no such question: its time is over, or somebody answered.
    case gone
    /// Somebody answered otherwise.
    case resolved
    /// It takes the parameters in another form.
    case otherForm
}

extension GatewayError {
    /// Nil for every other refusal.
    package var questionRefusal: QuestionRefusal? {
        switch detailsReason ?? detailsCode {
        case "QUESTION_NOT_FOUND": return .gone
        case "QUESTION_ALREADY_RESOLVED": return .resolved
        default: break
        }
        if message.contains("unknown or already-resolved question id") { return .gone }
        return message.contains("invalid question.resolve params") ? .otherForm : nil
    }
}
