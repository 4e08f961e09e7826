import Basics

/// Masks secrets in log lines. No caller should log a secret; this is the last defence.
package enum Redaction {
    private static let prefixes: [[UInt8]] = ["ldl_", "ldt_", "ldp_", "lda_"].map { Array($0.utf8) }
    private static let names: [[UInt8]] = [
        "bearer ", "basic ", "token=", "ticket=", "password=", "\"token\":\"", "\"password\":\"", "\"signature\":\"",
        "\"devicetoken\":\"", "\"privatekey\":\"",
    ].map { Array($0.utf8) }

    /// Masks Ladle's own tokens, and the value after a name that usually stands before a secret.
    package static func scrub(_ text: String) -> String {
        let bytes = Array(text.utf8)
        var out: [UInt8] = []
        var index = 0
        var changed = false
        while index < bytes.count {
            if let shown = lengthOfMarker(bytes, index) {
                var end = index + shown
                while end < bytes.count, isSecretByte(bytes[end]) { end += 1 }
                out.append(contentsOf: bytes[index..<index + shown])
                if end > index + shown {
                    out.append(contentsOf: "…".utf8)
                    changed = true
                }
                index = end
            } else {
                out.append(bytes[index])
                index += 1
            }
        }
        return changed ? String(decoding: out, as: UTF8.self) : text
    }

    /// Shows only the length of a secret.
    package static func mask(_ secret: String) -> String { "(\(secret.utf8.count) bytes)" }

    private static func lengthOfMarker(_ bytes: [UInt8], _ index: Int) -> Int? {
        switch bytes[index] | 0x20 {
        case UInt8(ascii: "l"):
            return prefixes.contains { matches(bytes, index, $0) } ? 4 : nil
        case UInt8(ascii: "b"), UInt8(ascii: "t"), UInt8(ascii: "p"), UInt8(ascii: "\"") | 0x20:
            return names.first { matches(bytes, index, $0) }?.count
        default:
            return nil
        }
    }

    /// Compares without regard to the case of ASCII letters.
    private static func matches(_ bytes: [UInt8], _ index: Int, _ name: [UInt8]) -> Bool {
        guard index + name.count <= bytes.count else { return false }
        for (offset, expected) in name.enumerated() {
            let byte = bytes[index + offset]
            let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
            if lower != expected { return false }
        }
        return true
    }

    private static func isSecretByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "~"), UInt8(ascii: "+"),
            UInt8(ascii: "/"), UInt8(ascii: "="), UInt8(ascii: "%"):
            true
        default: false
        }
    }
}
