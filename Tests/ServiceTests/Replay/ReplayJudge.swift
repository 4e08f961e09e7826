import JSONBytes
import Outbox

/// Compares Ladle's reports with the final state of the recording. Independent of Ladle's own rules.
struct ReplayJudge {
    enum Rule: String, Sendable, CaseIterable {
        case falseEnd = "a run ended that went on"
        case wrongAnswer = "a run completed with another text"
        case wrongEnd = "a run ended in another way"
        case endedBeforeResumed = "a run ended before the gateway took it up again"
        case eventAfterEnd = "an event after the end of a run"
        case noEnd = "a run without an end"
        case foreignMessage = "a message shown under another run"
        case messageTwice = "a message published twice"
        case noMessage = "a completed run without its message"
        case deliveredTooSoon = "delivered without proof"
        case notDelivered = "not delivered, though the gateway has it"
        case sentTwice = "sent twice"
        case outOfOrder = "sent out of order"
        case contradiction = "entry, run and message contradict each other"
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
        judge.judgePublication()
        judge.judgeEntries()
        judge.judgeSending()
        judge.judgeStatements()
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

    /// The recorded id of a run named by Ladle.
    private func recorded(_ run: String) -> String {
        guard let message = message(of: run) else { return run }
        return recording.messages[message].key
    }

    private func message(of run: String) -> Int? {
        let entry = String(run.prefix(36))
        return account.keys.indices.first { account.keys[$0]?.hasPrefix(entry) ?? false }
    }

    private func userRows(of place: Int) -> [RecordedRow] {
        rows.filter { $0.appears <= account.end && isUserRow($0, of: place) }
    }

    private func isUserRow(_ row: RecordedRow, of place: Int) -> Bool {
        let message = recording.messages[place]
        guard row.session == message.session, row.role == "user", row.isOf(message, epoch: recording.epoch) else {
            return false
        }
        // Of equal messages, the one whose run began with the row.
        let equal = recording.messages.filter { $0.session == message.session && $0.text == message.text }
        return !equal.contains { began($0, with: row) } || began(message, with: row)
    }

    private func began(_ message: GatewayRecording.Message, with row: RecordedRow) -> Bool {
        recording.runs[message.key]?.starts.contains { abs($0 - row.timestamp) <= 100 } ?? false
    }

    /// The transcript of the message's session, in order.
    private func transcript(of place: Int) -> [RecordedRow] {
        (recording.transcripts[recording.messages[place].session]?.order ?? []).map { rows[$0] }
    }

    /// The assistant's rows behind the message's own.
    private func turn(of place: Int) -> [RecordedRow] {
        var turn: [RecordedRow] = []
        var isOwn = false
        for row in transcript(of: place) where row.appears <= account.end {
            if row.role == "user" { isOwn = isUserRow(row, of: place) }
            if isOwn, row.role == "assistant" { turn.append(row) }
        }
        return turn
    }

    /// The texts of the rows after the message's own, each alone and joined.
    private func answers(to place: Int) -> [String] {
        let texts = turn(of: place).filter {
            !$0.text.isEmpty && $0.stopReason != "error" && $0.stopReason != "aborted"
        }
        .flatMap { row in [row.text] + (row.id.flatMap { recording.wholeTexts[$0] }.map { [$0] } ?? []) }
        return texts.indices.flatMap { first in
            texts.indices[first...].map { texts[first...$0].joined() }
        }
    }

    /// The answers of the turn that a restarted gateway resumed, directly after the message's own.
    private func takenUpAnswers(of id: String) -> [String] {
        recording.messages(of: id).flatMap { place -> [String] in
            let rows = transcript(of: place).filter { $0.appears <= account.end }
            guard wasInterrupted(id), let own = rows.lastIndex(where: { isUserRow($0, of: place) }),
                let next = rows[(own + 1)...].firstIndex(where: { $0.role == "user" }),
                rows[next].text.contains(Self.interruption)
            else { return [] }
            return rows[(next + 1)...].prefix { $0.role != "user" }.filter { $0.role == "assistant" }.map(\.text)
        }
    }

