/// The id of a durable event and a position in the log: `epoch.sequence`.
package struct EventID: Sendable, Hashable {
    package var epoch: EventEpoch
    /// Signed, as the database keeps it; never negative.
    package var sequence: Int64

    /// Epoch, dot, and the 19 digits of the largest sequence.
    package static let maxBytes = EventEpoch.maxBytes + 20

    package init(epoch: EventEpoch, sequence: Int64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    package init(parsing bytes: some Collection<UInt8>) throws(EventIDError) {
        guard !bytes.isEmpty else { throw .empty }
        guard bytes.count <= Self.maxBytes else { throw .tooLong }
        guard let dot = bytes.firstIndex(of: 0x2E) else { throw .noDot }
        guard let epoch = EventEpoch(bytes[bytes.startIndex..<dot]) else { throw .badEpoch }
        let digits = bytes[bytes.index(after: dot)...]
        // One spelling for each id: no sign, no leading zero.
        guard let first = digits.first, first != 0x30 || digits.count == 1 else { throw .badSequence }
        var sequence: Int64 = 0
        for digit in digits {
            guard digit &- 0x30 < 10 else { throw .badSequence }
            let (product, overflow) = sequence.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(Int64(digit &- 0x30))
            guard !overflow, !carry else { throw .badSequence }
            sequence = sum
        }
        self.init(epoch: epoch, sequence: sequence)
    }

    package init(parsing text: String) throws(EventIDError) { try self.init(parsing: text.utf8) }

    package func append(to output: inout [UInt8]) {
        epoch.append(to: &output)
        output.append(0x2E)
        output.append(contentsOf: String(sequence).utf8)
    }

    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The reason why a text is not an event id.
package enum EventIDError: Error, Equatable, Sendable {
    case empty, tooLong, noDot, badEpoch, badSequence

    package var text: String {
        switch self {
        case .empty: "The event id is empty."
        case .tooLong: "The event id is longer than \(EventID.maxBytes) bytes."
        case .noDot: "The event id is not EPOCH.SEQUENCE."
        case .badEpoch: "The epoch before the dot is not 1 to \(EventEpoch.maxBytes) of a-z and 0-9."
        case .badSequence: "The sequence after the dot is not a decimal number without leading zeros."
        }
    }
}
