import Basics
import JSONBytes
import ReadableText

/// The lines of `ladle top` for a size of the terminal, out of its state alone: as many as it has rows, none wider than it.
struct TopScreen {
    /// Steps of a run, the newest.
    private static let steps = 3
    private static let headRows = 2
    private static let footRows = 1
    /// Lower terminals leave the usage out.
    private static let rowsForUsage = 16
    /// Wider terminals show more columns.
    private static let wide = 100

    private let control: TopControl
    /// Where Ladle is, if not on this host.
    private let place: String?
    private let now: Int64
    private let style: TextStyle

    init(_ control: TopControl, place: String?, now: Int64, style: TextStyle) {
        self.control = control
        self.place = place
        self.now = now
        self.style = style
    }

    /// The rows that details have.
    static func detailRows(_ rows: Int) -> Int { max(1, rows - headRows - 1 - footRows) }

    private var model: TopModel { control.model }
    private var width: Int { control.columns }
    private var time: ReadableTime { control.time }

    var lines: [String] {
        var lines = [head, counts]
        if control.shown != nil {
            lines.append("")
            lines += control.details.dropFirst(control.offset).prefix(Self.detailRows(control.rows))
        } else {
            if control.rows >= Self.rowsForUsage { lines += usage }
            lines += body(rows: control.rows - lines.count - Self.footRows)
        }
        lines += Array(repeating: "", count: max(0, control.rows - Self.footRows - lines.count))
        return Array(lines.prefix(control.rows - Self.footRows)) + [foot]
    }

    // MARK: The head

    private var head: String {
        let state = model.link?.line("state") ?? "unknown"
        let gateway = model.link?["gateway"]?.line("version").map { "gateway \($0)" }
        let detail = state == "online" ? nil : model.link?.line("detail")
        let words = [place, gateway, detail].compactMap(\.self).joined(separator: " · ")
        let name = TopText.Cell("ladle top", 9, style.bold)
        guard model.isConnected else {
            return TopText.row([name, .init("no answer", 10, style.bad)], "Ladle is away; coming back.", width: width)
        }
        let link = TopText.Cell(state, min(20, DisplayWidth.of(state)), style.state)
        return TopText.row([name, link], words, clock, width: width, paint: style.dim)
    }

    /// Without seconds: a screen on which nothing happens is not drawn.
    private var clock: String { time.short(Timestamp(milliseconds: now).rfc3339) }

    private var counts: String {
        let waiting = model.approvals.count + model.questions.count
        let failed = model.entries.count { ["failed", "unconfirmed"].contains($0["state"]?.string) }
        var words = [
            model.runs.isEmpty ? "idle" : model.runs.count == 1 ? "1 run" : "\(model.runs.count) runs"
        ]
        if waiting > 0 { words.append("\(waiting) to decide") }
        if !model.entries.isEmpty {
            words.append("outbox \(model.entries.count)" + (failed > 0 ? " (\(failed) in trouble)" : ""))
        }
        if !model.unread.isEmpty {
            words.append("not known: " + model.unread.map(\.rawValue).joined(separator: ", "))
        }
        if let hint = model.link?.line("hint"), model.isConnected { words.append("→ \(hint)") }
        let line = DisplayWidth.fitted(words.joined(separator: " · "), width)
        return waiting + failed + model.unread.count > 0 ? style.warning(line) : line
    }

    // MARK: Usage

    private var usage: [String] {
        var lines: [String] = []
        let windows = (model.usage?["providers"].list ?? []).flatMap { provider in
            provider["windows"].list.map { window(provider, $0) }
        }
        if !windows.isEmpty {
            var line = ""
            for window in windows where DisplayWidth.of(line) + DisplayWidth.of(window) + 3 <= width {
                line += (line.isEmpty ? "" : "   ") + window
            }
            lines.append(DisplayWidth.fitted(line.isEmpty ? windows[0] : line, width))
        }
        let today = model.usage?["today"].map { today in
            let cost = UsageText.cost(today)
            return "today \(Sparkline.amount(today["tokens"]?.int ?? 0))" + (cost.isEmpty ? "" : ", \(cost)")
        }
        if !model.days.isEmpty || today != nil {
            let days = model.days.suffix(max(0, min(60, width - 36)))
            let picture =
                days.isEmpty ? "" : "\(Sparkline.text(Array(days))) \(days.count == 1 ? "1 day" : "\(days.count) days")"
            let words = ["tokens", picture, today ?? ""].filter { !$0.isEmpty }.joined(separator: "  ")
            lines.append(DisplayWidth.fitted(Printable.line(words), width))
        }
        return lines.map(style.dim)
    }

    private func window(_ provider: JSONValue, _ window: JSONValue) -> String {
        let names = [provider.line("name") ?? provider.line("id"), window.line("name")].compactMap(\.self)
        let name = names.map { DisplayWidth.fitted($0, 16) }.joined(separator: " ")
        guard let used = window["usedPercent"]?.double else { return "\(name) ?" }
        let resets = window["resetsAt"]?.string.map { " → " + time.short($0) } ?? ""
        let percent = UsageText.percent(window["usedPercent"])
        return "\(name) \(Sparkline.bar(used, width: 10)) \(percent)" + (width >= Self.wide ? resets : "")
    }

    // MARK: The rows

    private struct Row {
        var item: TopItem?
        let text: String
    }

