package import Access
package import EventLog

/// What a stream was asked to be. Streams with one plan share their bytes, and this value.
package struct StreamPlan: Hashable {
    package let caller: Caller
    package let filter: EventFilter
    package let format: StreamFormat
    let heartbeatSeconds: Int
    let heartbeatAsEvent: Bool

    func admits(_ event: HubEvent) -> Bool { event.isMeant(for: caller, by: filter) }
}

extension HubEvent {
    /// A caller bound to sessions sees those; events without a session carry nothing of any.
    func isMeant(for caller: Caller, by filter: EventFilter) -> Bool {
        guard filter.admits(type: type, session: session, run: run) else { return false }
        guard let session else { return true }
        return caller.mayUse(session: session)
    }
}
