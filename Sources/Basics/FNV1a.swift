/// FNV-1a, 64 bits: a short stable name for bytes. It gives no protection against collisions made on purpose.
package enum FNV1a {
    /// The hash of no bytes.
    package static let start: UInt64 = 0xCBF2_9CE4_8422_2325

    /// - Parameter before: the hash of the bytes before these.
    package static func hash(_ bytes: some Sequence<UInt8>, after before: UInt64 = start) -> UInt64 {
        hash(Array(bytes), after: before)
    }

    /// The loop is over an array: over any sequence it would, called from another module, ask for each byte by itself.
    package static func hash(_ bytes: [UInt8], after before: UInt64 = start) -> UInt64 {
        var hash = before
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        return hash
    }

    /// 16 hexadecimal digits.
    package static func name(_ bytes: some Sequence<UInt8>) -> String {
        let text = String(hash(bytes), radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}
