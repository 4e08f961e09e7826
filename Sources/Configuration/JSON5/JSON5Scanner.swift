import Basics

/// The tokens of JSON5 over bytes that are known to be UTF-8.
struct JSON5Scanner {
    private let bytes: [UInt8]
    private(set) var offset = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    var isAtEnd: Bool { offset >= bytes.count }
    var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

    mutating func advance() { offset += 1 }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard let peek, UInt32(peek) == character.value else { return false }
        offset += 1
        return true
    }

    func error(_ reason: JSON5Error.Reason, at place: Int? = nil) -> JSON5Error {
        JSON5Error(reason, at: TextPosition(of: place ?? offset, in: bytes))
    }

    /// The character here, for a message.
    var character: String {
        guard let scalar = scalar(at: offset)?.scalar else { return "end of text" }
        let isVisible = scalar.value > 0x20 && scalar.properties.generalCategory != .control
        return isVisible ? "\"\(scalar)\"" : "U+\(String(scalar.value, radix: 16, uppercase: true))"
    }

    /// Size and encoding, before anything else is read; a byte order mark is skipped.
    mutating func checkText() throws(JSON5Error) {
        guard bytes.count <= JSON5Text.maximumBytes else {
            throw JSON5Error(.tooLarge(limit: JSON5Text.maximumBytes), at: TextPosition(line: 1, column: 1))
        }
        var index = 0
        while index < bytes.count {
            guard let found = scalar(at: index) else { throw error(.notUTF8, at: index) }
            index += found.width
        }
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
    }

    // MARK: Blanks

    mutating func skipBlanks() throws(JSON5Error) {
        while let byte = peek {
            switch byte {
            case 0x09...0x0D, 0x20: offset += 1
            case UInt8(ascii: "/"): try skipComment()
            case 0x80...:
                guard let found = scalar(at: offset), Self.isBlank(found.scalar) else { return }
                offset += found.width
            default: return
            }
        }
    }

    private mutating func skipComment() throws(JSON5Error) {
        let start = offset
        offset += 1
        if take("/") {
            while let found = scalar(at: offset), !Self.isLineEnd(found.scalar) { offset += found.width }
        } else if take("*") {
            while offset + 1 < bytes.count {
                if bytes[offset] == UInt8(ascii: "*"), bytes[offset + 1] == UInt8(ascii: "/") {
                    offset += 2
                    return
                }
                offset += 1
            }
            throw error(.unclosedComment, at: start)
        } else {
            throw error(.unexpected("\"/\""), at: start)
        }
    }

    private static func isLineEnd(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\n" || scalar == "\r" || scalar == "\u{2028}" || scalar == "\u{2029}"
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .spaceSeparator, .lineSeparator, .paragraphSeparator: true
        default: scalar == "\u{FEFF}"
        }
    }

    // MARK: Names

    /// An ECMAScript 5.1 identifier name; nil if none starts here.
    mutating func identifier() throws(JSON5Error) -> String? {
        var name = ""
        while let found = scalar(at: offset) {
            var scalar = found.scalar
            var width = found.width
            let start = offset
            if scalar == "\\" {
                offset += 1
                guard take("u") else { throw error(.badEscape, at: start) }
                guard let unit = hexDigits(4), let escaped = Unicode.Scalar(unit) else {
                    throw error(.badEscape, at: start)
                }
                scalar = escaped
                width = offset - start
                offset = start
                guard Self.isNamePart(scalar, first: name.isEmpty) else { throw error(.badEscape, at: start) }
            }
            guard Self.isNamePart(scalar, first: name.isEmpty) else { break }
            name.unicodeScalars.append(scalar)
            offset += width
        }
        return name.isEmpty ? nil : name
    }

    private static func isNamePart(_ scalar: Unicode.Scalar, first: Bool) -> Bool {
        if scalar == "$" || scalar == "_" { return true }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .letterNumber:
            return true
        case .nonspacingMark, .spacingMark, .decimalNumber, .connectorPunctuation:
            return !first
        default:
            return !first && (scalar == "\u{200C}" || scalar == "\u{200D}")
        }
    }

    // MARK: Strings

    mutating func string() throws(JSON5Error) -> String {
        let start = offset
        let quote = bytes[offset]
        offset += 1
        var text: [UInt8] = []
        while let byte = peek {
            switch byte {
            case quote:
                offset += 1
                return String(decoding: text, as: UTF8.self)
            case 0x0A, 0x0D: throw error(.lineBreakInString)
            case UInt8(ascii: "\\"): try escape(into: &text)
            default:
                text.append(byte)
                offset += 1
            }
        }
        throw error(.unclosedString, at: start)
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSON5Error) {
        let start = offset
        offset += 1
        guard let found = scalar(at: offset) else { throw error(.unclosedString, at: start) }
        offset += found.width
        switch found.scalar {
        case "b": text.append(0x08)
        case "f": text.append(0x0C)
        case "n": text.append(0x0A)
        case "r": text.append(0x0D)
        case "t": text.append(0x09)
        case "v": text.append(0x0B)
        case "0":
            guard peek.map({ !(0x30...0x39).contains($0) }) ?? true else { throw error(.badEscape, at: start) }
            text.append(0)
        case "1"..."9": throw error(.badEscape, at: start)
        case "x":
            guard let value = hexDigits(2), let scalar = Unicode.Scalar(value) else {
                throw error(.badEscape, at: start)
            }
            text.append(contentsOf: String(scalar).utf8)
        case "u": text.append(contentsOf: String(try unicodeEscape(start)).utf8)
        case "\r": _ = take("\n")
        case "\n", "\u{2028}", "\u{2029}": break
        default: text.append(contentsOf: String(found.scalar).utf8)
        }
    }

    /// The scalar after `\u`, from one or two UTF-16 units.
    private mutating func unicodeEscape(_ start: Int) throws(JSON5Error) -> Unicode.Scalar {
        guard let high = hexDigits(4) else { throw error(.badEscape, at: start) }
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard high < 0xDC00, take("\\"), take("u"), let low = hexDigits(4), (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
        else { throw error(.loneSurrogate, at: start) }
        return scalar
    }

    private mutating func hexDigits(_ count: Int) -> UInt32? {
        guard offset + count <= bytes.count else { return nil }
        var value: UInt32 = 0
        for index in offset..<offset + count {
            guard let digit = Hex.value(of: bytes[index]) else { return nil }
            value = value << 4 | UInt32(digit)
        }
        offset += count
        return value
    }

    // MARK: Numbers

    /// The JSON form of a number.
    mutating func number() throws(JSON5Error) -> [UInt8] {
        let start = offset
        var sign: [UInt8] = []
        if take("-") { sign = [UInt8(ascii: "-")] } else { _ = take("+") }
        if let first = peek, !(0x30...0x39).contains(first), first != UInt8(ascii: ".") {
            if let word = try identifier(), word == "Infinity" || word == "NaN" {
                throw error(.notFinite(word), at: start)
            }
            throw error(.badNumber, at: start)
        }
        let text = try isHexadecimal ? hexadecimal(start) : decimal(start)
        if let next = scalar(at: offset)?.scalar, Self.isNamePart(next, first: false) || next == "." || next == "\\" {
            throw error(.badNumber, at: start)
        }
        return sign + text
    }

    private var isHexadecimal: Bool {
        offset + 1 < bytes.count && bytes[offset] == 0x30 && bytes[offset + 1] | 0x20 == UInt8(ascii: "x")
    }

    private mutating func hexadecimal(_ start: Int) throws(JSON5Error) -> [UInt8] {
        offset += 2
        var value: UInt64 = 0
        var digits = 0
        while let byte = peek, let digit = Hex.value(of: byte) {
            guard value >> 60 == 0 else { throw error(.numberOutOfRange, at: start) }
            value = value << 4 | UInt64(digit)
            digits += 1
            offset += 1
        }
        guard digits > 0 else { throw error(.badNumber, at: start) }
        return Array(String(value).utf8)
    }

    private mutating func decimal(_ start: Int) throws(JSON5Error) -> [UInt8] {
        let whole = digits()
        guard whole.count <= 1 || whole.first != 0x30 else { throw error(.badNumber, at: start) }
        var fraction: [UInt8] = []
        if take(".") { fraction = digits() }
        guard !whole.isEmpty || !fraction.isEmpty else { throw error(.badNumber, at: start) }
        var exponent: [UInt8] = []
        if let byte = peek, byte | 0x20 == UInt8(ascii: "e") {
            offset += 1
            exponent = [UInt8(ascii: "e")]
            if let sign = peek, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
                exponent.append(sign)
                offset += 1
            }
            let power = digits()
            guard !power.isEmpty else { throw error(.badNumber, at: start) }
            exponent += power
        }
        let text =
            (whole.isEmpty ? [0x30] : whole) + (fraction.isEmpty ? [] : [UInt8(ascii: ".")] + fraction) + exponent
        // More digits than any double or 64-bit integer has, or a power beyond them.
        guard text.count <= 400, let value = Double(String(decoding: text, as: UTF8.self)), value.isFinite else {
            throw error(.numberOutOfRange, at: start)
        }
        return text
    }

    private mutating func digits() -> [UInt8] {
        let start = offset
        while let byte = peek, (0x30...0x39).contains(byte) { offset += 1 }
        return Array(bytes[start..<offset])
    }

    // MARK: UTF-8

    /// The scalar that starts at an offset; nil at the end and for bytes that are not UTF-8 (RFC 3629 §4).
    private func scalar(at index: Int) -> (scalar: Unicode.Scalar, width: Int)? {
        guard index < bytes.count else { return nil }
        let first = bytes[index]
        if first < 0x80 { return (Unicode.Scalar(first), 1) }
        let width = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, first <= 0xF4, index + width <= bytes.count else { return nil }
        var value = UInt32(first) & (0x7F >> UInt32(width))
        for next in bytes[index + 1..<index + width] {
            guard next & 0xC0 == 0x80 else { return nil }
            value = value << 6 | UInt32(next & 0x3F)
        }
        let least: UInt32 = width == 2 ? 0x80 : width == 3 ? 0x800 : 0x10000
        guard value >= least, let scalar = Unicode.Scalar(value) else { return nil }
        return (scalar, width)
    }
}
