/// The form in which a reader wants a glance.
package struct GlanceForm: Sendable, Equatable {
    package enum Kind: Sendable {
        case json
        /// One line for people.
        case line
        /// JSON for the status bar Waybar.
        case waybar
    }

    /// A member of the JSON form.
    package enum Field: String, Sendable, CaseIterable {
        case at, link, headline, state, active, attention, top, outbox, usage, today, agent, unread, rev
    }

    package var kind: Kind
    /// The requested fields; nil for all of them.
    package var fields: Set<Field>?
    /// Whether to leave out headline, titles and labels, for a screen that others see.
    package var isPrivate: Bool

    package init(_ kind: Kind = .json, fields: Set<Field>? = nil, isPrivate: Bool = false) {
        self.kind = kind
        self.fields = fields
        self.isPrivate = isPrivate
    }

    func shows(_ field: Field) -> Bool { fields?.contains(field) ?? true }

    /// Whether usage is shown. The gateway is asked for it only then.
    var showsUsage: Bool { kind != .json || shows(.usage) || shows(.today) }
}
