package import EventStream
import Notifications

/// The events that somebody waits for: on an open stream, or by a rule of notifications. A service asks the gateway for the news
/// of such an event only while somebody does.
package final class Audience {
    /// Of the open streams, with the number of groups of streams that have the same one.
    private var filters: [EventFilter: Int] = [:]
    /// The types that the rules of notifications take, while a sink is open.
    private var ruleTypes: Set<NotificationType> = []

    package init() {}

    /// Streams with this filter have begun. Streams limited to sessions do not count: they show none of these events.
    package func joined(_ filter: EventFilter) { filters[filter, default: 0] += 1 }

    /// As many times as `joined`.
    package func left(_ filter: EventFilter) {
        guard let count = filters[filter] else { return }
        filters[filter] = count > 1 ? count - 1 : nil
    }

    func rulesTake(_ types: Set<NotificationType>) { ruleTypes = types }

    /// Whether a stream asked for the type by its name.
    func names(_ type: String) -> Bool { filters.keys.contains { $0.names(type) } }

    /// Whether a stream shows events of the type that are about no session.
    func sees(_ type: String) -> Bool { filters.keys.contains { $0.admits(type: type, session: nil, run: nil) } }

    /// Whether a rule takes the type, and a sink is open.
    func isTold(of type: NotificationType) -> Bool { ruleTypes.contains(type) }
}
