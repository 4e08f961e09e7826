package import Basics
import JSONBytes

/// The state of a conversation that the configuration names.
package struct BrokerSession: Sendable, Equatable {
    package let key: String
    package let label: String?
    package let active: Bool
    package let headline: String?
    package let lastReplyAt: Timestamp?
    package let model: String?
    package let thinking: String?

    package init(
        key: String,
        label: String?,
        active: Bool,
        headline: String?,
        lastReplyAt: Timestamp?,
        model: String?,
        thinking: String?
    ) {
        self.key = key
        self.label = label
        self.active = active
        self.headline = headline
        self.lastReplyAt = lastReplyAt
        self.model = model
        self.thinking = thinking
    }

    package var payload: [UInt8] {
        JSONWriter.bytes(capacity: 512) { object in
            object.member("key", key)
            object.always("label", label.map { BrokerText.short($0) })
            object.member("active", active)
            object.always("headline", headline.map { BrokerText.short($0) })
            object.always("lastReplyAt", lastReplyAt)
            object.always("model", model.map { BrokerText.short($0) })
            object.always("thinking", thinking.map { BrokerText.short($0) })
        }
    }

    /// Takes the retained state of a deleted conversation away from the broker.
    package static let deleted: [UInt8] = []
}
