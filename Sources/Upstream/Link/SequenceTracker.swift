/// Watches the `seq` of broadcast events within one connection.
package struct SequenceTracker: Sendable {
    package enum Finding: Sendable, Equatable {
        case inOrder
        /// Events are missing. `isLoss` on protocol 4, where the counter is this connection's own; on protocol 3 it counts
        /// for the whole server, so events we may not see leave holes that mean nothing.
        case gap(expected: Int64, received: Int64, isLoss: Bool)
        /// Not above the last one: a duplicate or a stray; nothing is lost.
        case behind(received: Int64)
    }

    private let protocolVersion: Int
    private var last: Int64?

    package init(protocolVersion: Int) {
        self.protocolVersion = protocolVersion
    }

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
        return .gap(expected: expected, received: seq, isLoss: protocolVersion >= 4)
    }
}
