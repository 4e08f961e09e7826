import Basics

/// Words, quotes and expansions; each method starts at its first byte and ends behind its last.
extension ShellLexer {
    mutating func word() -> ShellWord {
        var text: [UInt8] = []
        var isOpaque = false
        var isQuoted = false
        while let byte = current {
            switch byte {
            case UInt8(ascii: "'"):
                isQuoted = true
                singleQuoted(into: &text)
            case UInt8(ascii: "\""):
                isQuoted = true
                doubleQuoted(into: &text, isOpaque: &isOpaque)
            case UInt8(ascii: "\\"):
                position += 1
                if let escaped = current {
                    if escaped != UInt8(ascii: "\n") { text.append(escaped) }
                    position += 1
                }
            case UInt8(ascii: "$"): expansion(into: &text, isOpaque: &isOpaque)
            case UInt8(ascii: "`"):
                isOpaque = true
                copyBackticks(into: &text)
            case UInt8(ascii: "<"), UInt8(ascii: ">"):
                // `<(…)` and `>(…)` are one word; otherwise a redirect begins.
                guard text.isEmpty, !isQuoted, peek(1) == UInt8(ascii: "(") else {
                    return ShellWord(
                        text: String(decoding: text, as: UTF8.self),
                        isOpaque: isOpaque,
                        isQuoted: isQuoted
                    )
                }
                isOpaque = true
                text.append(byte)
                position += 1
                copyBalanced(UInt8(ascii: "("), UInt8(ascii: ")"), into: &text)
            default:
                if Self.endsWord(byte) {
                    return ShellWord(
                        text: String(decoding: text, as: UTF8.self),
                        isOpaque: isOpaque,
                        isQuoted: isQuoted
                    )
                }
                text.append(byte)
                position += 1
            }
        }
        return ShellWord(text: String(decoding: text, as: UTF8.self), isOpaque: isOpaque, isQuoted: isQuoted)
    }

    private mutating func singleQuoted(into text: inout [UInt8]) {
        position += 1
        while let byte = current, byte != UInt8(ascii: "'") {
            text.append(byte)
            position += 1
        }
        position += 1
    }

    private mutating func doubleQuoted(into text: inout [UInt8], isOpaque: inout Bool) {
        position += 1
        while let byte = current, byte != UInt8(ascii: "\"") {
            switch byte {
            case UInt8(ascii: "\\"):
                position += 1
                guard let escaped = current else { return }
                switch escaped {
                case UInt8(ascii: "\n"): break
                case UInt8(ascii: "$"), UInt8(ascii: "`"), UInt8(ascii: "\""), UInt8(ascii: "\\"): text.append(escaped)
                default: text += [UInt8(ascii: "\\"), escaped]
                }
                position += 1
            case UInt8(ascii: "$"): expansion(into: &text, isOpaque: &isOpaque)
            case UInt8(ascii: "`"):
                isOpaque = true
                copyBackticks(into: &text)
            default:
                text.append(byte)
                position += 1
            }
        }
        position += 1
    }

    /// `$X`, `${…}`, `$(…)`, `$((…))`, `$'…'`, `$"…"`; any other dollar stands for itself.
    private mutating func expansion(into text: inout [UInt8], isOpaque: inout Bool) {
        guard let next = peek(1) else {
            text.append(UInt8(ascii: "$"))
            position += 1
            return
        }
        switch next {
        case UInt8(ascii: "("):
            isOpaque = true
            text.append(UInt8(ascii: "$"))
            position += 1
            copyBalanced(UInt8(ascii: "("), UInt8(ascii: ")"), into: &text)
        case UInt8(ascii: "{"):
            isOpaque = true
            text.append(UInt8(ascii: "$"))
            position += 1
            copyBalanced(UInt8(ascii: "{"), UInt8(ascii: "}"), into: &text)
        case UInt8(ascii: "'"):
            position += 1
            ansiQuoted(into: &text)
        default:
            let names = next.isASCIILetter || next.isASCIIDigit || "_@*#?$!-".utf8.contains(next)
            if names { isOpaque = true }
            text.append(UInt8(ascii: "$"))
            position += 1
        }
    }

    private mutating func ansiQuoted(into text: inout [UInt8]) {
        position += 1
        while let byte = current, byte != UInt8(ascii: "'") {
            position += 1
            guard byte == UInt8(ascii: "\\"), let escaped = current else {
                text.append(byte)
                continue
            }
            position += 1
            switch escaped {
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "r"): text.append(0x0D)
            default: text.append(escaped)
            }
        }
        position += 1
    }

    private mutating func copyBackticks(into text: inout [UInt8]) {
        text.append(UInt8(ascii: "`"))
        position += 1
        while let byte = current {
            text.append(byte)
            position += 1
            if byte == UInt8(ascii: "`") { return }
            if byte == UInt8(ascii: "\\"), let escaped = current {
                text.append(escaped)
                position += 1
            }
        }
    }

    /// Copies from an opening bracket to its partner; brackets inside quotes do not count.
    private mutating func copyBalanced(_ open: UInt8, _ close: UInt8, into text: inout [UInt8]) {
        var depth = 0
        while let byte = current {
            text.append(byte)
            position += 1
            switch byte {
            case open: depth += 1
            case close:
                depth -= 1
                if depth == 0 { return }
            case UInt8(ascii: "\\"):
                if let escaped = current {
                    text.append(escaped)
                    position += 1
                }
            case UInt8(ascii: "'"), UInt8(ascii: "\""):
                while let quoted = current {
                    text.append(quoted)
                    position += 1
                    if quoted == byte { break }
                    if quoted == UInt8(ascii: "\\"), byte == UInt8(ascii: "\""), let escaped = current {
                        text.append(escaped)
                        position += 1
                    }
                }
            default: break
            }
        }
    }

    /// The lines up to the tag's own line, which is dropped.
    mutating func documentBody(_ document: PendingDocument) -> String {
        var body: [UInt8] = []
        let tag = Array(document.tag.utf8)
        while position < bytes.count {
            var end = position
            while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
            var start = position
            if document.stripsTabs { while start < end, bytes[start] == UInt8(ascii: "\t") { start += 1 } }
            let line = bytes[start..<end]
            position = min(end + 1, bytes.count)
            let bare = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            if bare.elementsEqual(tag) { break }
            body += line
            body.append(UInt8(ascii: "\n"))
        }
        return String(decoding: body, as: UTF8.self)
    }
}