    private static let interruption = "[System] Your previous turn was interrupted by a gateway restart"

    /// The run itself, and those that worked on the same message.
    private func works(of id: String) -> [RecordedRun] {
        let runs = recording.messages(of: id).flatMap { recording.answers(to: $0) }
        return runs.contains { $0.id == id } ? runs : runs + [recording.runs[id]].compactMap(\.self)
    }

    /// The texts with which the run may have completed.
    private func texts(of id: String) -> [String] {
        let finals = works(of: id).flatMap(\.ends).compactMap { mark -> String? in
            if case .final(let text?) = mark.mark, mark.time <= account.end { text } else { nil }
        }
        return finals + recording.messages(of: id).flatMap { answers(to: $0) }
    }

    private func bare(_ text: String) -> String { text.filter { !$0.isWhitespace } }

    /// Whether the text is the beginning of one of these, and told as that, or Ladle heard all that was streamed of an answer that the
    /// transcript leaves out. The recorder cut the middle of long texts.
    private func isBeginning(_ told: JSONValue, of texts: [String], run id: String) -> Bool {
        let beginning = bare(told["text"]?.string ?? "").prefix(200)
        let isLeftOut = !beginning.isEmpty && texts.contains { $0.hasPrefix("[chat.history omitted") }
        guard told["truncated"]?.bool == true || (isLeftOut && isHeardToItsEnd(id)) else { return false }
        return texts.contains { bare($0).hasPrefix(beginning) }
    }

    /// Whether the link was lost for the first time after the run's last event but that of the chat.
    private func isHeardToItsEnd(_ id: String) -> Bool {
        let marks = works(of: id).flatMap(\.marks)
        let end = marks.first { if case .lifecycleEnded = $0.mark { true } else { false } }
        guard let end, let start = marks.first else { return false }
        let link = account.events.first { $0.type == "link" && $0.time > start.time }
        return link.map { $0.time >= end.time && $0.value["link"]?["state"]?.string == "offline" } ?? false
    }

    private func isAmong(_ text: String, _ texts: [String]) -> Bool {
        let wanted = bare(text)
        return texts.contains { known in
            guard let cut = known.firstRange(of: Self.cut) else { return bare(known) == wanted }
            return wanted.hasPrefix(bare(String(known[..<cut.lowerBound])))
        }
    }

    /// The recorder replaced the middle of a long text, a different part in each frame.
    private static let cut = "…[cut"

    /// The true end of the run; nil if the recording does not show it.
    private func ending(of id: String) -> Ending? {
        let marks = works(of: id).flatMap(\.marks).filter { $0.time <= account.end }
        let ends = marks.compactMap { mark -> Ending? in
            switch mark.mark {
            case .final(.some): .completed
            case .aborted: .aborted
            default: nil
            }
        }
        if ends.contains(.completed) { return .completed }
        let answered = recording.messages(of: id).contains { place in
            // Of a stopped run the gateway writes the text so far as if it had ended, and the stop behind it.
            turn(of: place).last?.stopReason == "stop"
        }
        // A message that was stopped while it waited may run all the same, under an id of the gateway's own and without an end.
        if answered, recording.runs[id]?.ends.isEmpty == true { return .completed }
        if let end = ends.last { return end }
        if answered { return .completed }
        let failed = marks.contains { if case .failed = $0.mark { true } else { false } }
        return failed || wasInterrupted(id) ? .failed : nil
    }

    /// Whether the run's process ended before the run.
    private func wasInterrupted(_ id: String) -> Bool {
        guard let last = recording.runs[id]?.marks.last(where: { $0.time <= account.end }) else { return false }
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
            guard !isUnknown(run), let truth = ending(of: id) else { continue }
            find(.noEnd, "run \(name(run)) is still open at the end, though it \(truth.rawValue)")
        }
    }

    private func isUnknown(_ run: String) -> Bool { message(of: run).map { account.unknown.contains($0) } ?? false }

