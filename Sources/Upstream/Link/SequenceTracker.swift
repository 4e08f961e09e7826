/// Watches the `seq` of broadcast events within one connection.
package struct SequenceTracker: Sendable {
    package enum Finding: Sendable, Equatable {
        case inOrder
        /// Events are missing. That is a loss if each connection has its own count. Where the count is the whole server's, events
        /// that we may not see leave harmless holes.
        case gap(expected: Int64, received: Int64, isLoss: Bool)
        /// The number is not above the last one: a duplicate or a stray event; nothing is lost.
        case behind(received: Int64)
    }

    private let isOwnCount: Bool
    private var last: Int64?

    init(isOwnCount: Bool) { self.isOwnCount = isOwnCount }

    package mutating func receive(_ seq: Int64?) -> Finding {
        guard let seq, seq >= 0 else { return .inOrder }
        guard let previous = last else {
            last = seq
            return .inOrder
        }
        guard seq > previous else { return .behind(received: seq) }
        last = seq
        let (expected, overflow) = previous.addingReportingOverflow(1)
        guard !overflow, seq != expected else { return .inOrder }
        return .gap(expected: expected, received: seq, isLoss: isOwnCount)
    }
}
