package import Basics
package import Gateway
package import JSONBytes

/// A conversation as the list of sessions shows it.
package struct SessionInfo: Sendable {
    package let key: String
    var agent: String?
    var kind: String?
    var label: String?
    /// What people know it by.
    var title: String?
    var preview: String?
    var model: String?
    var thinking: String?
    var verbose: String?
    var status: String?
    var updatedAt: Timestamp?

    /// In bytes: a session is one line of a list, however long the gateway's texts are.
    private static let longestText = 2000

    /// - Parameter clientName: the name under which Ladle connects; the gateway gives it to every session made through us.
    package init(_ row: SessionRow, key: SessionKey, clientName: String) {
        func short(_ text: String?) -> String? { text.map { $0.cut(toBytes: Self.longestText) } }
        self.key = key.text
        agent = key.agent
        kind = short(row.kind)
        label = short(row.label)
        title = short(Self.title(row, clientName: clientName))
        preview = short(Self.visible(row.lastMessagePreview))
        model = short(row.model)
        thinking = short(row.thinkingLevel)
        verbose = short(row.verboseLevel)
        status = short(row.status)
        updatedAt = row.updatedAt.map { Timestamp(milliseconds: $0) }
    }

    /// A session of which only the key is known.
    init(key: SessionKey) {
        self.key = key.text
        agent = key.agent
    }

    /// Members whose change is published; runs and messages have events of their own.
    var lasting: [String?] { [kind, label, model, thinking, verbose] }

    // MARK: Titles

    private static func title(_ row: SessionRow, clientName: String) -> String? {
        if let label = row.label, !label.trimmingBlanks().isEmpty { return label }
        if let name = visible(row.displayName), !isClientName(name, row, clientName: clientName) { return name }
        return visible(row.derivedTitle).flatMap { isMadeOfID($0, row) ? nil : $0 }
    }

    /// Without the gateway's stamp; nil for a text that no person wrote, and for one that is all metadata.
    private static func visible(_ text: String?) -> String? {
        guard let text else { return nil }
        let words = InboundEnvelope.stripped(text).trimmingBlanks()
        guard !words.isEmpty, !Housekeeping.isExcerpt(words) else { return nil }
        let firstLine = words.prefix { !$0.isNewline }
        return firstLine.containsText("(untrusted metadata):") ? nil : words
    }

    /// A program's name is no title: it is the same for all its sessions.
    private static func isClientName(_ name: String, _ row: SessionRow, clientName: String) -> Bool {
        name == clientName || name == row.clientName || name.hasPrefix("webchat:")
    }

    /// `8545646e (2026-11-22)`: the gateway makes it of the session's id while nobody has said anything.
    private static func isMadeOfID(_ title: String, _ row: SessionRow) -> Bool {
        guard let id = row.sessionId, id.utf8.count >= 8 else { return false }
        return title.hasPrefix(id.prefix(8) + " (") && title.hasSuffix(")")
    }

    /// - Parameter isActive: whether a run is under way, which we know better than a list of a moment ago.
    package func write(to writer: inout JSONWriter, isActive: Bool?) {
        writer.object { object in
            object.member("key", key)
            object.member("agent", agent)
            object.member("kind", kind)
            object.member("label", label)
            object.member("title", title)
            object.member("preview", preview)
            object.member("model", model)
            object.member("thinking", thinking)
            object.member("verbose", verbose)
            object.member("status", status)
            object.member("active", isActive)
            object.member("updatedAt", updatedAt)
        }
    }
}
