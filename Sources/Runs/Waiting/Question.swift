package import Basics
package import Gateway
package import JSONBytes

/// One to three questions of the agent to a person, answered together. Its texts are safe to show: no character can hide or move
/// another. Gateways keep questions in memory only.
package struct Question: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case pending, answered, cancelled, expired, unknown
    }

    package struct Option: Sendable, Hashable {
        package let label: String
        let explanation: String?
        /// The label as the gateway sent it.
        let sent: String
    }

    package struct Part: Sendable, Equatable {
        package let id: String
        let header: String?
        let text: String
        package let options: [Option]
        package let takesSeveral: Bool
        /// A person may answer in own words.
        package let takesOther: Bool
        /// The answer is never shown.
        package let isSecret: Bool
        package var isAnswered = false
        /// Nil if the answers are secret or not known.
        package var answers: [String]?
    }

    package let id: String
    package let session: String?
    let agent: String?
    package let runID: String?
    package private(set) var state = State.pending
    package private(set) var parts: [Part]
    /// A part of the question is not shown.
    package let isTruncated: Bool
    /// By the gateway's clock, as is `expiresAt`.
    package let createdAt: Timestamp
    package var expiresAt: Timestamp
    package private(set) var endedAt: Timestamp?
    package private(set) var endedBy: String?
    package private(set) var via: Approval.Via?
    package let isCreatedAtReported: Bool
    package var isEndReported: Bool
    /// A hash of the session and the texts. It is valid in this process only.
    package let content: Int
    /// The hash of the answer that ended the question; nil if that is not known.
    private var mark: Int?

    package var isPending: Bool { state == .pending }

    /// The header of the first part, else its text.
    package var title: String? { parts.first.map { $0.header ?? $0.text } }

    /// Nil if the event has no id or no part.
    /// - Parameters:
    ///   - session: the session's canonical name.
    ///   - now: the time by the gateway's clock.
    package init?(_ event: QuestionEvent, session: String?, run: String?, now: Timestamp) {
        guard let id = event.id, event.partCount > 0 else { return nil }
        var isCut = event.partCount > GatewayLimits.questionParts
        func shown(_ text: String, bytes: Int) -> String {
            let (start, isWhole) = ShownText.of(text, bytes: bytes)
            if !isWhole { isCut = true }
            return start
        }
        var parts: [Part] = []
        for part in event.parts {
            guard let id = part.id, let text = part.text, !parts.contains(where: { $0.id == id }) else {
                isCut = true
                continue
            }
            if part.optionCount > GatewayLimits.questionOptions { isCut = true }
            var options: [Option] = []
            for option in part.options {
                let label = option.label.map { shown($0, bytes: QuestionLimits.labelBytes) } ?? ""
                // Options that look alike cannot be distinguished.
                guard let sent = option.label, !label.isEmpty, !options.contains(where: { $0.label == label }) else {
                    isCut = true
                    continue
                }
                let explanation = option.explanation.map { shown($0, bytes: QuestionLimits.explanationBytes) }
                options.append(
                    Option(
                        label: label,
                        explanation: explanation,
                        sent: sent.utf8.count > QuestionLimits.labelBytes ? label : sent
                    )
                )
            }
            parts.append(
                Part(
                    id: id,
                    header: part.header.map { shown($0, bytes: QuestionLimits.headerBytes) },
                    text: shown(text, bytes: QuestionLimits.textBytes),
                    options: options,
                    takesSeveral: part.takesSeveral,
                    takesOther: part.takesOther || part.optionCount == 0,
                    isSecret: part.isSecret
                )
            )
        }
        self.id = id
        self.parts = parts
        self.session = session.map { Printable.escaped($0).text }
        runID = run.map { Printable.escaped($0).text }
        agent = event.agent.map { ShownText.of($0, bytes: ApprovalLimits.nameBytes).text }
        isTruncated = isCut
        createdAt = event.createdAt ?? now
        isCreatedAtReported = event.createdAt != nil
        let longest = now.adding(milliseconds: ApprovalLimits.longestLifeMs)
        isEndReported = event.expiresAt.map { $0 <= longest } ?? false
        expiresAt = min(event.expiresAt ?? now.adding(milliseconds: QuestionLimits.usualLifeMs), longest)
        var hasher = Hasher()
        hasher.combine(self.session)
        for part in parts {
            hasher.combine(part.id)
            hasher.combine(part.text)
            hasher.combine(part.options)
            hasher.combine(part.takesSeveral)
            hasher.combine(part.isSecret)
        }
        content = hasher.finalize()
    }

    /// The question as it is shown while the link is down: nobody knows whether it still waits.
    package var unseen: Question {
        var copy = self
        if isPending { copy.state = .unknown }
        return copy
    }
}

