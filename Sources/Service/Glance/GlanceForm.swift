/// The form in which a reader wants a glance.
package struct GlanceForm: Sendable, Equatable {
    package enum Kind: Sendable {
        case json
        /// One line for people.
        case line
        /// For the status bar Waybar.
        case waybar
    }

    /// A member of the JSON form.
    package enum Field: String, Sendable, CaseIterable {
        case at, link, headline, state, active, attention, top, outbox, usage, today, agent, unread, rev
    }

    package var kind: Kind
    /// Nil for all of them.
    package var fields: Set<Field>?
    /// Without headline, titles and labels: for a screen that others see.
    package var isPrivate: Bool

    package init(_ kind: Kind = .json, fields: Set<Field>? = nil, isPrivate: Bool = false) {
        self.kind = kind
        self.fields = fields
        self.isPrivate = isPrivate
    }

    func shows(_ field: Field) -> Bool { fields?.contains(field) ?? true }

    /// What subscriptions are used up is asked for only where somebody sees it.
    var showsUsage: Bool { kind != .json || shows(.usage) || shows(.today) }
}
