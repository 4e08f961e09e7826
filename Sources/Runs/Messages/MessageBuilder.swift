import Basics
import Gateway
import Labels

/// Makes messages of transcript rows, turn by turn.
struct MessageBuilder {
    private let session: SessionKey
    private let tracker: RunTracker
    private let entries: [String: String]
    private(set) var messages: [ChatMessage] = []
    private var lastTime: Timestamp
    private var ids: Set<String> = []
    private var keys: Set<String> = []

    init(session: SessionKey, tracker: RunTracker, entries: [String: String], now: Timestamp) {
        self.session = session
        self.tracker = tracker
        self.entries = entries
        lastTime = now
    }

    /// - Parameter owner: the run that the turn belongs to, where it is known.
    mutating func add(_ turn: HistoryTurn, of owner: String?) {
        if let key = turn.key, tracker.isHidden(key) { return }
        let runID = owner ?? turn.key
        var hidesAnswers = false
        if let user = turn.user {
            hidesAnswers = Housekeeping.hidesAnswer(user.text)
            addUser(user, runID: runID)
        }
        guard !hidesAnswers else { return }
        var reducer = RunReducer(
            id: runID ?? "history",
            session: session,
            labels: tracker.labels,
            now: turn.time ?? lastTime
        )
        var owners: [(message: Int, steps: Range<Int>)] = []
        var seen = 0
        for row in turn.rows {
            reducer.take([row])
            guard row.role == .assistant || row.role == .system, let message = answer(row, runID: runID) else {
                continue
            }
            if message.state == .failed, let last = messages.last, last.state == .failed, last.runID == message.runID,
                runID != nil
            {
                // Each try leaves a row of its own.
                messages[messages.count - 1] = message
            } else {
                append(message)
            }
            if row.role == .assistant {
                owners.append((messages.count - 1, seen..<reducer.steps.count))
                seen = reducer.steps.count
            }
        }
        if seen < reducer.steps.count, let last = owners.popLast() {
            owners.append((last.message, last.steps.lowerBound..<reducer.steps.count))
        }
        attach(owners, reducer, runID: runID)
    }

    /// Steps as a known run has them: events measure times better than rows.
    private mutating func attach(_ owners: [(message: Int, steps: Range<Int>)], _ reducer: RunReducer, runID: String?) {
        let known = runID.flatMap { tracker.run($0) }
        for (place, range) in owners where !range.isEmpty {
            let own = reducer.steps.steps(in: range, of: known?.state ?? .completed, end: known?.endedAt)
            messages[place].steps += own.map { step in
                known?.steps.first { $0.toolCallID != nil && $0.toolCallID == step.toolCallID } ?? step
            }
        }
    }

    private mutating func addUser(_ row: HistoryRow, runID: String?) {
        let text = row.words
        if Housekeeping.isPrompt(text) || row.isInternalPrompt { return }
        if let key = row.runKey, !keys.insert(key).inserted { return }
        let id = row.runKey.flatMap { entries[$0] }
        append(
            ChatMessage(
                id: id ?? stableID(row),
                role: .user,
                text: text.trimmingBlanks().isEmpty ? "" : text.cut(toBytes: ActivityLimits.runTextBytes),
                at: time(row),
                runID: runID,
                attachments: attachments(row)
            )
        )
    }

    private mutating func answer(_ row: HistoryRow, runID: String?) -> ChatMessage? {
        let id = row.runKey ?? runID
        var message = ChatMessage(id: stableID(row), role: .assistant, text: "", at: time(row), runID: id)
        message.text = ReplyText.clean(row.text).trimmingBlanks().cut(toBytes: ActivityLimits.runTextBytes)
        message.attachments = attachments(row)
        if row.role == .system {
            message.role = .system
            message.runID = nil
            return message.isEmpty ? nil : message
        }
        if row.stopReason == .error || (row.errorMessage != nil && row.stopReason != .aborted) {
            let known = row.errorMessage ?? id.flatMap { tracker.run($0)?.error }
            let error = known ?? (message.text.isEmpty ? "The model stopped with an error." : message.text)
            if row.errorMessage == nil { message.text = "" }
            message.error = SecretMask.text(error).cut(to: ActivityLimits.errorCharacters)
            message.state = .failed
            return message
        }
        if Housekeeping.isAnswer(message.text) { return nil }
        return message.isEmpty ? nil : message
    }

    private func attachments(_ row: HistoryRow) -> [MessageAttachment] {
        var found = row.blocks.compactMap { block in
            if case .attachment(let attachment) = block { MessageAttachment(attachment) } else { nil }
        }
        if found.isEmpty { found = row.mediaFiles.map { MessageAttachment(path: $0.path, type: $0.mimeType) } }
        return Array(found.prefix(ActivityLimits.attachmentsPerMessage))
    }

    private mutating func append(_ message: ChatMessage) {
        if !message.isEmpty { messages.append(message) }
    }

    /// A row without a time stands where the one before it stood.
    private mutating func time(_ row: HistoryRow) -> Timestamp {
        if let time = row.time { lastTime = time }
        return lastTime
    }

    /// The transcript's id, else one made of what does not change; equal rows are counted.
    private mutating func stableID(_ row: HistoryRow) -> String {
        let base = row.id ?? "h-" + FNV1a.name(row.identity.utf8)
        var id = base
        var count = 1
        while !ids.insert(id).inserted {
            count += 1
            id = "\(base)-\(count)"
        }
        return id
    }
}
