import Basics
import JSONBytes
import ReadableText

/// All that is known of one row of `ladle top`, in lines. Nothing is cut: they are scrolled.
struct TopDetails {
    private let item: TopItem
    private let model: TopModel
    private let time: ReadableTime
    private let text: (run: String, lines: String)?

    init(_ item: TopItem, _ model: TopModel, _ time: ReadableTime, _ text: (run: String, lines: String)?) {
        self.item = item
        self.model = model
        self.time = time
        self.text = text
    }

    func lines(width: Int) -> [String] { rows.flatMap { TopText.wrapped($0, width: width) } }

    /// The one thing that a question asks, if one key can answer it.
    static func part(of question: JSONValue) -> JSONValue? {
        let parts = question["questions"].list
        guard parts.count == 1, let part = parts.first, question["truncated"]?.bool != true else { return nil }
        guard part["secret"]?.bool != true, !part["options"].list.isEmpty else { return nil }
        return part
    }

    private var rows: [String] {
        switch item {
        case .approval(let name): model.approval(name).map(approval) ?? []
        case .question(let id): model.question(id).map(question) ?? []
        case .run(let id): model.run(id).map(run) ?? []
        case .session(let key): model.run(of: item).map(run) ?? session(key)
        case .entry(let id): model.entry(id).map(entry) ?? []
        }
    }

    private func approval(_ approval: JSONValue) -> [String] {
        let text = ApprovalText(approval, time, .plain)
        let times = [text.since, text.until].compactMap(\.self).joined(separator: ", ")
        let session = approval.line("session").map { " in \($0)" } ?? ""
        return ["The agent asks\(session), \(times):", ""] + text.question + [
            "", "Approval \(ApprovalText.id(approval))",
        ]
    }

    private func question(_ question: JSONValue) -> [String] {
        let session = question.line("session").map { " in \($0)" } ?? ""
        var rows = ["The agent asks\(session):", ""] + QuestionText(question, .plain).lines + [""]
        if let part = Self.part(of: question) {
            let options = part["options"].list.prefix(9).compactMap { $0.line("label") }
            rows += options.enumerated().map { "\($0.offset + 1)  \($0.element)" }
        } else {
            rows.append("ladle questions answer \(Printable.argument(question["id"]?.string ?? "")) ANSWER")
        }
        return rows
    }

    private func run(_ run: TopModel.Run) -> [String] {
        var rows = ["\(run.session), since \(time.short(run.startedAt, seconds: true))", "Run \(run.id)", ""]
        rows += run.steps.map { StepText.line($0, .plain, advice: CommandHint.translated) }
        if let text, text.run == run.id, !text.lines.isEmpty { rows += ["", text.lines] }
        return rows
    }

    private func session(_ key: String) -> [String] {
        guard let session = model.session(key) else { return [key] }
        var rows = [key, ""]
        for (name, title) in [
            ("title", "title"), ("state", "state"), ("model", "model"), ("thinking", "thinking"), ("agent", "agent"),
            ("preview", "last"),
        ] {
            if let value = session.line(name) { rows.append("\(DisplayWidth.padded(title, 9)) \(value)") }
        }
        if let at = session["updatedAt"]?.string { rows.append("updated   \(time.short(at)) (\(time.relative(at)))") }
        if let percent = session["contextUsedPercent"]?.int { rows.append("context   \(percent)% full") }
        return rows
    }

    private func entry(_ entry: JSONValue) -> [String] {
        var rows = ["Outbox entry \(entry["id"]?.string ?? "")", ""]
        for name in ["state", "session", "blockedReason"] {
            if let value = entry.line(name) { rows.append("\(DisplayWidth.padded(name, 14)) \(value)") }
        }
        rows.append("tries          \(entry["attemptCount"]?.int ?? 0)")
        if let at = entry["nextAttemptAt"]?.string { rows.append("next           \(time.relative(at))") }
        if let error = entry["error"] {
            rows.append("error          \(error.line("code") ?? ""): \(error.line("detail") ?? "")")
        }
        return rows + ["", Printable.text(entry["text"]?.string ?? "")]
    }
}
