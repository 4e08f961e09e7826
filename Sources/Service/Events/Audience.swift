package import EventStream
import Notifications

/// The events that an open stream or a notification rule waits for. A service asks the gateway for news of such an
/// event only while it is waited for.
package final class Audience {
    /// The filters of the open streams, with the number of groups of streams that share each.
    private var filters: [EventFilter: Int] = [:]
    /// The types that notification rules take, while a sink is open.
    private var ruleTypes: Set<NotificationType> = []

    package init() {}

    /// Counts streams with this filter. Streams limited to sessions do not count: they show none of these events.
    package func joined(_ filter: EventFilter) { filters[filter, default: 0] += 1 }

    /// Must be called as often as `joined`.
    package func left(_ filter: EventFilter) {
        guard let count = filters[filter] else { return }
        filters[filter] = count > 1 ? count - 1 : nil
    }

    func rulesTake(_ types: Set<NotificationType>) { ruleTypes = types }

    /// Whether an open stream requested the type by name.
    package func names(_ type: String) -> Bool { filters.keys.contains { $0.names(type) } }

    /// Whether an open stream shows events of the type that belong to no session.
    func sees(_ type: String) -> Bool { filters.keys.contains { $0.admits(type: type, session: nil, run: nil) } }

    /// Whether a notification rule takes the type, and a sink is open.
    func isTold(of type: NotificationType) -> Bool { ruleTypes.contains(type) }
}
