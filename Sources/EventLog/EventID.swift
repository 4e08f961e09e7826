import Basics

/// `epoch.sequence`: which log, and the place in it. The epoch changes only when the log was lost.
package struct EventID: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Far above the epochs we make (16 characters); a longer one was never ours.
    package static let longestEpoch = 64

    package var epoch: String
    package var sequence: Int64

    package init(epoch: String, sequence: Int64) {
        self.epoch = epoch
        self.sequence = sequence
    }

    /// Nil for what this program cannot have written: clients send these back as `Last-Event-ID` and `since`.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let epoch = bytes[..<dot]
        let digits = bytes[bytes.index(after: dot)...]
        guard !epoch.isEmpty, epoch.count <= Self.longestEpoch, epoch.allSatisfy(Self.isEpochCharacter) else {
            return nil
        }
        // Nineteen digits hold every Int64; a leading zero would give one place two names.
        guard !digits.isEmpty, digits.count <= 19, digits.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else { return nil }
        guard digits.count == 1 || digits.first != UInt8(ascii: "0") else { return nil }
        guard let sequence = Int64(Substring(digits)) else { return nil }
        self.init(epoch: String(Substring(epoch)), sequence: sequence)
    }

    package var description: String { "\(epoch).\(sequence)" }

    package static func < (left: EventID, right: EventID) -> Bool { left.sequence < right.sequence }

    private static func isEpochCharacter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
