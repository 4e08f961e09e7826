import Activity
import Basics
import JSONBytes
import Upstream

/// A conversation as the list of sessions shows it.
struct SessionInfo: Sendable {
    let key: String
    var agent: String?
    var kind: String?
    var label: String?
    /// What to call it: the gateway's own words for it, else its first message's.
    var title: String?
    var preview: String?
    var model: String?
    var thinking: String?
    var verbose: String?
    var status: String?
    var updatedAt: Timestamp?

    init(_ row: JSONValue, key: SessionKey) {
        self.key = key.text
        agent = key.agent
        kind = row["kind"]?.string
        label = row["label"]?.string
        title = row["displayName"]?.string ?? row["derivedTitle"]?.string
        preview = row["lastMessagePreview"]?.string
        model = row["model"]?.string
        thinking = row["thinkingLevel"]?.string
        verbose = row["verboseLevel"]?.string
        status = row["status"]?.string
        updatedAt = row["updatedAt"]?.int.map { Timestamp(milliseconds: $0) }
    }

    /// What is worth an event of its own: runs and messages have theirs.
    var lasting: [String?] { [kind, label, model, thinking, verbose] }

    /// - Parameter isActive: whether a run is under way, which we know better than a list of a moment ago.
    func write(to writer: inout JSONWriter, isActive: Bool?) {
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
