import Basics
import Gateway
import Labels

/// Makes messages from transcript rows, turn by turn.
struct MessageBuilder {
    private let session: SessionKey
    private let tracker: RunTracker
    /// The runs that messages have on the stream, by message.
    private let told: [String: String]
    private var messages: [ChatMessage] = []
    /// The run or turn of each message.
    private var owners: [String] = []
    private var turns = 0
    private var lastTime: Timestamp
    private var ids: Set<String> = []
    /// The users' messages so far, by key. A run that is tried again repeats its user's row.
    private var asked: Set<String> = []

    init(session: SessionKey, tracker: RunTracker, told: [String: String] = [:], now: Timestamp) {
        self.session = session
        self.tracker = tracker
        self.told = told
        lastTime = now
    }

    /// - Parameters:
    ///   - run: the turn's run; nil if it is not known.
    ///   - sent: our message in the turn's user's row; nil if somebody else sent it.
    mutating func add(_ turn: TranscriptTurn, run: String?, sent: SentMessage?) {
        turns += 1
        if let key = turn.key, tracker.isHidden(key) { return }
        let runID = run ?? (sent?.hasRun == false ? nil : turn.key ?? sent?.keys.first)
        let owner = runID ?? "turn \(turns)"
        if let user = turn.user { addUser(user, owner, runID: runID, sent) }
        // A message that Ladle sent is always shown, and so is its answer, even if they look like housekeeping.
        let isOurs = sent?.isKept ?? false
        guard isOurs || !(turn.user.map { Housekeeping.hidesAnswer($0.words) } ?? false) else { return }
        var reducer = RunReducer(
            id: runID ?? "history",
            session: session,
            labels: tracker.labels,
            now: turn.time ?? lastTime
        )
        var stepOwners: [(message: Int, steps: Range<Int>)] = []
        var seen = 0
        let lastText = turn.rows.lastIndex { $0.role == .assistant && !$0.text.isEmpty && !turn.isNote($0) }
        for (place, row) in turn.rows.enumerated() {
            if turn.isNote(row) {
                let note = answer(row, runID: nil, isLastText: false, turn, isOurs: isOurs)
                if let note { append(note, "note \(messages.count)") }
                continue
            }
            reducer.take([row])
            guard row.role == .assistant || row.role == .system,
                let message = answer(row, runID: runID, isLastText: place == lastText, turn, isOurs: isOurs)
            else { continue }
            append(message, owner)
            if row.role == .assistant {
                stepOwners.append((messages.count - 1, seen..<reducer.steps.count))
                seen = reducer.steps.count
            }
        }
        if seen < reducer.steps.count, let last = stepOwners.popLast() {
            stepOwners.append((last.message, last.steps.lowerBound..<reducer.steps.count))
        }
        attach(stepOwners, reducer, runID: runID)
    }

    /// All messages, without failed tries that another answer of the same run followed.
    func finished() -> [ChatMessage] {
        var kept: [ChatMessage] = []
        var keptOwners: [String] = []
        for (message, owner) in zip(messages, owners) {
            if message.role == .assistant,
                let failed = kept.indices.last(where: { kept[$0].state == .failed && keptOwners[$0] == owner })
            {
                var message = message
                message.steps = kept[failed].steps + message.steps
                kept.remove(at: failed)
                keptOwners.remove(at: failed)
                kept.append(message)
            } else {
                kept.append(message)
            }
            keptOwners.append(owner)
        }
        // Each try may have left the same notice.
        return zip(kept, keptOwners).enumerated().compactMap { place, item in
            let next = place + 1
            let isRepeated =
                item.0.role == .system && next < kept.count && kept[next].role == .system
                && kept[next].text == item.0.text && keptOwners[next] == item.1
            return isRepeated ? nil : item.0
        }
    }

    /// Adds steps to their messages. Steps of a known run are preferred, because events measure times better than rows.
    private mutating func attach(_ owners: [(message: Int, steps: Range<Int>)], _ reducer: RunReducer, runID: String?) {
        let known = runID.flatMap { tracker.run($0) }
        for (place, range) in owners where !range.isEmpty {
            let own = reducer.steps.steps(in: range, of: known?.state ?? .completed, end: known?.endedAt)
            messages[place].steps += own.map { step in
                known?.steps.first { $0.toolCallID != nil && $0.toolCallID == step.toolCallID } ?? step
            }
        }
    }

