import JSONBytes
import Outbox

/// Compares what Ladle said with what the recording shows in the end. Knows nothing of Ladle's own rules.
struct ReplayJudge {
    enum Rule: String, Sendable, CaseIterable {
        case falseEnd = "a run ended that went on"
        case wrongAnswer = "a run completed with another text"
        case wrongEnd = "a run ended in another way"
        case eventAfterEnd = "an event after the end of a run"
        case noEnd = "a run without an end"
        case foreignMessage = "a message shown under another run"
        case deliveredTooSoon = "delivered without proof"
        case notDelivered = "not delivered, though the gateway has it"
        case sentTwice = "sent twice"
        case outOfOrder = "sent out of order"
    }

    struct Finding: Sendable, Hashable {
        let rule: Rule
        let sentence: String
    }

    private enum Ending: String {
        case completed, failed, aborted
    }

    private let recording: GatewayRecording
    private let account: ReplayAccount
    private var findings: [Finding] = []

    static func findings(_ recording: GatewayRecording, _ account: ReplayAccount) -> [Finding] {
        var judge = ReplayJudge(recording, account)
        judge.judgeRuns()
        judge.judgeMessages()
        judge.judgeEntries()
        judge.judgeSending()
        return judge.findings
    }

    private init(_ recording: GatewayRecording, _ account: ReplayAccount) {
        self.recording = recording
        self.account = account
    }

    private mutating func find(_ rule: Rule, _ sentence: String) {
        let finding = Finding(rule: rule, sentence: sentence)
        if !findings.contains(finding) { findings.append(finding) }
    }

    // MARK: What is so

    private var rows: [RecordedRow] { recording.rows }

    /// The recorded id of a run that Ladle names.
    private func recorded(_ run: String) -> String {
        guard let message = message(of: run) else { return run }
        return recording.messages[message].key
    }

    private func message(of run: String) -> Int? {
        let entry = String(run.prefix(36))
        return account.keys.indices.first { account.keys[$0]?.hasPrefix(entry) ?? false }
    }

    /// The messages that a recorded run worked on.
    private func messages(of id: String) -> [GatewayRecording.Message] {
        recording.messages.filter { message in
            message.key == id || recording.answers(to: message).contains { $0.id == id }
        }
    }

    private func userRows(of message: GatewayRecording.Message) -> [RecordedRow] {
        rows.filter {
            $0.session == message.session && $0.role == "user" && $0.appears <= account.end
                && $0.isOf(message, epoch: recording.epoch)
        }
    }

    /// The texts of the rows behind the message's own, each for itself and joined.
    private func answers(to message: GatewayRecording.Message) -> [String] {
        guard let order = recording.transcripts[message.session]?.order else { return [] }
        var answers: [String] = []
        var turn: [String] = []
        var isOwn = false
        for row in order.map({ rows[$0] }) where row.appears <= account.end {
            if row.role == "user" {
                isOwn = row.isOf(message, epoch: recording.epoch)
                turn = []
            } else if isOwn, row.role == "assistant", !row.text.isEmpty, row.stopReason != "error",
                row.stopReason != "aborted"
            {
                turn.append(row.text)
                answers.append(row.text)
                if turn.count > 1 { answers.append(turn.joined()) }
            }
        }
        return answers
    }

    /// The texts with which the run may have completed.
    private func texts(of id: String) -> [String] {
        let own = recording.runs[id]?.ends.compactMap { mark -> String? in
            if case .final(let text?) = mark.mark, mark.time <= account.end { text } else { nil }
        }
        let others = messages(of: id).flatMap { message in
            answers(to: message)
                + recording.answers(to: message).flatMap(\.ends).compactMap { mark -> String? in
                    if case .final(let text?) = mark.mark, mark.time <= account.end { text } else { nil }
                }
        }
        return (own ?? []) + others
    }

    private func bare(_ text: String) -> String { text.filter { !$0.isWhitespace } }

    private func isAmong(_ text: String, _ texts: [String]) -> Bool {
        let wanted = bare(text)
        return texts.contains { bare($0) == wanted }
    }

    /// How the run truly ended; nil where the recording does not show it.
    private func ending(of id: String) -> Ending? {
        let runs = messages(of: id).flatMap { recording.answers(to: $0) } + (recording.runs[id].map { [$0] } ?? [])
        let marks = runs.flatMap(\.marks).filter { $0.time <= account.end }
        let ends = marks.compactMap { mark -> Ending? in
            switch mark.mark {
            case .final(.some): .completed
            case .aborted: .aborted
            default: nil
            }
        }
        if ends.contains(.completed) { return .completed }
        if let end = ends.last { return end }
        if !messages(of: id).flatMap({ answers(to: $0) }).isEmpty, !wasInterrupted(id) {
            let stopped = messages(of: id).contains { message in
                let order = recording.transcripts[message.session]?.order.map { rows[$0] } ?? []
                guard
                    let start = order.lastIndex(where: { $0.isOf(message, epoch: recording.epoch) && $0.role == "user" }
                    )
                else {
                    return false
                }
                let turn = order[(start + 1)...].prefix { $0.role != "user" }
                return turn.contains { $0.role == "assistant" && $0.stopReason == "stop" && $0.appears <= account.end }
            }
            if stopped { return .completed }
        }
        let failed = marks.contains { if case .failed = $0.mark { true } else { false } }
        return failed || wasInterrupted(id) ? .failed : nil
    }