    private mutating func judgeTime(of run: String, _ body: JSONValue, at time: Int64) {
        let id = recorded(run)
        let works = works(of: id)
        // The whole answer may be known before the event that ends the run.
        if body["state"]?.string == "completed", isAmong(body["text"]?.string ?? "", texts(of: id)) { return }
        let process = recording.process(at: time)
        let own = recording.runs[id]?.marks.last { $0.time <= time }?.process ?? process
        for work in works {
            let isOwn = work.id == id
            guard let mark = work.goesOn(after: time, process: isOwn ? process : nil), mark.time <= account.end else {
                continue
            }
            // An answer whose end was written before may be reported later.
            if works.contains(where: { $0.id != work.id && $0.isAnswered(at: time) }) { continue }
            // The run that continues the message was already in progress.
            if !isOwn, work.marks.contains(where: { $0.time <= time }) { continue }
            find(
                isOwn || mark.process == own ? .falseEnd : .endedBeforeResumed,
                "run \(name(run)) ended \(body["state"]?.string ?? "") (\(body["error"]?.string ?? "")) at \(time), "
                    + "but \(describe(mark.mark)) follows at \(mark.time)"
            )
            return
        }
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
            if truth == .completed, isBeginning(body, of: texts + otherTexts(of: id), run: id) { return }
            // Resumed and answered while no client was connected.
            if truth == .failed, isAmong(text, takenUpAnswers(of: id)) { return }
            // Stopped, and run in full all the same while no client was connected.
            if truth == .aborted, isAmong(text, recording.messages(of: id).flatMap { answers(to: $0) }) { return }
            if let truth, truth != .completed {
                find(.wrongEnd, "run \(name(run)) completed with \(quote(text)), but it \(truth.rawValue)")
            } else if !isAmong(text, texts) {
                find(
                    .wrongAnswer,
                    "run \(name(run)) completed with \(quote(text)) instead of \(quote(texts.last ?? ""))"
                )
            }
        } else if let truth, truth.rawValue != state {
            // Interrupted, and resumed by another run.
            if state == "failed", wasInterrupted(id) { return }
            // The gateway's transcript does not show it either.
            let error = body["error"]?.string ?? ""
            if Self.unknownEnds.contains(where: { error.hasPrefix($0) }), !isEndShown(id) { return }
            find(.wrongEnd, "run \(name(run)) \(state) (\(body["error"]?.string ?? "")), but it \(truth.rawValue)")
        }
    }

    private static let unknownEnds = [
        "The gateway says that this run is over, and its history does not show",
        "The session was reset while Ladle was away",
    ]

    private func isEndShown(_ id: String) -> Bool {
        recording.messages(of: id).flatMap { turn(of: $0) }.contains { row in
            row.isThere(at: account.end) && ["stop", "aborted", "error"].contains(row.stopReason)
        }
    }

    private func quote(_ text: String) -> String {
        text.count > 40 ? "“\(text.prefix(40))…” (\(text.count))" : "“\(text)”"
    }

    private func name(_ run: String) -> String {
        message(of: run).map { "of “\(recording.messages[$0].text.prefix(24))”" } ?? run
    }

    // MARK: Messages

    private mutating func judgeMessages() {
        for event in account.events where event.type == "message" {
            guard let message = event.value["message"], let run = message["runId"]?.string else { continue }
            guard let text = message["text"]?.string, !text.isEmpty, !isUnknown(run) else { continue }
            let id = recorded(run)
            let owners = recording.messages(of: id).map { recording.messages[$0] }
            switch message["role"]?.string {
            case "user":
                guard !owners.isEmpty else { continue }
                let isOwn = owners.contains { text == $0.text || text.contains($0.text) }
                if !isOwn { find(.foreignMessage, "\(quote(text)) as the message of run \(name(run))") }
            case "assistant":
                let own = texts(of: id) + otherTexts(of: id) + takenUpAnswers(of: id)
                guard !own.isEmpty || !owners.isEmpty else { continue }
                let wanted = bare(text)
                let isOwn = own.contains { bare($0).contains(wanted) } || isAmong(text, own)
                if !isOwn, !isBeginning(message, of: own, run: id) {
                    find(.foreignMessage, "\(quote(text)) as an answer of run \(name(run))")
                }
            default: break
            }
        }
    }

    /// Each message is published once in each state, one of ours that was sent once with each run that answers it, and each answer is.
    private mutating func judgePublication() {
        let events = account.events.filter { $0.type == "message" }.compactMap { $0.value["message"] }
        var seen: Set<String> = []
        for message in events {
            var state = "\(message["id"]?.string ?? "") \(message["state"]?.string ?? "")"
            let isOurs = account.entries.contains { $0?.id == message["id"]?.string }
            if isOurs, message["state"]?.string == "sent", let run = message["runId"]?.string { state += " \(run)" }
            if !seen.insert(state).inserted {
                find(.messageTwice, "\(quote(message["text"]?.string ?? "")) \(message["state"]?.string ?? "")")
            }
        }
        guard account.isWhole else { return }
        let answers = events.filter { $0["role"]?.string == "assistant" }.map { bare($0["text"]?.string ?? "") }
        for event in account.events where event.type == "run.ended" {
            guard let run = event.value["run"], run["state"]?.string == "completed", let id = event.run,
                !isUnknown(id), let text = run["text"]?.string, !text.isEmpty
            else { continue }
            let wanted = bare(text)
            // The recorder cut the middle of long texts, and the gateway their ends.
            let isPublished = answers.contains { answer in
                !answer.isEmpty && (wanted.contains(answer.prefix(200)) || answer.contains(wanted.prefix(200)))
            }
            if !isPublished {
                find(.noMessage, "run \(name(id)) completed with \(quote(text))")
            }
        }
    }

    /// Further texts that may be shown for a run: its partial text, and its failure.
    private func otherTexts(of id: String) -> [String] {
        let works = works(of: id)
        let ends = works.flatMap(\.ends).compactMap { mark -> String? in
            switch mark.mark {
            case .failed(let text): text
            case .aborted(let text): text
            default: nil
            }
        }
        let rows = recording.messages(of: id).flatMap { turn(of: $0) }.flatMap { row in
            [row.text] + (row.id.flatMap { recording.wholeTexts[$0] }.map { [$0] } ?? [])
        }
        return works.flatMap(\.texts).map(\.text) + ends + rows
    }

    // MARK: Entries

    /// The time at which the gateway showed that it has the message for good: its row, or an end of its run.
    private func proof(of place: Int) -> Int64? {
        let shown = userRows(of: place).map(\.appears).min()
        let ends = recording.answers(to: place).flatMap(\.ends).filter { mark in
            switch mark.mark {
            case .final(nil): false
            // It keeps nothing of the message and does not run it.
            case .failed(let words) where words.contains("Gateway is draining for restart"): false
            default: mark.time <= account.end
            }
        }
        return [shown, ends.map(\.time).min(), lostAtWork(place)].compactMap(\.self).min()
    }

    /// Rows of March have no keys, so nobody can say which of equal messages one is. But no more of them are delivered than the gateway has
    /// shown. The time at which it had shown as many as Ladle tells with this one.
    private func proof(among place: Int, toldAt time: Int64) -> Int64? {
        let message = recording.messages[place]
        let equal = recording.messages.indices.filter {
            recording.messages[$0].session == message.session && recording.messages[$0].text == message.text
        }
        let ids = equal.compactMap { account.entries.indices.contains($0) ? account.entries[$0]?.id : nil }
        let told = account.events.filter { event in
            guard event.type.hasPrefix("outbox"), event.time <= time, let shown = event.value["entry"] else {
                return false
            }
            return shown["state"]?.string == "delivered" && shown["id"]?.string.map(ids.contains) == true
        }
        let count = Set(told.compactMap { $0.value["entry"]?["id"]?.string }).count
        let proofs = equal.compactMap { proof(of: $0) }.sorted()
        return proofs.count >= count && count > 0 ? proofs[count - 1] : nil
    }

    /// The time at which a reset of the session ended the message's run, which was at work, without a word. Its row is gone
    /// with its conversation.
    private func lostAtWork(_ place: Int) -> Int64? {
        let message = recording.messages[place]
        guard let marks = recording.runs[message.key]?.marks, let first = marks.first else { return nil }
        let reset = recording.calls.first {
            $0.method == "sessions.reset" && $0.isOK && $0.session == message.session && $0.answered > first.time
        }
        guard let reset, marks.allSatisfy({ $0.time <= reset.answered }) else { return nil }
        return reset.answered
    }

    /// Whether the gateway accepted the message and failed before a run began: it may be sent again as a new one, or
    /// held.
    private func isRefused(_ place: Int) -> Bool {
        guard let marks = recording.runs[recording.messages[place].key]?.marks, !marks.isEmpty else { return false }
        return marks.allSatisfy { mark in
            if case .failed = mark.mark { true } else { false }
        }
    }

    private mutating func judgeEntries() {
        for (place, entry) in account.entries.enumerated() {
            guard let entry, !account.unknown.contains(place) else { continue }
            let message = recording.messages[place]
            let own = proof(of: place)
            for event in account.events where event.type.hasPrefix("outbox") {
                guard let shown = event.value["entry"], shown["id"]?.string == entry.id,
                    shown["state"]?.string == "delivered"
                else { continue }
                let proof = recording.release == .v3 ? proof(among: place, toldAt: event.time) : own
                if proof.map({ $0 > event.time }) ?? true {
                    let known = proof.map { "known only at \($0)" } ?? "never in the transcript"
                    find(.deliveredTooSoon, "“\(message.text.prefix(24))” delivered at \(event.time), \(known)")
                }
                break
            }
            guard account.isWhole else { continue }
            // A command leaves no row, and a reset removes rows: the end of its run may have been missed.
            let isShown = userRows(of: place).contains { $0.isThere(at: account.end) }
            let isMissed = [.accepted, .unconfirmed].contains(entry.state) && !isShown
            if own != nil, entry.state != .delivered, !isMissed, !isRefused(place) {
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
                let isAnother = earlier.process == later.process && earlier.key != later.key
                if isAnother, proof(of: place) != nil, !isRefused(place) {
                    find(.sentTwice, "“\(message.text.prefix(24))” with another key at \(later.time)")
                }
                guard later.process != earlier.process else { continue }
                let had = userRows(of: place).filter {
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

    // MARK: Statements

    /// Entry, run and message of one turn are views of one verdict, so the last words of the streams on them agree.
    private mutating func judgeStatements() {
        guard account.isWhole else { return }
        var entries: [String: JSONValue] = [:]
        var runs: [String: String] = [:]
        var messages: [String: String] = [:]
        for event in account.events {
            if let entry = event.value["entry"], let id = entry["id"]?.string { entries[id] = entry }
            if let run = event.value["run"], let id = run["id"]?.string { runs[id] = run["state"]?.string }
            if let message = event.value["message"], let id = message["id"]?.string, message["role"]?.string == "user" {
                messages[id] = message["state"]?.string
            }
        }
        for (id, entry) in entries where entry["kind"]?.string == "message" {
            let state = entry["state"]?.string ?? ""
            let run = runs[entry["runId"]?.string ?? id] ?? ""
            let message = messages[id] ?? ""
            if !Self.agree(state, run: run, message: message) {
                find(.contradiction, "entry \(state), run \(run), message \(message)")
            }
        }
    }

    private static func agree(_ entry: String, run: String, message: String) -> Bool {
        let runs: Set<String>
        let messages: Set<String>
        switch entry {
        case "delivered": (runs, messages) = (["running", "completed", "failed", "aborted"], ["sent"])
        case "failed", "expired": (runs, messages) = (["failed", "aborted"], ["failed"])
        // Its message is shown no more, without an event of its own.
        case "cancelled": (runs, messages) = (["failed", "aborted"], ["sending", "failed"])
        case "accepted", "unconfirmed": (runs, messages) = (["queued", "running", "failed", "aborted"], ["sending"])
        default: (runs, messages) = (["queued", "running", "failed"], ["sending"])
        }
        return (run.isEmpty || runs.contains(run)) && (message.isEmpty || messages.contains(message))
    }
}
