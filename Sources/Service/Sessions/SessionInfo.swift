import Basics
import Documents
import Gateway
package import JSONBytes
package import Runs
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

    package init(_ row: JSONValue, key: SessionKey) {
        func text(_ name: String) -> String? { row[name]?.string.map { $0.cut(toBytes: Self.longestText) } }
        /// nil for the chat in which the agent was asked for its files: nobody wrote it.
        func said(_ name: String) -> String? {
            text(name).flatMap { SyncFrame.isRequest($0) || SyncFrame.isReply($0) ? nil : $0 }
        }
        self.key = key.text
        agent = key.agent
        kind = text("kind")
        label = text("label")
        title = said("displayName") ?? said("derivedTitle")
        preview = said("lastMessagePreview")
        model = text("model")
        thinking = text("thinkingLevel")
        verbose = text("verboseLevel")
        status = text("status")
        updatedAt = row["updatedAt"]?.int.map { Timestamp(milliseconds: $0) }
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
