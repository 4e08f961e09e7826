/// An answer that fits its question, or that nobody will answer. It may hold a secret: it is neither kept nor shown.
package struct QuestionAnswer: Sendable {
    /// By the id of each part, in their order and as the gateway knows them; nil cancels.
    package let parts: [(id: String, texts: [String])]?

    package static let cancel = QuestionAnswer(parts: nil)

    private init(parts: [(id: String, texts: [String])]?) { self.parts = parts }

    /// Why it does not fit.
    package enum Fault: Error, Equatable {
        case noSuchPart(String, parts: [String])
        case unanswered(String, options: [String])
        case notOffered(String, options: [String])
        case onlyOne(String, options: [String])
        case tooLong(String)
        /// A part of the question is not shown, so it can only be cancelled.
        case onlyCancel
    }

    /// - Parameter given: by the id of each part, as people see the labels.
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
            // In the order of the options: the same answer again is the same, however it is written.
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

    /// As the gateway tells one.
    init?(told answers: [String: [String]]?, to question: Question) {
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

    /// The same for the same answer, in this process alone.
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
