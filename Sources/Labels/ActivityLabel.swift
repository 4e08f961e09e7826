import Basics

/// The line that names a tool call, in each state of the call.
package struct ActivityLabel: Sendable, Equatable {
    /// The running form without its dots: "Reading notes.md".
    package var active: String
    package var category: ActivityCategory
    /// The call's main argument, masked.
    package var detail: String?
    package var table: LabelTable = .extended

    package init(_ active: String, _ category: ActivityCategory, detail: String? = nil) {
        self.active = active.cut(to: LabelLimits.characters)
        self.category = category
        self.detail = detail
    }

    /// Restores the label from the words shown for an open step.
    package init(resuming words: String, _ category: ActivityCategory, detail: String?) {
        var active = Substring(words)
        if active.hasPrefix(Self.waiting) { active = active.dropFirst(Self.waiting.count) }
        for ending in [Self.dots, Self.background] where active.hasSuffix(ending) {
            active = active.dropLast(ending.count)
        }
        self.init(String(active), category, detail: detail)
    }

    private static let dots = "..."
    private static let background = " (in background)"
    private static let waiting = "Waiting for approval: "

    package var running: String { active + Self.dots }

    /// The completed form, in past tense; without brackets if the duration is unknown.
    package func done(milliseconds: Int64?) -> String {
        if table == .chowder { return milliseconds.map { "\(active) (\($0)ms)" } ?? active }
        let words = PastTense.of(active)
        return milliseconds.map { "\(words) (\(DurationText.of(milliseconds: $0)))" } ?? words
    }

    package func failed(exitCode: Int64?, milliseconds: Int64?) -> String {
        if table == .chowder { return "Command failed" }
        var facts: [String] = []
        if let exitCode { facts.append("exit \(exitCode)") }
        if let milliseconds { facts.append(DurationText.of(milliseconds: milliseconds)) }
        return facts.isEmpty ? "\(active) failed" : "\(active) failed (\(facts.joined(separator: ", ")))"
    }

    package var inBackground: String { active + Self.background }
    package var waitingForApproval: String { Self.waiting + active }
    package var cancelled: String { "\(active) cancelled" }
}

/// The wording of all labels (`activity.labels`).
package enum LabelTable: String, Sendable, CaseIterable {
    /// Names the actual work of a command line; in past tense when it is done.
    case extended
    /// The words that the Chowder app shows for the same call.
    case chowder
}
