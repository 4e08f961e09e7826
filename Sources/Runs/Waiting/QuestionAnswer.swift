/// An answer that fits its question, or the cancellation of the question. It may contain a secret, so it is neither kept nor shown.
package struct QuestionAnswer: Sendable, Equatable {
    /// The id and the answers of each part, in the order of the parts and in the gateway's own words; nil cancels the question.
    package let parts: [(id: String, texts: [String])]?

    package static let cancel = QuestionAnswer(parts: nil)

    private init(parts: [(id: String, texts: [String])]?) { self.parts = parts }

    /// The reason why an answer does not fit its question.
    package enum Fault: Error, Equatable {
        case noSuchPart(String, parts: [String])
        case unanswered(String, options: [String])
        case notOffered(String, options: [String])
        case onlyOne(String, options: [String])
        case tooLong(String)
        /// A part of the question is not shown, so it can only be cancelled.
        case onlyCancel
    }

    /// - Parameter given: the answers by the id of each part, with labels as they are shown.
    package init(_ given: [String: [String]], to question: Question) throws(Fault) {
        guard !question.isTruncated else { throw .onlyCancel }
        let ids = question.parts.map(\.id)
        if let other = given.keys.filter({ !ids.contains($0) }).min() { throw .noSuchPart(other, parts: ids) }
        var parts: [(id: String, texts: [String])] = []
        for part in question.parts {
            let labels = part.options.map(\.label)
            let texts = given[part.id] ?? []
            guard !texts.isEmpty, !texts.contains("") else { throw .unanswered(part.id, options: labels) }
            guard texts.count == 1 || part.takesSeveral else { throw .onlyOne(part.id, options: labels) }
            // Sorted in the order of the options, so that the same choice is always the same answer.
            var chosen = part.options.filter { texts.contains($0.label) }.map(\.sent)
            for text in texts where !labels.contains(text) && !chosen.contains(text) {
                guard part.takesOther else { throw .notOffered(part.id, options: labels) }
                guard text.utf8.count <= QuestionLimits.answerBytes, chosen.count < QuestionLimits.answers else {
                    throw .tooLong(part.id)
                }
                chosen.append(text)
            }
            parts.append((part.id, chosen))
        }
        self.init(parts: parts)
    }

    /// An answer that the gateway reports.
    init?(reported answers: [String: [String]]?, to question: Question) {
        guard let answers else { return nil }
        self.init(
            parts: question.parts.compactMap { part in
                answers[part.id].map { texts in
                    let chosen = part.options.map(\.sent).filter(texts.contains)
                    return (part.id, chosen + texts.filter { !chosen.contains($0) })
                }
            }
        )
    }

    package static func == (one: QuestionAnswer, other: QuestionAnswer) -> Bool { one.mark == other.mark }

    /// A hash of the answer. It is valid in this process only.
    var mark: Int {
        var hasher = Hasher()
        for part in parts ?? [] {
            hasher.combine(part.id)
            hasher.combine(part.texts)
        }
        hasher.combine(parts == nil)
        return hasher.finalize()
    }

    var byPart: [String: [String]]? {
        parts.map { Dictionary($0.map { ($0.id, $0.texts) }) { first, _ in first } }
    }
}
