import Basics

/// Splits a command line into stages, parts and words, as far as a label needs it: quotes, escapes, comments,
/// here-documents and redirects are understood, expansions stay opaque. It never fails: what is left open ends at the end.
struct ShellLexer {
    let bytes: [UInt8]
    var position = 0
    var waiting: [PendingDocument] = []
    private var stages: [ShellStage] = []
    private var stage = ShellStage()
    private var part = ShellPart()
    private var depth = 0

    /// A here-document whose body starts behind the next new line, and the part it feeds, which may be closed by then.
    struct PendingDocument {
        var tag: String
        var stripsTabs: Bool
        var stage: Int
        var part: Int
    }

    static func stages(of text: String) -> [ShellStage] {
        var lexer = ShellLexer(text)
        lexer.run()
        return lexer.stages
    }

    private init(_ text: String) {
        bytes = Array(text.utf8.prefix(LabelLimits.commandBytes))
    }

    var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    func peek(_ distance: Int) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private mutating func run() {
        while let byte = current {
            switch byte {
            case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): position += 1
            case UInt8(ascii: "\n"):
                position += 1
                endStage()
                takeDocuments()
            case UInt8(ascii: ";"):
                position += 1
                endStage()
            case UInt8(ascii: "#"):
                while let next = current, next != UInt8(ascii: "\n") { position += 1 }
            case UInt8(ascii: "&"): ampersand()
            case UInt8(ascii: "|"): pipe()
            case UInt8(ascii: "("): openParenthesis()
            case UInt8(ascii: ")"): closeParenthesis()
            case UInt8(ascii: "<"), UInt8(ascii: ">"): redirect(descriptor: nil)
            default: wordOrDescriptor()
            }
        }
        endStage()
    }

    private mutating func ampersand() {
        if peek(1) == UInt8(ascii: ">") {
            position += 1
            return redirect(descriptor: nil)
        }
        position += peek(1) == UInt8(ascii: "&") ? 2 : 1
        endStage()
    }

    private mutating func pipe() {
        if peek(1) == UInt8(ascii: "|") {
            position += 2
            return endStage()
        }
        position += peek(1) == UInt8(ascii: "&") ? 2 : 1
        endPart()
    }

    /// `name()` defines a function: neither the name nor the brackets are a command.
    private mutating func openParenthesis() {
        let touchesWord = position > 0 && !Self.isBlank(bytes[position - 1]) && part.words.count == 1
        position += 1
        if touchesWord, current == UInt8(ascii: ")") {
            position += 1
            part.words.removeAll()
        } else {
            depth += 1
        }
    }

    /// Outside brackets it ends a pattern of `case`.
    private mutating func closeParenthesis() {
        position += 1
        if depth > 0 { depth -= 1 } else { part.words.removeAll() }
    }

    /// Digits right before a redirect name its descriptor.
    private mutating func wordOrDescriptor() {
        let start = position
        while let byte = current, byte.isASCIIDigit { position += 1 }
        if position > start, let byte = current, byte == UInt8(ascii: "<") || byte == UInt8(ascii: ">") {
            return redirect(descriptor: String(decoding: bytes[start..<position], as: UTF8.self))
        }
        position = start
        part.words.append(word())
    }

    private mutating func redirect(descriptor: String?) {
        guard let operatorByte = current else { return }
        position += 1
        if operatorByte == UInt8(ascii: "<") { return input() }
        var appends = false
        if current == UInt8(ascii: ">") {
            position += 1
            appends = true
        } else if current == UInt8(ascii: "|") {
            position += 1
        } else if current == UInt8(ascii: "(") {
            position -= 1
            return part.words.append(word())
        }
        let duplicates = current == UInt8(ascii: "&")
        if duplicates { position += 1 }
        skipBlanks()
        guard let byte = current, !Self.endsWord(byte) else { return }
        let target = word()
        if duplicates, target.text.utf8.allSatisfy({ $0.isASCIIDigit || $0 == UInt8(ascii: "-") }) { return }
        guard descriptor == nil || descriptor == "1", !Self.sinks.contains(target.text), part.output == nil else {
            return
        }
        part.output = ShellOutput(target: target, appends: appends)
    }

    private mutating func input() {
        if current == UInt8(ascii: "(") {
            position -= 1
            return part.words.append(word())
        }
        if current == UInt8(ascii: "<"), peek(1) != UInt8(ascii: "<") {
            position += 1
            return startDocument()
        }
        while let byte = current, byte == UInt8(ascii: "<") || byte == UInt8(ascii: "&") || byte == UInt8(ascii: ">") {
            position += 1
        }
        skipBlanks()
        if let byte = current, !Self.endsWord(byte) {
            _ = word()
        }
    }

    private mutating func startDocument() {
        let stripsTabs = current == UInt8(ascii: "-")
        if stripsTabs { position += 1 }
        skipBlanks()
        guard let byte = current, !Self.endsWord(byte) else { return }
        let tag = word().text
        waiting.append(
            PendingDocument(tag: tag, stripsTabs: stripsTabs, stage: stages.count, part: stage.parts.count)
        )
    }

    /// Bodies follow the line that named them, in order.
    private mutating func takeDocuments() {
        for document in waiting {
            let body = documentBody(document)
            if document.stage < stages.count, document.part < stages[document.stage].parts.count {
                stages[document.stage].parts[document.part].documents.append(body)
            }
        }
        waiting.removeAll()
    }

    private mutating func endPart() {
        if !part.isEmpty || waiting.contains(where: { $0.stage == stages.count && $0.part == stage.parts.count }) {
            stage.parts.append(part)
        }
        part = ShellPart()
    }

    private mutating func endStage() {
        endPart()
        if !stage.parts.isEmpty { stages.append(stage) }
        stage = ShellStage()
    }

    private mutating func skipBlanks() {
        while let byte = current, byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") { position += 1 }
    }

    static func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || (9...13).contains(byte) }

    static func endsWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ";"), UInt8(ascii: "&"), UInt8(ascii: "|"), UInt8(ascii: "<"), UInt8(ascii: ">"),
            UInt8(ascii: "("), UInt8(ascii: ")"):
            true
        default: isBlank(byte)
        }
    }

    private static let sinks: Set<String> = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"]
}
