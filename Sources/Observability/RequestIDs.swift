/// Names requests, in the log and in problems: a prefix for this start of the process, then a count. At most 15 bytes,
/// which Swift stores without allocating.
package struct RequestIDs: Sendable {
    private static let digits = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    private let prefix: UInt32
    private var count: UInt64 = 0

    /// `random` makes ids of different starts differ.
    package init(random: UInt32) {
        prefix = random & 0x3FFF_FFFF
    }

    package mutating func next() -> String {
        count &+= 1
        var text: [UInt8] = []
        text.reserveCapacity(15)
        Self.append(UInt64(prefix), digits: 6, to: &text)
        text.append(UInt8(ascii: "-"))
        Self.append(count, digits: max(4, min(8, (68 - count.leadingZeroBitCount) / 5)), to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    private static func append(_ value: UInt64, digits count: Int, to text: inout [UInt8]) {
        for place in stride(from: count - 1, through: 0, by: -1) {
            text.append(digits[Int(value >> UInt64(5 * place) & 31)])
        }
    }
}
