/// The result of a node call. The raw value names it in the metrics.
package enum NodeOutcome: String, CaseIterable, Sendable {
    case done, queued, refused, busy, offline, background, permission, timeout, failed, unanswered
}
