import Basics
import JSONBytes
import Labels

/// What the transcript adds to a run: thoughts, calls, results, usage, errors; and its text, where nothing else told it.
extension RunReducer {
    /// Rows of this run's turn, without the user's.
    mutating func history(_ rows: [HistoryRow]) {
        for row in rows {
            switch row.role {
            case .assistant: assistantRow(row)
            case .toolResult:
                toolRow(id: row.toolCallID, name: row.toolName, value: row.value, time: row.time)
            case .user, .system, .other: break
            }
        }
        for row in rows where row.role == .assistant && !row.text.isEmpty && row.stopReason != "error" {
            let text = Self.limited(Array(ReplyText.clean(row.text).utf8))
            if let known = rowTexts.firstIndex(where: { $0.row == row.identity }) {
                rowTexts[known].text = text
            } else if rowTexts.last?.text != text, rowTexts.count < ActivityLimits.historyRows {
                rowTexts.append((row.identity, text))
            }
        }
    }

    private mutating func assistantRow(_ row: HistoryRow) {
        let time = row.time ?? startedAt ?? createdAt
        if usageByRow.count < ActivityLimits.historyRows, let usage = RunUsage(row.value["usage"]) {
            usageByRow[row.identity] = usage
        }
        for (number, block) in row.blocks.enumerated() {
            switch block {
            case .thinking(let text, let summary, let signature):
                thoughtRow(text, summary: summary, signature: signature, number: number, time: time)
            case .toolCall(let id, let name, let arguments):
                guard let place = toolPlace(id: id, name: name, opens: true, at: time) else { continue }
                records[place].rows.started(time)
                if let arguments { learn(name, arguments, place) }
            case .toolResult(let id, let value):
                toolRow(id: id, name: value["name"]?.string ?? value["toolName"]?.string, value: value, time: row.time)
            case .text, .attachment: break
            }
        }
    }

    private mutating func toolRow(id: String?, name: String?, value: JSONValue, time: Timestamp?) {
        guard let id else { return }
        let seen = time ?? startedAt ?? createdAt
        guard let place = toolPlace(id: id, name: name ?? "tool", opens: true, at: seen) else { return }
        if let time { records[place].rows.ended(time) }
        let outcome = ToolOutcome(isError: (value["isError"] ?? value["is_error"])?.bool ?? false, result: value)
        take(outcome, value, place, at: seen)
    }

    /// Told once: by the signature's id, else by the message's time, the block's place and the words.
    private mutating func thoughtRow(_ text: String, summary: String?, signature: String?, number: Int, time: Timestamp)
    {
        guard let line = ThinkingLabel.text(of: summary ?? text) else { return }
        let key = signature ?? Self.thoughtKey(line, time: time, number: number)
        let words = Self.words(text)
        let isLive = thoughts.contains { Self.words(String(decoding: $0.text.open, as: UTF8.self)) == words }
        guard !isLive, thoughtKeys.count < ActivityLimits.historyRows, thoughtKeys.insert(key).inserted else { return }
        let label = ActivityLabel(line, .thinking)
        guard let place = place("thinking:\(key)", kind: .thinking, at: time, label: { label }) else { return }
        records[place].label.active = line
        records[place].label.detail = SecretMask.text(text.trimmingBlanks().cut(to: ActivityLimits.thinkingCharacters))
        records[place].rows.started(time)
    }

    static func thoughtKey(_ line: String, time: Timestamp, number: Int) -> String {
        "\(time.milliseconds):\(number):\(Fingerprint.of(line.utf8).prefix(12))"
    }

    /// The words alone: streamed reasoning has marks that the transcript's has not.
    static func words(_ text: String) -> String {
        var words = text.lowercased().filter { $0.isLetter || $0.isNumber }.prefix(200)
        if words.hasPrefix("reasoning") { words = words.dropFirst(9) }
        return String(words.prefix(180))
    }

    /// The text so far that a page names for this run.
    mutating func snapshot(_ text: String) {
        guard !text.isEmpty else { return }
        snapshot = Self.limited(Array(text.utf8))
    }

    /// A transcript that shows the turn's end closes a run whose own end was missed.
    mutating func close(_ rows: [HistoryRow]) {
        guard let last = rows.last(where: { $0.role == .assistant }), isActive else { return }
        if let time = last.time { lastEvent = max(lastEvent, time) }
        switch last.stopReason {
        case "stop", "length", "end_turn", "max_tokens": evidence.settled(.completed, error: nil)
        case "error": evidence.settled(.failed, error: last.errorMessage)
        case "aborted": evidence.settled(.aborted, error: nil)
        default: if last.isAbortNote { evidence.settled(.aborted, error: nil) }
        }
    }

    // MARK: gateways that keep things for their history

    /// Once, when it has just ended: thoughts and what commands came to are only in the transcript.
    mutating func holdEnd(until time: Timestamp) -> Bool {
        guard !wasHeld, !hasEnded, !evidence.state.isActive else { return false }
        wasHeld = true
        heldUntil = time
        return true
    }

    /// True when time alone ends it, or the wait for a page.
    mutating func settle(now: Timestamp) -> Bool {
        guard let held = heldUntil else { return evidence.settle(now: now) }
        guard now >= held else { return false }
        heldUntil = nil
        return true
    }

    /// A page has shown its turn.
    mutating func sawRows() {
        hasGap = false
        heldUntil = nil
        needsRows = isActive && records.contains { $0.awaitsRow && $0.outcome == nil }
    }
}
