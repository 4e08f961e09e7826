/// Writes the fields of packets (MQTT 5 §1.5).
struct MQTTWriter {
    var bytes: [UInt8] = []

    mutating func byte(_ value: UInt8) { bytes.append(value) }

    mutating func two(_ value: UInt16) {
        bytes.append(UInt8(truncatingIfNeeded: value >> 8))
        bytes.append(UInt8(truncatingIfNeeded: value))
    }

    mutating func four(_ value: UInt32) {
        two(UInt16(truncatingIfNeeded: value >> 16))
        two(UInt16(truncatingIfNeeded: value))
    }

    mutating func variable(_ value: Int) { Self.variable(value, to: &bytes) }

    mutating func text(_ value: String) throws(MQTTFormatError) {
        guard !value.utf8.contains(0) else { throw .textWithNUL }
        guard let size = UInt16(exactly: value.utf8.count) else { throw .fieldTooLong }
        two(size)
        bytes.append(contentsOf: value.utf8)
    }

    mutating func binary(_ value: [UInt8]) throws(MQTTFormatError) {
        guard let size = UInt16(exactly: value.count) else { throw .fieldTooLong }
        two(size)
        bytes += value
    }

    static func variable(_ value: Int, to output: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            output.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        output.append(UInt8(truncatingIfNeeded: rest))
    }
}
