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
        package let text: String
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
    package let agent: String?
    package let runID: String?
    package var state = State.pending
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
        let longest = now.adding(milliseconds: WaitingLimits.longestLifeMs)
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
}

/// The gateway's waiting questions, and the questions that ended recently.
package typealias QuestionRegister = WaitingRegister<Question>

extension Question.State: WaitingState {}

extension Question: WaitingItem {
    package static let limits = WaitingLimits(
        pending: QuestionLimits.pending,
        ended: QuestionLimits.ended,
        past: 0,
        // A secret stays in memory no longer than necessary.
        lost: 1
    )

    package static func state(after answer: QuestionAnswer) -> State { answer.parts == nil ? .cancelled : .answered }

    package func offers(_ answer: QuestionAnswer) -> Bool { true }

    package mutating func withdraw(_ answer: QuestionAnswer) {}

    package func hasEnded(by answer: QuestionAnswer) -> Bool { mark == answer.mark }

    package func end(
        told event: QuestionEvent,
        after sent: [QuestionRegister.Attempt],
        own: String,
        at time: Timestamp
    ) -> QuestionRegister.End? {
        let name = event.resolvedBy
        let isAnswerDue = sent.contains { !$0.isLost }
        let reported = QuestionAnswer(reported: event.answers, to: self)
        let mayBeOurs = name == own || name == nil
        let other: Approval.Via? = name == nil ? nil : .other
        switch event.status {
        case "expired": return .timeout(at: time)
        case "cancelled":
            let ours = mayBeOurs ? sent.last { $0.choice == .cancel } : nil
            let via = ours == nil ? other : .ladle
            return QuestionRegister.End(.cancelled, .cancel, by: ours?.sender ?? name, at: time, via: via)
        case nil where reported == nil && !isAnswerDue: return QuestionRegister.End(.unknown, at: time)
        default: break
        }
        let answers = sent.filter { $0.choice != .cancel }
        var ours = mayBeOurs ? answers.last { $0.choice == reported } : nil
        // The gateway may leave the answer out, or mask a secret.
        let isVeiled = reported == nil || parts.contains(where: \.isSecret)
        if ours == nil, name == own, isVeiled { ours = answers.last }
        if let ours { return QuestionRegister.End(.answered, ours.choice, by: ours.sender, at: time, via: .ladle) }
        if name == nil, isVeiled, isAnswerDue { return nil }
        return QuestionRegister.End(.answered, reported, by: name, at: time, via: other)
    }

    package mutating func end(_ end: QuestionRegister.End) {
        state = end.state
        via = end.via
        mark = end.choice?.mark
        endedBy = end.name.map { ShownText.name($0) }
        endedAt = end.time
        guard state == .answered, let answers = end.choice?.byPart else { return }
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

/// Limits on the memory of questions, so that no gateway can fill it.
package enum QuestionLimits {
    package static let pending = 64
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
