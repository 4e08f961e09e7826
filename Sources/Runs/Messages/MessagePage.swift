package import Basics
package import JSONBytes
import Labels

/// The messages of a history page: rows of tools become steps, housekeeping and doubles are gone.
package struct MessagePage: Sendable {
    package private(set) var messages: [ChatMessage] = []
    /// Rows the gateway sent; fewer than asked for means that nothing older is there.
    package private(set) var rowCount = 0
    /// The last turn may still go on.
    private var isOpen = false

    /// Without the answer that is still being given.
    package var settled: ArraySlice<ChatMessage> {
        guard isOpen else { return messages[...] }
        let end = messages.lastIndex { $0.role == .user }.map { $0 + 1 } ?? 0
        return messages[..<end]
    }

    /// `entries` maps idempotency keys to ids of our own: a message sent through us keeps its entry's id.
    package init(
        history payload: JSONValue,
        session: SessionKey,
        book: RunTracker,
        entries: [String: String] = [:],
        now: Timestamp
    ) {
        let rows = HistoryRow.rows(payload["messages"])
        rowCount = payload["messages"]?.count ?? 0
        let last = rows.last { $0.role != .system && $0.role != .other }
        isOpen =
            payload["inFlightRun"].map { !$0.isNull } ?? payload["sessionInfo"]?["hasActiveRun"]?.bool
            ?? (last?.role != .assistant || last?.stopReason == "toolUse")
        var builder = MessageBuilder(session: session, book: book, entries: entries, now: now)
        for turn in HistoryTurn.split(Self.withoutAbortDoubles(rows)) { builder.add(turn) }
        messages = builder.messages
    }

    /// The one message of a `session.message` event; nil when it is none that people see.
    package static func message(
        event payload: JSONValue,
        session: SessionKey,
        book: RunTracker,
        entries: [String: String] = [:],
        now: Timestamp
    ) -> ChatMessage? {
        guard let row = payload["message"].flatMap({ HistoryRow($0) }) else { return nil }
        var builder = MessageBuilder(session: session, book: book, entries: entries, now: now)
        for turn in HistoryTurn.split([row]) { builder.add(turn) }
        return builder.messages.last
    }

    /// After an abort the partial answer stands in the transcript twice: as the gateway's note, which may even come before
    /// the user's row, and as the model's own row.
    private static func withoutAbortDoubles(_ rows: [HistoryRow]) -> [HistoryRow] {
        var kept: [HistoryRow] = []
        var displaced: [HistoryRow] = []
        for (place, row) in rows.enumerated() {
            if row.isAbortNote {
                let text = row.text.trimmingBlanks()
                let double = rows.firstIndex { other in
                    guard !other.isAbortNote, other.role == .assistant, other.stopReason == "aborted" else {
                        return false
                    }
                    let own = other.text.trimmingBlanks()
                    return own == text || (!own.isEmpty && text.hasPrefix(own))
                        || (!text.isEmpty && own.hasPrefix(text))
                }
                if double != nil { continue }
                if let next = rows[(place + 1)...].first, next.role == .user, let said = next.time,
                    let noted = row.time, said < noted
                {
                    displaced.append(row)
                    continue
                }
            }
            kept.append(row)
            if row.role == .user, !displaced.isEmpty {
                kept += displaced
                displaced.removeAll()
            }
        }
        return kept + displaced
    }
}

/// Builds messages turn by turn.
struct MessageBuilder {
    let session: SessionKey
    let book: RunTracker
    let entries: [String: String]
    private(set) var messages: [ChatMessage] = []
    private var lastTime: Timestamp
    private var ids: Set<String> = []
    private var keys: Set<String> = []

    init(session: SessionKey, book: RunTracker, entries: [String: String], now: Timestamp) {
        self.session = session
        self.book = book
        self.entries = entries
        lastTime = now
    }

