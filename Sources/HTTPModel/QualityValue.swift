/// The weights of content negotiation (RFC 9110 §12.4.2) in thousandths, from 0 to 1000.
enum QualityValue {
    /// Parses a weight such as `0`, `1` or `0.123`; nil when malformed.
    static func thousandths(_ text: ArraySlice<UInt8>) -> Int? {
        guard let first = text.first, first == 0x30 || first == 0x31 else { return nil }
        var weight = first == 0x31 ? 1000 : 0
        var rest = text.dropFirst()
        guard let point = rest.popFirst() else { return weight }
        guard point == 0x2E, rest.count <= 3 else { return nil }
        var unit = 100
        for digit in rest {
            guard ASCII.isDigit(digit) else { return nil }
            weight += Int(digit - 0x30) * unit
            unit /= 10
        }
        return weight <= 1000 ? weight : nil
    }

    /// The weight in the parameter of a list element, such as `q=0.5`: 1000 when it is absent, 0 when it is malformed.
    static func thousandths(ofParameter parameter: ArraySlice<UInt8>?) -> Int {
        guard let parameter else { return 1000 }
        guard parameter.count > 2, parameter.first.map(ASCII.lowercased) == UInt8(ascii: "q"),
            parameter.dropFirst().first == UInt8(ascii: "=")
        else { return 0 }
        return thousandths(parameter.dropFirst(2)) ?? 0
    }
}
