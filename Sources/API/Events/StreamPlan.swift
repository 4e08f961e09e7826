package import Access
import Documents
package import EventStream
import JSONBytes
import Service

/// The format and filter of a stream. Streams with equal plans share their bytes and this value.
package struct StreamPlan: Hashable {
    package let caller: Caller
    package let filter: EventFilter
    package let format: StreamFormat
    let heartbeatSeconds: Int
    let heartbeatAsEvent: Bool

    func admits(_ event: StreamEvent) -> Bool { event.isMeant(for: caller, by: filter) }
}

extension StreamEvent {
    func isMeant(for caller: Caller, by filter: EventFilter) -> Bool {
        filter.admits(type: type, session: session, run: run) && isMeant(for: caller)
    }

    /// A caller limited to sessions sees events of those sessions and their agents, and events that reveal nothing
    /// about any session. Pairing events are only for callers that may decide about it.
    func isMeant(for caller: Caller) -> Bool {
        if type == "pairing" { return caller.scopes.permits(.admin) }
        guard caller.sessions != nil else { return true }
        if let session { return caller.mayUse(session: session) }
        // Events without a session, or about all sessions at once.
        if ["approval", "question", "automation", "node", "device", "notification", "usage"].contains(type) {
            return false
        }
        guard type == DocumentKind.identity.rawValue || type == DocumentKind.profile.rawValue else { return true }
        return (try? JSONDocument(parsing: data).root["agent"]?.string).map(caller.mayUse(agent:)) ?? false
    }
}