    mutating func add(_ turn: HistoryTurn) {
        if let key = turn.key, book.isHidden(key) { return }
        let runID = book.run(of: turn, session: session) ?? turn.key
        var hidesAnswers = false
        if let user = turn.user {
            hidesAnswers = Housekeeping.hidesAnswer(user.text)
            addUser(user, runID: runID)
        }
        guard !hidesAnswers else { return }
        var reducer = RunReducer(
            id: runID ?? "history",
            session: session,
            labels: book.labels,
            now: turn.time ?? lastTime
        )
        var owners: [(message: Int, records: Range<Int>)] = []
        var told = 0
        for row in turn.rows {
            reducer.history([row])
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
                owners.append((messages.count - 1, told..<reducer.records.count))
                told = reducer.records.count
            }
        }
        if told < reducer.records.count, let last = owners.popLast() {
            owners.append((last.message, last.records.lowerBound..<reducer.records.count))
        }
        attach(owners, reducer, runID: runID)
    }

    /// Steps as the run knows them, where it is known: events measure better than rows.
    private mutating func attach(_ owners: [(message: Int, records: Range<Int>)], _ reducer: RunReducer, runID: String?)
    {
        let known = runID.flatMap { book.run($0) }
        for (place, records) in owners where !records.isEmpty {
            messages[place].steps += reducer.records[records].map { record in
                let own = record.step(runID: reducer.id, run: known?.state ?? .completed, end: known?.endedAt)
                return known?.steps.first { $0.toolCallID != nil && $0.toolCallID == own.toolCallID } ?? own
            }
        }
    }

    private mutating func addUser(_ row: HistoryRow, runID: String?) {
        let text = row.words
        if Housekeeping.isPrompt(text) || isInternal(row) { return }
        if let key = row.key, !keys.insert(key).inserted { return }
        let id = row.key.flatMap { entries[$0] }
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

    /// Prompts between sessions and from the gateway itself.
    private func isInternal(_ row: HistoryRow) -> Bool {
        guard let kind = row.value["provenance"]?["kind"]?.string else { return false }
        return kind == "inter_session" || kind == "internal_system"
    }

    private mutating func answer(_ row: HistoryRow, runID: String?) -> ChatMessage? {
        let id = row.key ?? runID
        var message = ChatMessage(id: stableID(row), role: .assistant, text: "", at: time(row), runID: id)
        message.text = ReplyText.clean(row.text).trimmingBlanks().cut(toBytes: ActivityLimits.runTextBytes)
        message.attachments = attachments(row)
        if row.role == .system {
            message.role = .system
            message.runID = nil
            return message.isEmpty ? nil : message
        }
        if row.stopReason == "error" || (row.errorMessage != nil && row.stopReason != "aborted") {
            let told = row.errorMessage ?? id.flatMap { book.run($0)?.error }
            let error = told ?? (message.text.isEmpty ? "The model stopped with an error." : message.text)
            if row.errorMessage == nil { message.text = "" }
            message.error = SecretMask.text(error).cut(to: ActivityLimits.errorCharacters)
            message.state = .failed
            return message
        }
        if Housekeeping.isAnswer(message.text) { return nil }
        return message.isEmpty ? nil : message
    }

    private func attachments(_ row: HistoryRow) -> [MessageAttachment] {
        var found = row.blocks.compactMap { if case .attachment(let attachment) = $0 { attachment } else { nil } }
        let paths = row.value["MediaPaths"]?.elements.compactMap(\.string) ?? []
        let types = row.value["MediaTypes"]?.elements.map(\.string) ?? []
        if found.isEmpty {
            for (place, path) in paths.enumerated() {
                found.append(MessageAttachment(path: path, type: types.indices.contains(place) ? types[place] : nil))
            }
        }
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
        let base = row.id ?? "h-" + Fingerprint.of(row.identity.utf8)
        var id = base
        var count = 1
        while !ids.insert(id).inserted {
            count += 1
            id = "\(base)-\(count)"
        }
        return id
    }
}