    /// Its process ended before it did, and no other took it up.
    private func wasInterrupted(_ id: String) -> Bool {
        guard let run = recording.runs[id], let last = run.marks.last(where: { $0.time <= account.end }) else {
            return false
        }
        guard last.process < recording.process(at: account.end) else { return false }
        switch last.mark {
        case .final(.some), .aborted, .failed: return false
        default: return true
        }
    }

    // MARK: Runs

    private mutating func judgeRuns() {
        var ended: [String: Int64] = [:]
        var late: Set<String> = []
        for event in account.events {
            guard let run = event.run, event.type.hasPrefix("run.") else { continue }
            if let end = ended[run], event.type != "run.corrected", late.insert(run).inserted {
                find(.eventAfterEnd, "\(event.type) of run \(name(run)) at \(event.time), which ended at \(end)")
            }
            guard event.type == "run.ended" || event.type == "run.corrected", let body = event.value["run"] else {
                continue
            }
            if event.type == "run.ended" { judgeTime(of: run, body, at: event.time) }
            ended[run] = event.time
        }
        var last: [String: JSONValue] = [:]
        for event in account.events where event.type == "run.ended" || event.type == "run.corrected" {
            if let run = event.run, let body = event.value["run"] { last[run] = body }
        }
        for (run, body) in last { judgeEnd(of: run, body) }
        guard account.isWhole else { return }
        for run in account.openRuns {
            let id = recorded(run)
            guard !isUnknown(run), ending(of: id) != nil else { continue }
            find(.noEnd, "run \(name(run)) is still open at the end, though it \(ending(of: id)?.rawValue ?? "")")
        }
    }

    private func isUnknown(_ run: String) -> Bool { message(of: run).map { account.unknown.contains($0) } ?? false }

    private mutating func judgeTime(of run: String, _ body: JSONValue, at time: Int64) {
        let id = recorded(run)
        let process = recording.process(at: time)
        var works = recording.runs[id].map { [$0] } ?? []
        for message in messages(of: id) { works += recording.answers(to: message) }
        for work in works {
            guard let mark = work.goesOn(after: time, process: process) else { continue }
            // An answer whose end stood already may be heard later.
            if works.contains(where: { $0.id != work.id && $0.ends.contains { $0.time <= time && isWhole($0) } }) {
                continue
            }
            let next = work.marks.first { $0.time > time }?.time ?? 0
            guard next <= account.end else { continue }
            find(
                .falseEnd,
                "run \(name(run)) ended \(body["state"]?.string ?? "") (\(body["error"]?.string ?? "")) at \(time), "
                    + "but \(describe(mark)) follows at \(next)"
            )
            return
        }
    }

    private func isWhole(_ mark: RecordedRun.TimedMark) -> Bool {
        if case .final(.some) = mark.mark { true } else { false }
    }

    private func describe(_ mark: RecordedRun.Mark) -> String {
        switch mark {
        case .began: "a start"
        case .worked: "work"
        case .final: "its answer"
        default: "more"
        }
    }

    private mutating func judgeEnd(of run: String, _ body: JSONValue) {
        guard !isUnknown(run) else { return }
        let id = recorded(run)
        let state = body["state"]?.string ?? ""
        let text = body["text"]?.string ?? ""
        let truth = ending(of: id)
        if state == "completed" {
            let texts = texts(of: id)
            if truth == .completed || truth == nil,
                isAmong(text, texts) || (texts.isEmpty && text.isEmpty && truth != nil)
            {
                return
            }
            if let truth, truth != .completed {
                find(.wrongEnd, "run \(name(run)) completed with \(quote(text)), but it \(truth.rawValue)")
            } else if !isAmong(text, texts) {
                find(
                    .wrongAnswer,
                    "run \(name(run)) completed with \(quote(text)) instead of \(quote(texts.last ?? ""))"
                )
            }
        } else if let truth, truth.rawValue != state {
            find(
                .wrongEnd,
                "run \(name(run)) \(state) (\(body["error"]?.string ?? "")), but it \(truth.rawValue)"
            )
        }
    }

    private func quote(_ text: String) -> String { text.count > 40 ? "“\(text.prefix(40))…”" : "“\(text)”" }

