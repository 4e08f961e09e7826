import Basics

/// Values in the readable form, quoted only if necessary.
enum LogText {
    static func append(_ text: String, to line: inout [UInt8]) {
        if !text.isEmpty, text.utf8.allSatisfy(isBare) {
            line.append(contentsOf: text.utf8)
            return
        }
        line.append(UInt8(ascii: "\""))
        for scalar in text.unicodeScalars { append(scalar, to: &line) }
        line.append(UInt8(ascii: "\""))
    }

    /// Letters, digits and the punctuation of names, URLs and times.
    private static func isBare(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "=")
            && byte != UInt8(ascii: "\\")
    }

    /// Controls, line separators and the characters that reorder text are written as escapes: a value can neither end
    /// its line, nor drive a terminal, nor disguise the text after it.
    private static func append(_ scalar: Unicode.Scalar, to line: inout [UInt8]) {
        switch scalar {
        case "\"": line.append(ascii: "\\\"")
        case "\\": line.append(ascii: "\\\\")
        case "\n": line.append(ascii: "\\n")
        case "\r": line.append(ascii: "\\r")
        case "\t": line.append(ascii: "\\t")
        default:
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                line.append(ascii: "\\u{\(String(scalar.value, radix: 16))}")
            default:
                line.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
    }
}
