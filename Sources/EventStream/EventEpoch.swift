/// The name of one life of the event log: 1 to 16 of `a-z0-9`. It changes only when the log was lost, so that a cursor
/// of an older log is never mistaken for one of the current log.
///
/// Kept in two words, not as a string: ids are copied and compared for every event and subscriber.
package struct EventEpoch: Sendable, Hashable {
    package static let maxBytes = 16

    private var low: UInt64 = 0
    private var high: UInt64 = 0

    /// Nil if the bytes are not an epoch.
    package init?(_ bytes: some Collection<UInt8>) {
        guard !bytes.isEmpty, bytes.count <= Self.maxBytes else { return nil }
        for (index, byte) in bytes.enumerated() {
            guard byte &- 0x30 < 10 || byte &- 0x61 < 26 else { return nil }
            if index < 8 {
                low |= UInt64(byte) << UInt64(index * 8)
            } else {
                high |= UInt64(byte) << UInt64(index * 8 - 64)
            }
        }
    }

    package init?(_ text: String) { self.init(text.utf8) }

    /// An epoch from 64 random bits: twelve characters, letters and digits.
    package static func make(random: UInt64) -> EventEpoch {
        let alphabet = Array("abcdefghijklmnopqrstuvwxyz012345".utf8)
        var epoch = EventEpoch()
        for index in 0..<12 {
            let byte = UInt64(alphabet[Int(random >> UInt64(index * 5) & 31)])
            if index < 8 {
                epoch.low |= byte << UInt64(index * 8)
            } else {
                epoch.high |= byte << UInt64(index * 8 - 64)
            }
        }
        return epoch
    }

    private init() {}

    package func append(to output: inout [UInt8]) {
        var word = low
        while word != 0 {
            output.append(UInt8(truncatingIfNeeded: word))
            word >>= 8
        }
        word = high
        while word != 0 {
            output.append(UInt8(truncatingIfNeeded: word))
            word >>= 8
        }
    }

    package var text: String {
        var bytes: [UInt8] = []
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
