/// The error correction of QR codes: the remainder of a polynomial division in the field of 256 elements with the
/// polynomial x^8 + x^4 + x^3 + x^2 + 1.
package enum ReedSolomon {
    package static func remainder(of data: [UInt8], count: Int) -> [UInt8] {
        let divisor = divisor(count)
        var rest = [UInt8](repeating: 0, count: count)
        for byte in data {
            let factor = byte ^ rest.removeFirst()
            rest.append(0)
            for place in rest.indices { rest[place] ^= product(divisor[place], factor) }
        }
        return rest
    }

    /// (x - 1)(x - a)(x - a²)… without its first coefficient, which is 1.
    private static func divisor(_ count: Int) -> [UInt8] {
        var coefficients = [UInt8](repeating: 0, count: count - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<count {
            for place in coefficients.indices {
                coefficients[place] = product(coefficients[place], root)
                if place + 1 < count { coefficients[place] ^= coefficients[place + 1] }
            }
            root = product(root, 2)
        }
        return coefficients
    }

    private static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var result: UInt8 = 0
        for place in (0..<8).reversed() {
            result = result << 1 ^ (result >> 7) &* 0x1D
            result ^= (right >> UInt8(place) & 1) &* left
        }
        return result
    }
}