    private mutating func addUser(_ row: TranscriptRow, _ owner: String, runID: String?, _ sent: SentMessage?) {
        let words = row.words
        if sent?.isKept != true, Housekeeping.isPrompt(words) || row.isInternalPrompt { return }
        if let name = sent?.id ?? row.runKey, !asked.insert(name).inserted { return }
        let shown = row.cutText.map { InboundEnvelope.stripped($0) }
        // The gateway may have changed blanks and line feeds.
        let text = sent?.text ?? shown ?? words
        let own = sent?.attachments ?? []
        append(
            ChatMessage(
                id: sent?.id ?? stableID(row),
                role: .user,
                text: text.trimmingBlanks().isEmpty ? "" : text.cut(toBytes: ActivityLimits.runTextBytes),
                isTruncated: shown != nil && sent?.text == nil,
                at: time(row),
                state: sent?.isToBeSent == true ? .sending : sent?.failure == nil ? .sent : .failed,
                runID: sent?.answeredBy ?? told[row.messageID] ?? runID,
                attachments: own.isEmpty ? attachments(row) : own,
                error: sent?.failure
            ),
            owner
        )
    }

    private mutating func answer(
        _ row: TranscriptRow,
        runID: String?,
        isLastText: Bool,
        _ turn: TranscriptTurn,
        isOurs: Bool
    ) -> ChatMessage? {
        let id = row.runKey ?? told[row.messageID] ?? runID
        var message = ChatMessage(id: stableID(row), role: .assistant, text: "", at: time(row), runID: id)
        let whole = row.cutText.map { wholeText($0, of: id, isLastText: isLastText) }
        message.isTruncated = whole?.isTruncated ?? false
        message.text = ReplyText.clean(whole?.text ?? row.text).trimmingBlanks()
            .cut(toBytes: ActivityLimits.runTextBytes)
        message.attachments = attachments(row)
        if row.role == .system {
            message.role = .system
            message.runID = nil
            return message.isEmpty ? nil : message
        }
        if row.stopReason == .error || (row.errorMessage != nil && row.stopReason != .aborted) {
            let known = row.errorMessage ?? id.flatMap { tracker.run($0)?.error }
            let error = known ?? (message.text.isEmpty ? "The model stopped with an error." : message.text)
            if row.errorMessage == nil || row.errorMessage == row.text || !row.hasModelsWords { message.text = "" }
            message.error = SecretMask.text(error).cut(to: ActivityLimits.errorCharacters)
            message.state = .failed
            return message
        }
        let isSilent =
            isOurs
            ? SilentReply.matches(ArraySlice(message.text.utf8.prefix(257)))
            : Housekeeping.isAnswer(message.text) || (turn.user == nil && Housekeeping.isFileAnswer(message.text))
        return isSilent || message.isEmpty ? nil : message
    }

    /// The whole text of a row that the gateway cut. The events of a run that Ladle followed had the whole text.
    private func wholeText(_ shown: String, of run: String?, isLastText: Bool) -> (text: String, isTruncated: Bool) {
        guard isLastText, let known = run.flatMap({ tracker.run($0) }), known.text.utf8.count > shown.utf8.count else {
            return (shown, true)
        }
        let text = known.text
        let beginning = String(ReplyText.clean(shown).trimmingBlanks().prefix(Self.compared))
        guard !beginning.isEmpty else { return (text, known.isTruncated) }
        guard let start = text.rangeOfText(beginning)?.lowerBound else { return (shown, true) }
        return (String(text[start...]), known.isTruncated)
    }

    /// Two long texts with this many equal characters at the beginning are the same.
    private static let compared = 1_000

    private func attachments(_ row: TranscriptRow) -> [MessageAttachment] {
        var found = row.blocks.compactMap { block in
            if case .attachment(let attachment) = block { MessageAttachment(attachment) } else { nil }
        }
        if found.isEmpty { found = row.mediaFiles.map { MessageAttachment(path: $0.path, type: $0.mimeType) } }
        return Array(found.prefix(ActivityLimits.attachmentsPerMessage))
    }

    private mutating func append(_ message: ChatMessage, _ owner: String) {
        guard !message.isEmpty else { return }
        messages.append(message)
        owners.append(owner)
    }

    /// The row's time. A row without one gets the time of the row before.
    private mutating func time(_ row: TranscriptRow) -> Timestamp {
        if let time = row.time { lastTime = time }
        return lastTime
    }

    /// The row's id in the transcript, else one made from its content. Equal rows are numbered.
    private mutating func stableID(_ row: TranscriptRow) -> String {
        let base = row.messageID
        var id = base
        var count = 1
        while !ids.insert(id).inserted {
            count += 1
            id = "\(base)-\(count)"
        }
        return id
    }
}
