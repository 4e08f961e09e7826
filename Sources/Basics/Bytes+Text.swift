/// Number and text helpers over bytes, for code that builds output without strings.
extension [UInt8] {
    package mutating func append(ascii text: String) {
        append(contentsOf: text.utf8)
    }

    package mutating func append(decimal value: some FixedWidthInteger) {
        if value < 0 { append(UInt8(ascii: "-")) }
        var rest = UInt64(truncatingIfNeeded: value.magnitude)
        var divisor: UInt64 = 1
        while rest / divisor >= 10 { divisor *= 10 }
        while divisor > 0 {
            append(UInt8(ascii: "0") + UInt8(rest / divisor))
            rest %= divisor
            divisor /= 10
        }
    }
}
