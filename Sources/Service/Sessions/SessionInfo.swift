package import Basics
import Documents
package import Gateway
package import JSONBytes
import Upstream

/// A conversation as the list of sessions shows it.
package struct SessionInfo: Sendable {
    package let key: String
    var agent: String?
    var kind: String?
    var label: String?
    /// The gateway's title, else one made of the first message.
    var title: String?
    var preview: String?
    var model: String?
    var thinking: String?
    var verbose: String?
    var status: String?
    var updatedAt: Timestamp?

    /// In bytes: a session is one line of a list, however long the gateway's texts are.
    private static let longestText = 2000

    package init(_ row: SessionRow, key: SessionKey) {
        func short(_ text: String?) -> String? { text.map { $0.cut(toBytes: Self.longestText) } }
        /// nil for the chat in which the agent was asked for its files: nobody wrote it.
        func visible(_ text: String?) -> String? {
            short(text).flatMap { SyncFrame.isRequest($0) || SyncFrame.isReply($0) ? nil : $0 }
        }
        self.key = key.text
        agent = key.agent
        kind = short(row.kind)
        label = short(row.label)
        title = visible(row.displayName) ?? visible(row.derivedTitle)
        preview = visible(row.lastMessagePreview)
        model = short(row.model)
        thinking = short(row.thinkingLevel)
        verbose = short(row.verboseLevel)
        status = short(row.status)
        updatedAt = row.updatedAt.map { Timestamp(milliseconds: $0) }
    }

    /// Members whose change is published; runs and messages have events of their own.
    var lasting: [String?] { [kind, label, model, thinking, verbose] }

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