    private func body(rows: Int) -> [String] {
        let all = waiting + sessions + outbox
        guard all.count > rows else { return all.map(\.text) }
        // The chosen row stays in the middle where it can.
        let chosen = all.firstIndex { $0.item != nil && $0.item == control.selected } ?? 0
        let first = max(0, min(chosen - rows / 2, all.count - rows))
        return all.dropFirst(first).prefix(max(0, rows)).map(\.text)
    }

    private func title(_ text: String) -> [Row] {
        [Row(text: ""), Row(text: style.dim(DisplayWidth.fitted(text, width)))]
    }

    private var waiting: [Row] {
        guard !model.approvals.isEmpty || !model.questions.isEmpty else { return [] }
        return title("TO DECIDE")
            + model.approvals.map { approval in
                let text = approval.line("command") ?? ApprovalText.title(approval)
                return decision(approval, "allow?", text, .approval(ApprovalText.question(approval)))
            }
            + model.questions.map { question in
                let text = question["questions"].list.compactMap { $0.line("question") }.joined(separator: " ")
                return decision(question, "answer?", text, .question(question["id"]?.string ?? ""))
            }
    }

    private func decision(_ value: JSONValue, _ kind: String, _ text: String, _ item: TopItem) -> Row {
        let session = value.line("session") ?? ""
        let until = value["expiresAt"]?.string.map(time.relative) ?? ""
        return row(item, [.init(kind, 7, style.warning), key(session)], text, until)
    }

    private var sessions: [Row] {
        let rows = model.sessionRows
        guard !rows.isEmpty else { return title("SESSIONS") + [Row(text: "  none")] }
        return title("SESSIONS") + rows.flatMap(session)
    }

    private func session(_ row: TopModel.SessionRow) -> [Row] {
        let isNamed = row.session?["titleFrom"]?.string != "key"
        let name = isNamed ? row.session?.line("title") ?? row.session?.line("label") : nil
        guard let run = row.run else {
            let end = model.ends[row.key]
            let state = end ?? row.session?.line("state") ?? ""
            let paint = ["failed", "aborted"].contains(state) ? style.bad : style.dim
            let updated = row.session?["updatedAt"]?.string
            return [
                self.row(
                    row.item,
                    [.init("○", 1, style.dim), key(row.key)],
                    name ?? "",
                    time.short(updated),
                    state,
                    paint
                )
            ]
        }
        let since = run.startedAt.flatMap { Timestamp(rfc3339: $0) }
            .map { now - $0.milliseconds < 1000 ? "0 s" : ReadableTime.span(now - $0.milliseconds) }
        let line = self.row(
            row.item,
            [.init("●", 1, style.good), key(row.key)],
            name ?? "",
            since ?? "",
            "runs",
            style.good
        )
        return [line] + run.steps.suffix(Self.steps).map(step)
    }

    private func step(_ step: JSONValue) -> Row {
        let line = StepText.line(step, .plain, advice: CommandHint.translated)
        let text = "      " + DisplayWidth.fitted(line, width - 6)
        let paint: (String) -> String =
            switch step["state"]?.string {
            case "failed": style.bad
            case "waiting": style.warning
            case "running": { $0 }
            default: style.dim
            }
        return Row(text: paint(text))
    }

    private var outbox: [Row] {
        guard !model.entries.isEmpty else { return [] }
        return title("OUTBOX")
            + model.entries.map { entry in
                let id = entry["id"]?.string ?? ""
                let state = entry.line("state") ?? ""
                var lead = [TopText.Cell(String(id.suffix(8)), 8), .init(state, 11, style.state)]
                if width >= Self.wide { lead.append(key(entry.line("session") ?? "")) }
                let next = entry.line("blockedReason") ?? time.relative(entry["nextAttemptAt"]?.string)
                return row(.entry(id), lead, entry.line("text") ?? entry.line("kind") ?? "", next)
            }
    }

    private func key(_ session: String) -> TopText.Cell {
        .init(session, width >= Self.wide ? max(30, width * 3 / 10) : 18)
    }

    /// A row that can be chosen; the chosen one has a mark, and no other colours.
    private func row(
        _ item: TopItem,
        _ lead: [TopText.Cell],
        _ text: String,
        _ trail: String,
        _ state: String = "",
        _ paint: @escaping (String) -> String = { $0 }
    ) -> Row {
        let isChosen = item == control.selected
        let cells =
            [TopText.Cell(isChosen ? "▸" : "", 1)] + (isChosen ? lead.map { TopText.Cell($0.text, $0.width) } : lead)
        let end = [state, trail].filter { !$0.isEmpty }.joined(separator: " ")
        let line = TopText.row(cells, text, end, width: width, paint: isChosen ? { $0 } : paint)
        return Row(item: item, text: isChosen ? style.bold(line) : line)
    }

    // MARK: The foot

    private var foot: String {
        if let question = control.question {
            return style.warning(fitted("? \(question.text)  y: yes, any other key: no"))
        }
        if let note = control.note { return style.bold(fitted(note)) }
        return style.dim(fitted(keys))
    }

    private var keys: String {
        let item = control.shown ?? control.selected
        var words = control.shown == nil ? ["↑↓ choose", "⏎ show"] : ["↑↓ scroll", "esc back"]
        switch item {
        case .approval: words += ["a allow", "d deny"]
        case .question: words += control.shown == nil ? [] : ["1-9 answer"]
        default: break
        }
        if let item, model.run(of: item) != nil { words.append("x stop") }
        return (words + ["q \(control.shown == nil ? "quit" : "back")"]).joined(separator: "   ")
    }

    private func fitted(_ text: String) -> String { DisplayWidth.fitted(Printable.line(text), width) }
}