    private func name(_ run: String) -> String {
        message(of: run).map { "of “\(recording.messages[$0].text.prefix(24))”" } ?? run
    }

    // MARK: Messages

    private mutating func judgeMessages() {
        for event in account.events where event.type == "message" {
            guard let message = event.value["message"], let run = message["runId"]?.string else { continue }
            guard let text = message["text"]?.string, !text.isEmpty, !isUnknown(run) else { continue }
            let id = recorded(run)
            let owners = messages(of: id)
            switch message["role"]?.string {
            case "user":
                guard !owners.isEmpty else { continue }
                let isOwn = owners.contains { text == $0.text || text.contains($0.text) }
                if !isOwn { find(.foreignMessage, "\(quote(text)) as the message of run \(name(run))") }
            case "assistant":
                let own = texts(of: id) + stream(of: id) + failures(of: id)
                guard !own.isEmpty || !owners.isEmpty else { continue }
                let wanted = bare(text)
                if !own.contains(where: { bare($0).contains(wanted) }) {
                    find(.foreignMessage, "\(quote(text)) as an answer of run \(name(run))")
                }
            default: break
            }
        }
    }

    private func stream(of id: String) -> [String] {
        let runs = messages(of: id).flatMap { recording.answers(to: $0) } + (recording.runs[id].map { [$0] } ?? [])
        return runs.flatMap(\.texts).map(\.text)
    }

    private func failures(of id: String) -> [String] {
        let runs = messages(of: id).flatMap { recording.answers(to: $0) } + (recording.runs[id].map { [$0] } ?? [])
        let events = runs.flatMap(\.ends).compactMap { mark -> String? in
            switch mark.mark {
            case .failed(let text): text
            case .aborted(let text): text
            default: nil
            }
        }
        let behind = messages(of: id).flatMap { message -> [String] in
            let order = recording.transcripts[message.session]?.order.map { rows[$0] } ?? []
            guard let start = order.firstIndex(where: { $0.role == "user" && $0.isOf(message, epoch: recording.epoch) })
            else {
                return []
            }
            return order[(start + 1)...].filter {
                $0.role == "assistant" && ["error", "aborted"].contains($0.stopReason)
            }.map(\.text)
        }
        return events + behind
    }

    // MARK: Entries

    /// When the gateway showed that it has the message for good: its row, or an end of its run.
    private func proof(of message: GatewayRecording.Message) -> Int64? {
        let shown = userRows(of: message).map(\.appears).min()
        let ends = recording.answers(to: message).flatMap(\.ends).filter { mark in
            if case .final(nil) = mark.mark { false } else { mark.time <= account.end }
        }
        return [shown, ends.map(\.time).min()].compactMap(\.self).min()
    }

    private mutating func judgeEntries() {
        for (place, entry) in account.entries.enumerated() {
            guard let entry, !account.unknown.contains(place) else { continue }
            let message = recording.messages[place]
            let proof = proof(of: message)
            for event in account.events where event.type.hasPrefix("outbox") {
                guard let shown = event.value["entry"], shown["id"]?.string == entry.id,
                    shown["state"]?.string == "delivered"
                else { continue }
                if proof.map({ $0 > event.time }) ?? true {
                    let known = proof.map { "known only at \($0)" } ?? "never in the transcript"
                    find(.deliveredTooSoon, "“\(message.text.prefix(24))” delivered at \(event.time), \(known)")
                }
                break
            }
            guard account.isWhole else { continue }
            if proof != nil, entry.state != .delivered {
                find(
                    .notDelivered,
                    "“\(message.text.prefix(24))” \(entry.state.rawValue) (\(entry.fault.map { "\($0)" } ?? "")) at the end"
                )
            }
        }
    }

    // MARK: Sending

    private mutating func judgeSending() {
        for (place, message) in recording.messages.enumerated() {
            let sent = account.dispatches.filter { $0.message == place }
            for (earlier, later) in zip(sent, sent.dropFirst()) {
                if earlier.process == later.process, earlier.key != later.key, proof(of: message) != nil {
                    find(.sentTwice, "“\(message.text.prefix(24))” with another key at \(later.time)")
                }
                guard later.process != earlier.process else { continue }
                let had = userRows(of: message).filter {
                    $0.appears < later.time && $0.vanishes.map { later.time < $0 } ?? true
                }
                if !had.isEmpty {
                    find(.sentTwice, "“\(message.text.prefix(24))” again at \(later.time), though its row is there")
                }
            }
        }
        for session in Set(recording.messages.map(\.session)) {
            let first = account.dispatches.filter { recording.messages[$0.message].session == session }.map(\.message)
            var seen: [Int] = []
            for message in first where !seen.contains(message) {
                if let last = seen.last, last > message {
                    find(.outOfOrder, "“\(recording.messages[message].text)” after “\(recording.messages[last].text)”")
                }
                seen.append(message)
            }
        }
    }
}
