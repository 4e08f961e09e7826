import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service

/// A session as one answer shows it, including the state that only Ladle knows.
struct SessionView: JSONWritable {
    let info: SessionInfo
    let isActive: Bool
    let waiting: (outbox: Int, approvals: Int)
    /// The first message, sent together with the session's creation.
    let entry: OutboxEntry?
    /// The count by the caller's own mark; nil if the caller has set none.
    let unread: Int?

    /// - Parameters:
    ///   - caller: the reader of the answer.
    ///   - isActive: nil to look it up.
    init(
        _ info: SessionInfo,
        for caller: Caller,
        isActive: Bool? = nil,
        entry: OutboxEntry? = nil,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        let key: SessionSet = [info.key]
        self.info = info
        self.entry = entry
        unread = api.services.readMarks.unread(by: caller.identity, in: info.key)
        self.isActive =
            isActive ?? api.runs.runs(activeOnly: true).contains { $0.session.text.isSameText(as: info.key) }
        waiting = (
            api.outbox.summary(of: key, now: loop.wallClock).counts.pending,
            api.services.approvals.pendingCount(of: key)
        )
    }

    func write(to writer: inout JSONWriter) {
        info.write(to: &writer, isActive: isActive, waiting: waiting) { object in
            if let unread {
                if info.isUnread == nil { object.member("unread", unread > 0) }
                object.member("unreadCount", unread)
            }
            if let entry {
                object.key("entry")
                entry.write(to: &object)
            }
        }
    }

    /// The tag has two parts: one for the conversation, checked by changes, and one for the whole answer, compared by
    /// caches.
    var tag: EntityTag {
        var writer = JSONWriter()
        write(to: &writer)
        return EntityTag("\(info.identity).\(EntityTag(ofBytes: writer.bytes).value)")
    }
}

extension SessionInfo {
    /// A hash of the conversation behind the key.
    var identity: String { EntityTag(ofBytes: Array((sessionID ?? "").utf8)).value }
}

extension EntityTagCondition {
    /// Whether the condition means this conversation, even if the session's other members have changed.
    func matches(_ session: SessionInfo) -> Bool {
        guard case .tags(let tags) = self else { return true }
        return tags.contains { tag in
            !tag.isWeak && tag.value.prefix { $0 != "." } == session.identity
        }
    }
}

extension Call {
    /// The session named in the path, if the caller may use it.
    func session(_ api: HTTPAPI) throws(Problem) -> String {
        let written = parameters.first ?? ""
        // A caller that may not use a session gets the same answer as for a missing one.
        guard let key = api.runs.session(named: written), caller.mayUse(session: key) else { throw .noSession }
        return key
    }

    func answer(
        _ info: SessionInfo,
        _ api: HTTPAPI,
        changed: [String]? = nil,
        on loop: isolated EventLoop
    ) {
        let view = SessionView(info, for: caller, api, on: loop)
        let path = SessionChanges.path(info)
        guard let changed else {
            var response = Response.json(.ok, view)
            if parameters.first.map({ $0 != info.key }) ?? false { response = response.adding(.contentLocation, path) }
            guard route.method == .get else { return respond(response, tag: view.tag, on: loop) }
            return respondTagged(response, tag: view.tag, warming: api, on: loop)
        }
        let response = Response.object { object in
            object.member("session", view)
            object.array("changed", of: changed)
        }
        respond(response, tag: view.tag, on: loop)
    }
}

extension Problem {
    static let noSession = Problem(.sessionNotFound, "There is no session of this key.")
}
