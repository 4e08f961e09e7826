/// Colours of a terminal, or none.
package struct TextStyle: Sendable {
    package static let plain = TextStyle(isColoured: false)

    package let isColoured: Bool

    package init(isColoured: Bool) {
        self.isColoured = isColoured
    }

    package func dim(_ text: String) -> String { coded("2", text) }
    package func bold(_ text: String) -> String { coded("1", text) }
    package func good(_ text: String) -> String { coded("32", text) }
    package func bad(_ text: String) -> String { coded("31", text) }
    package func warning(_ text: String) -> String { coded("33", text) }

    /// The name of a state in its colour.
    package func state(_ name: String) -> String {
        switch name {
        case "online", "completed", "delivered", "allowed": good(name)
        case "failed", "offline", "refused", "expired", "denied": bad(name)
        case "pending", "unconfirmed", "retrying", "connecting", "paused", "waiting_for_approval": warning(name)
        default: bold(name)
        }
    }

    private func coded(_ code: String, _ text: String) -> String {
        isColoured && !text.isEmpty ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
    }
}
