/// The outcome of an attempt (outbox rules, part 1.6 rule 6).
package enum AttemptClass: String, Sendable, CaseIterable {
    case accepted
    case notDispatched = "not_dispatched"
    case rejectedTransient = "rejected_transient"
    case rejectedTerminal = "rejected_terminal"
    case ambiguous
    case routeChanged = "route_changed"
}
