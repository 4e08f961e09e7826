import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service

/// A session as one answer shows it: with what Ladle alone knows.
struct SessionView: JSONWritable {
    let info: SessionInfo
    let isActive: Bool
    let waiting: (outbox: Int, approvals: Int)
    /// The message that was sent with its making.
    let entry: OutboxEntry?
    /// By the caller's own mark; nil where it has none.
    let unread: Int?

    /// - Parameters:
    ///   - caller: the one who sees it.
    ///   - isActive: nil where it is to be looked up.
    init(
        _ info: SessionInfo,
        for caller: Caller,
        isActive: Bool? = nil,
        entry: OutboxEntry? = nil,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        let key: Set<String> = [info.key]
        self.info = info
        self.entry = entry
        unread = api.services.readMarks.unread(by: caller.label, in: info.key)
        self.isActive = isActive ?? api.runs.runs(activeOnly: true).contains { $0.session.text == info.key }
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

    /// Two parts: the conversation, which a change is meant for, and all that is shown, which a cache compares.
    var tag: EntityTag {
        var writer = JSONWriter()
        write(to: &writer)
        return EntityTag("\(info.identity).\(EntityTag(ofBytes: writer.bytes).value)")
    }
}

extension SessionInfo {
    /// Of the conversation that the key leads to.
    var identity: String { EntityTag(ofBytes: Array((sessionID ?? "").utf8)).value }
}

extension EntityTagCondition {
    /// Whether the condition is about this conversation, whatever else of the session has changed since.
    func matches(_ session: SessionInfo) -> Bool {
        guard case .tags(let tags) = self else { return true }
        return tags.contains { tag in
            !tag.isWeak && tag.value.prefix { $0 != "." } == session.identity
        }
    }
}

extension Call {
    /// The session that the path names, if the caller may know of it.
    func session(_ api: HTTPAPI) throws(Problem) -> String {
        let written = parameters.first ?? ""
        // To a caller that may not use it there is no such session.
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
        let response = Response.json { writer in
            writer.object { object in
                object.member("session", view)
                object.array("changed", of: changed)
            }
        }
        respond(response, tag: view.tag, on: loop)
    }
}

extension Problem {
    static let noSession = Problem(.sessionNotFound, "There is no session of this key.")
}
