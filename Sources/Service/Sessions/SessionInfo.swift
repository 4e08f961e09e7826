package import Basics
package import Gateway
package import JSONBytes

/// A session as lists show it: named members of the gateway's row, never the row itself.
package struct SessionInfo: Sendable, Equatable {
    /// The origin of the title.
    package enum TitleSource: String, Sendable {
        case label, displayName, derived, key
    }

    package enum State: String, Sendable {
        case idle, running, failed, aborted
    }

    package struct Tokens: Sendable, Equatable {
        package var input: Int64?
        package var output: Int64?
        package var total: Int64?
        package var isFresh: Bool?
    }

    package let key: String
    package var agent: String?
    package var kind: SessionKind
    package var label: String?
    /// The name by which people know the session.
    package var title: String?
    package var titleFrom: TitleSource?
    package var preview: String?
    package var provider: String?
    package var model: String?
    package var thinking: String?
    package var thinkingLevels: [String] = []
    package var verbose: String?
    package var status: String?
    package var wasAborted = false
    package var updatedAt: Timestamp?
    /// The conversation behind the key.
    package var sessionID: String?
    package var tokens = Tokens()
    package var contextTokens: Int64?
    var costUSD: Double?
    package var isUnread: Bool?
    package var isPinned: Bool?
    package var isArchived: Bool?

    /// In bytes: a session takes one line of a list, however long the gateway's texts are.
    private static let longestText = 512
    /// In characters.
    private static let longestTitle = 80
    private static let longestPreview = 240

    /// - Parameter clientName: the name with which Ladle connects; the gateway gives it to every session made through
    ///   Ladle.
    package init(_ row: SessionRow, key: SessionKey, clientName: String) {
        func short(_ text: String?) -> String? { text.map { $0.cut(toBytes: Self.longestText) } }
        self.init(key: key, named: row.kind)
        label = short(row.label)
        (title, titleFrom) = Self.title(row, clientName: clientName)
        title = title?.cut(to: Self.longestTitle)
        preview = row.lastMessagePreview.flatMap { Self.preview(of: $0) }
        provider = short(row.modelProvider)
        model = short(row.model)
        thinking = short(row.thinkingLevel)
        thinkingLevels = row.thinkingLevels.map { $0.cut(toBytes: Self.longestText) }
        verbose = short(row.verboseLevel)
        status = short(row.status)
        wasAborted = row.wasAborted
        updatedAt = row.updatedAt.map { Timestamp(milliseconds: $0) }
        sessionID = row.sessionId
        tokens = Tokens(
            input: row.inputTokens,
            output: row.outputTokens,
            total: row.totalTokens,
            isFresh: row.hasFreshTotal
        )
        contextTokens = row.contextTokens
        costUSD = row.estimatedCostUsd
        isUnread = row.isUnread
        isPinned = row.isPinned
        isArchived = row.isArchived
    }

    /// A session known only by its key.
    init(key: SessionKey, named kind: String? = nil) {
        self.key = key.text
        agent = key.agent
        self.kind = SessionKind(key, named: kind)
    }

    /// The names of the kinds, for clients.
    package static let kinds = SessionKind.allCases.map(\.rawValue)
    /// The kinds that a list shows by default.
    package static let kindsOfPeople = Set(SessionKind.ofPeople.map(\.rawValue))

    package var kindName: String { kind.rawValue }

    /// The names of the members that differ, among those whose changes are published; runs and messages have events of
    /// their own.
    func changes(since last: SessionInfo?) -> [String] {
        zip(lasting, (last ?? SessionInfo(key: SessionKey(canonical: key))).lasting).filter { $0.value != $1.value }
            .map(\.0.name)
    }

    private var lasting: [(name: String, value: String?)] {
        [
            ("label", label), ("provider", provider), ("model", model), ("thinking", thinking), ("verbose", verbose),
            ("unread", isUnread.map { "\($0)" }), ("pinned", isPinned.map { "\($0)" }),
            ("archived", isArchived.map { "\($0)" }),
        ]
    }

    /// The used share of the model's context; nil if the gateway's count is outdated or of another model.
    var contextUsedPercent: Int? {
        guard let total = tokens.total, let room = contextTokens, room > 0, total >= 0, tokens.isFresh != false else {
            return nil
        }
        return Int(min(Double(total) / Double(room) * 100, 100).rounded())
    }

    package func state(isActive: Bool?) -> State {
        // Of a run that waits for capacity, the newest gateways say that it is queued.
        if isActive ?? (status == "running" || status == "queued") { return .running }
        switch status {
        case "failed", "timeout": return .failed
        case "killed": return .aborted
        default: return wasAborted ? .aborted : .idle
        }
    }

    // MARK: Titles

    private static func title(_ row: SessionRow, clientName: String) -> (String?, TitleSource?) {
        if let label = row.label, !label.trimmingBlanks().isEmpty { return (label, .label) }
        if let name = visible(row.displayName), !isClientName(name, row, clientName: clientName) {
            return (name, .displayName)
        }
        if let title = visible(row.derivedTitle), !isMadeOfID(title, row) { return (title, .derived) }
        return (nil, nil)
    }

    /// Uses the last part of the key, for a session without a name.
    mutating func nameAfterKey() {
        let last = key.utf8.split(separator: UInt8(ascii: ":")).last.map { String(Substring($0)) }
        title = (last ?? key).cut(to: Self.longestTitle)
        titleFrom = .key
    }

    static func preview(of text: String) -> String? { visible(text)?.cut(to: longestPreview) }

    /// The text without the gateway's stamp; nil if no person wrote it, or if it is only metadata.
    private static func visible(_ text: String?) -> String? {
        guard let text else { return nil }
        let words = InboundEnvelope.stripped(text).trimmingBlanks()
        guard !words.isEmpty, !Housekeeping.isExcerpt(words) else { return nil }
        let firstLine = words.prefix { !$0.isNewline }
        return firstLine.containsText("(untrusted metadata):") ? nil : words
    }

    /// Whether the name is a program's: not a title, since all its sessions have the same one.
    private static func isClientName(_ name: String, _ row: SessionRow, clientName: String) -> Bool {
        name == clientName || name == row.clientName || name.hasPrefix("webchat:")
    }

    /// Whether the title is one like `8545646e (2026-11-22)`, which the gateway makes from the session's id while there
    /// are no messages.
    private static func isMadeOfID(_ title: String, _ row: SessionRow) -> Bool {
        guard let id = row.sessionId, id.utf8.count >= 8 else { return false }
        return title.hasPrefix(id.prefix(8) + " (") && title.hasSuffix(")")
    }

    // MARK: JSON

    /// - Parameters:
    ///   - isActive: whether a run is in progress, which Ladle knows better than an older list.
    ///   - waiting: counts of waiting messages and approvals; nil if not requested.
    package func write(
        to writer: inout JSONWriter,
        isActive: Bool?,
        waiting: (outbox: Int, approvals: Int)? = nil,
        also: (inout JSONWriter) -> Void = { _ in }
    ) {
        writer.object { object in
            writeMembers(to: &object)
            also(&object)
            object.member("state", state(isActive: isActive).rawValue)
            object.member("active", isActive)
            object.member("contextUsedPercent", contextUsedPercent)
            guard let waiting else { return }
            object.object("pending") { pending in
                pending.member("outbox", waiting.outbox)
                pending.member("approvals", waiting.approvals)
            }
        }
    }

    func writeMembers(to object: inout JSONWriter) {
        object.member("key", key)
        object.member("agent", agent)
        object.member("kind", kind.rawValue)
        object.member("label", label)
        object.member("title", title)
        object.member("titleFrom", titleFrom?.rawValue)
        object.member("preview", preview)
        object.member("provider", provider)
        object.member("model", model)
        object.member("thinking", thinking)
        if !thinkingLevels.isEmpty { object.array("thinkingLevels", of: thinkingLevels) }
        object.member("verbose", verbose)
        object.member("status", status)
        object.member("updatedAt", updatedAt)
        object.member("sessionId", sessionID)
        if tokens != Tokens() {
            object.object("tokens") { inner in
                inner.member("input", tokens.input)
                inner.member("output", tokens.output)
                inner.member("total", tokens.total)
                inner.member("fresh", tokens.isFresh)
            }
        }
        object.member("contextTokens", contextTokens)
        object.member("costUsd", costUSD)
        object.member("unread", isUnread)
        object.member("pinned", isPinned)
        object.member("archived", isArchived)
    }
}
