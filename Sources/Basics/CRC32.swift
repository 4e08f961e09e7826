/// The checksum of PNG, gzip and Ethernet: the reflected polynomial 0xEDB88320.
package enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { value, _ in value & 1 == 1 ? 0xEDB8_8320 ^ value >> 1 : value >> 1 }
    }

    package static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(.max) { value, byte in table[Int((value ^ UInt32(byte)) & 0xFF)] ^ value >> 8 }
    }
}