extension Question.State: UntoldState {}

extension Question: WaitingItem {
    package typealias Refusal = QuestionRefusal

    package static let limits = WaitingLimits(pending: QuestionLimits.pending, ended: QuestionLimits.ended, past: 0)

    package func offers(_ answer: QuestionAnswer) -> Bool { true }

    /// Whether this answer ended the question.
    package func isAnswered(by answer: QuestionAnswer) -> Bool { mark == answer.mark }

    /// - Parameter answer: nil if it is not known.
    package mutating func end(
        _ state: State,
        _ answer: QuestionAnswer?,
        by name: String?,
        at time: Timestamp,
        via: Approval.Via?
    ) {
        self.state = state
        self.via = via
        mark = answer?.mark
        endedBy = name.map { ShownText.name($0) }
        endedAt = time
        guard state == .answered, let answers = answer?.byPart else { return }
        for index in parts.indices {
            let part = parts[index]
            guard let given = answers[part.id] else { continue }
            parts[index].isAnswered = true
            guard !part.isSecret else { continue }
            parts[index].answers = given.prefix(QuestionLimits.answers).map { text in
                part.options.first { $0.sent == text }?.label
                    ?? ShownText.of(text, bytes: QuestionLimits.answerBytes).text
            }
        }
    }
}

extension Question: JSONWritable {
    package func write(to writer: inout JSONWriter) { write(to: &writer, now: nil) }

    /// - Parameter now: the time by the gateway's clock; if given, the remaining time is written too.
    package func write(to writer: inout JSONWriter, now: Timestamp?) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("session", session)
            writer.member("agent", agent)
            writer.member("runId", runID)
            writer.member("state", state.rawValue)
            if isTruncated { writer.member("truncated", true) }
            writer.array("questions", of: parts)
            writer.member("createdAt", createdAt)
            writer.member("expiresAt", expiresAt)
            if isPending, let now { writer.member("expiresInMs", max(0, expiresAt.milliseconds - now.milliseconds)) }
            writer.member("endedBy", endedBy)
            writer.member("endedAt", endedAt)
            writer.member("via", via?.rawValue)
        }
    }
}

extension Question.Part: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("header", header)
            writer.member("question", text)
            writer.array("options") { list in
                for option in options {
                    list.object {
                        $0.member("label", option.label)
                        $0.member("description", option.explanation)
                    }
                }
            }
            writer.member("multiSelect", takesSeveral)
            writer.member("other", takesOther)
            writer.member("secret", isSecret)
            if isAnswered { writer.member("answered", true) }
            if let answers { writer.array("answers", of: answers) }
        }
    }
}

/// Limits on the memory of questions, so that no gateway can fill it. Most times are those of `ApprovalLimits`.
package enum QuestionLimits {
    /// Most waiting questions. A gateway holds a run for each; Ladle takes further ones once there is room.
    package static let pending = 64
    /// Most ended questions in memory, for answers that come late or twice.
    static let ended = 32
    static let headerBytes = 128
    static let textBytes = 2_048
    static let labelBytes = 256
    static let explanationBytes = 512
    /// Longest answer in a person's own words.
    package static let answerBytes = 4_096
    /// Ladle asks about a question without an end after this time. The newest releases give questions this life.
    static let usualLifeMs: Int64 = 900_000
    /// Most answers to a part: each option, and one in a person's own words.
    package static let answers = 1 + GatewayLimits.questionOptions
}
