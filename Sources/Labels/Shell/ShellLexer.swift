import Basics

/// Splits a command line into commands and words, as far as a label needs it. Quotes, escapes, comments, here-documents
/// and redirections are read; expansions are kept as they are. It never fails: open quotes and brackets end with the text.
struct ShellLexer {
    private let bytes: [UInt8]
    private var position = 0

    private var commands: [SimpleCommand] = []
    private var command = SimpleCommand()
    /// Whether an earlier command of this pipeline was read.
    private var isPiped = false
    /// Open brackets around the command.
    private var depth = 0
    private var waiting: [PendingDocument] = []

    /// The word being read.
    private var text: [UInt8] = []
    private var isOpaque = false
    private var isQuoted = false

    /// A here-document whose body starts after the next line end. The command that it feeds may have ended by then.
    private struct PendingDocument {
        var tag: String
        var stripsTabs: Bool
        /// Index of the command.
        var command: Int
    }

    static func commands(of text: String) -> [SimpleCommand] {
        var lexer = ShellLexer(text)
        lexer.run()
        return lexer.commands
    }

    private init(_ text: String) {
        bytes = Array(text.utf8.prefix(LabelLimits.commandBytes))
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private var next: UInt8? { position + 1 < bytes.count ? bytes[position + 1] : nil }

    // MARK: commands

    private mutating func run() {
        while let byte = current {
            switch byte {
            case " ", "\t", "\r": position += 1
            case ";", "\n":
                position += 1
                endPipeline()
                if byte == "\n" { takeDocuments() }
            case "#": while let byte = current, byte != "\n" { position += 1 }
            case "&" where next == ">":
                position += 1
                redirection(descriptor: nil)
            case "&", "|":
                let isPipe = byte == "|" && next != "|"
                position += next == "&" || next == byte ? 2 : 1
                if isPipe { endCommand() } else { endPipeline() }
            case "(": openBracket()
            case ")": closeBracket()
            case "<", ">": redirection(descriptor: nil)
            default: wordOrDescriptor()
            }
        }
        endPipeline()
    }

    /// `name()` defines a function: neither the name nor the brackets are a command.
    private mutating func openBracket() {
        let touchesWord = position > 0 && !Self.isBlank(bytes[position - 1]) && command.words.count == 1
        position += 1
        if touchesWord, current == ")" {
            position += 1
            command.words.removeAll()
        } else {
            depth += 1
        }
    }

    /// A bracket that nothing opened ends a pattern of `case`.
    private mutating func closeBracket() {
        position += 1
        if depth > 0 { depth -= 1 } else { command.words.removeAll() }
    }

    private mutating func endCommand() {
        let awaitsDocument = waiting.contains { $0.command == commands.count }
        if !command.isEmpty || awaitsDocument {
            command.isPiped = isPiped
            commands.append(command)
            isPiped = true
        }
        command = SimpleCommand()
    }

    /// At `&&`, `||`, `;`, `&` and line ends.
    private mutating func endPipeline() {
        endCommand()
        isPiped = false
    }

    // MARK: redirections

    /// Reads a word, or digits right before a redirection, which name its descriptor.
    private mutating func wordOrDescriptor() {
        let start = position
        while let byte = current, byte.isASCIIDigit { position += 1 }
        if position > start, current == "<" || current == ">" {
            return redirection(descriptor: String(decoding: bytes[start..<position], as: UTF8.self))
        }
        position = start
        command.words.append(word())
    }

    private mutating func redirection(descriptor: String?) {
        // `<(…)` and `>(…)` are words.
        if next == "(" { return command.words.append(word()) }
        let isInput = current == "<"
        position += 1
        if isInput { return input() }
        let appends = current == ">"
        if appends || current == "|" { position += 1 }
        let duplicates = current == "&"
        if duplicates { position += 1 }
        guard let target = operand() else { return }
        if duplicates, target.text.utf8.allSatisfy({ $0.isASCIIDigit || $0 == "-" }) { return }
        guard descriptor == nil || descriptor == "1", !Self.sinks.contains(target.text) else { return }
        if command.output == nil { command.output = SimpleCommand.Output(target: target, appends: appends) }
    }

    private mutating func input() {
        guard current == "<", next != "<" else {
            while current == "<" || current == "&" || current == ">" { position += 1 }
            _ = operand()
            return
        }
        position += 1
        let stripsTabs = current == "-"
        if stripsTabs { position += 1 }
        guard let tag = operand()?.text else { return }
        waiting.append(PendingDocument(tag: tag, stripsTabs: stripsTabs, command: commands.count))
    }

    /// The word after a redirection, if there is one.
    private mutating func operand() -> ShellWord? {
        while current == " " || current == "\t" { position += 1 }
        guard let byte = current, !Self.endsWord(byte) else { return nil }
        return word()
    }

    /// Reads the bodies of here-documents, which follow the line that named them, in order.
    private mutating func takeDocuments() {
        for document in waiting {
            let body = documentBody(document)
            if document.command < commands.count { commands[document.command].documents.append(body) }
        }
        waiting.removeAll()
    }

    /// The lines up to the tag's own line, which is dropped.
    private mutating func documentBody(_ document: PendingDocument) -> String {
        var body: [UInt8] = []
        while position < bytes.count {
            let end = bytes[position...].firstIndex { $0 == "\n" } ?? bytes.count
            var line = bytes[position..<end]
            position = min(end + 1, bytes.count)
            if document.stripsTabs { line = line.drop { $0 == "\t" } }
            let bare = line.last == "\r" ? line.dropLast() : line
            if bare.elementsEqual(document.tag.utf8) { break }
            body += line
            body.append(0x0A)
        }
        return String(decoding: body, as: UTF8.self)
    }

    // MARK: words (each method starts at the first byte and ends after the last)

    private mutating func word() -> ShellWord {
        (text, isOpaque, isQuoted) = ([], false, false)
        reading: while let byte = current {
            switch byte {
            case "'": singleQuoted()
            case "\"": doubleQuoted()
            case "\\":
                position += 1
                if current == "\n" { position += 1 } else { take() }
            case "$": expansion()
            case "`": backticks()
            case "<", ">":
                guard text.isEmpty, !isQuoted, next == "(" else { break reading }
                isOpaque = true
                take()
                balanced("(", ")")
            default:
                if Self.endsWord(byte) { break reading }
                take()
            }
        }
        return ShellWord(text: String(decoding: text, as: UTF8.self), isOpaque: isOpaque, isQuoted: isQuoted)
    }

    /// Copies one byte into the word.
    private mutating func take() {
        guard let byte = current else { return }
        text.append(byte)
        position += 1
    }

    private mutating func singleQuoted() {
        isQuoted = true
        position += 1
        while let byte = current, byte != "'" { take() }
        position += 1
    }

    private mutating func doubleQuoted() {
        isQuoted = true
        position += 1
        while let byte = current, byte != "\"" {
            switch byte {
            case "\\":
                position += 1
                switch current {
                case nil: return
                case "\n"?: position += 1
                case "$"?, "`"?, "\""?, "\\"?: take()
                default:
                    text.append(byte)
                    take()
                }
            case "$": expansion()
            case "`": backticks()
            default: take()
            }
        }
        position += 1
    }

    /// `$X`, `${…}`, `$(…)`, `$((…))`, `$'…'`, `$"…"`; any other dollar stands for itself.
    private mutating func expansion() {
        switch next {
        case "("?:
            isOpaque = true
            take()
            balanced("(", ")")
        case "{"?:
            isOpaque = true
            take()
            balanced("{", "}")
        case "'"?:
            position += 1
            escapeQuoted()
        case let next?:
            if next.isASCIILetter || next.isASCIIDigit || "_@*#?$!-".utf8.contains(next) { isOpaque = true }
            take()
        case nil: take()
        }
    }

    /// `$'…'`, with the escapes of C.
    private mutating func escapeQuoted() {
        position += 1
        while let byte = current, byte != "'" {
            guard byte == "\\" else {
                take()
                continue
            }
            position += 1
            guard let escaped = current else { return text.append(byte) }
            text.append(Self.escapes[escaped] ?? escaped)
            position += 1
        }
        position += 1
    }

    /// `\n`, `\t`, `\r`.
    private static let escapes: [UInt8: UInt8] = [0x6E: 0x0A, 0x74: 0x09, 0x72: 0x0D]

    private mutating func backticks() {
        isOpaque = true
        take()
        copy(through: "`", escapes: true)
    }

    /// Copies up to a closing mark and the mark itself.
    private mutating func copy(through mark: Unicode.Scalar, escapes: Bool) {
        while let byte = current {
            take()
            if byte == mark { return }
            if escapes, byte == "\\" { take() }
        }
    }

    /// Copies from an opening bracket to its partner; brackets inside quotes do not count.
    private mutating func balanced(_ open: Unicode.Scalar, _ close: Unicode.Scalar) {
        var depth = 0
        while let byte = current {
            take()
            switch byte {
            case open: depth += 1
            case close:
                depth -= 1
                if depth == 0 { return }
            case "\\": take()
            case "'", "\"": copy(through: Unicode.Scalar(byte), escapes: byte == "\"")
            default: break
            }
        }
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == " " || (9...13).contains(byte) }

    private static func endsWord(_ byte: UInt8) -> Bool {
        switch byte {
        case ";", "&", "|", "<", ">", "(", ")": true
        default: isBlank(byte)
        }
    }

    /// Outputs that are not files.
    private static let sinks: Set<String> = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"]
}
