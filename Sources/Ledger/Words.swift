import Basics
package import Gateway

/// A text in the one form in which texts are compared: what a message said, what a row of the transcript shows, what a prompt quotes.
///
/// Gateways store a message in ways of their own. 2026.3.1 makes one blank of every run of blanks, line feeds, tabs and no-break spaces,
/// and composes accents (recording `two-lines`); all releases take control characters out, put an envelope in front, and cut long texts.
/// So this form has one blank for each run of white space and none at the ends, no control characters and no envelope. Swift compares
/// letters by what they mean, so a composed accent equals a separate one.
package struct Words: Sendable, Hashable {
    /// The beginning of the form, longer than any gateway shows of a row.
    package let text: String
    /// A hash of what follows. Prompts that a program makes often differ only at their ends.
    private let rest: Int
    /// A row shows only the beginning of the message.
    private let isCut: Bool

    private static let mostCharacters = 16_000
    /// A cut row has at least this many characters of the message: gateways cut at 8,000 or 12,000 UTF-16 units, envelope included, and
    /// one character may take many units.
    private static let fewestShown = 1_000
    /// The longest mark that a gateway puts behind the beginning.
    private static let longestMark = 64

    package init(_ text: String) { self.init(text, isCut: false) }

    /// The words of a row.
    package init(_ row: TranscriptRow) { self.init(row.cutText ?? row.text, isCut: row.cutText != nil) }

    private init(_ text: String, isCut: Bool) {
        let whole = Self.form(InboundEnvelope.stripped(text))
        // A character has at least one byte.
        let end =
            whole.utf8.count <= Self.mostCharacters
            ? nil : whole.index(whole.startIndex, offsetBy: Self.mostCharacters, limitedBy: whole.endIndex)
        self.text = end.map { String(whole[..<$0]) } ?? whole
        rest = end.map { whole[$0...].hashValue } ?? 0
        self.isCut = isCut
    }

    /// The messages of a user's row: a busy gateway answers several in one turn.
    package static func messages(of row: TranscriptRow) -> [Words] {
        InboundEnvelope.joined(row.text)?.map { Words($0) } ?? [Words(row)]
    }

    private enum Part {
        case letter
        case blank
        /// Left out.
        case control
    }

    private static func part(_ scalar: Unicode.Scalar) -> Part {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x20, 0xFEFF: .blank
        case 0x21...0x7E: .letter
        case ..<0xA0: .control
        default: scalar.properties.isWhitespace ? .blank : .letter
        }
    }

    private static func form(_ text: String) -> String {
        var form: [UInt8] = []
        form.reserveCapacity(text.utf8.count)
        var isBlankDue = false
        for scalar in text.unicodeScalars {
            switch part(scalar) {
            case .blank: isBlankDue = true
            case .control: continue
            case .letter:
                if isBlankDue, !form.isEmpty { form.append(UInt8(ascii: " ")) }
                isBlankDue = false
                if scalar.isASCII {
                    form.append(UInt8(truncatingIfNeeded: scalar.value))
                } else {
                    form.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
                }
            }
        }
        return String(decoding: form, as: UTF8.self)
    }

    /// Whether a text has any words; cheaper than forming them.
    package static func areIn(_ text: String) -> Bool {
        InboundEnvelope.stripped(text).unicodeScalars.contains { part($0) == .letter }
    }

    /// A message of pictures alone has no words, and a row that the gateway left out shows none.
    package var isEmpty: Bool { text.isEmpty }

    /// A command: the gateway itself answers it.
    package var isCommand: Bool { text.hasPrefix("/") || text.hasPrefix("!") }

    // MARK: Comparing

    /// Whether a row with these words shows the message: all of it, or, if the row is cut, its beginning. A message without words is
    /// shown by what the gateway writes in their place.
    package func show(_ message: Words) -> Bool {
        guard !isEmpty else { return false }
        if message.isEmpty { return text == InboundEnvelope.wordless }
        // The last character may be cut in two.
        return isCut ? message.text.hasPrefix(text.dropLast(1)) : self == message
    }

    /// Whether a row with these words may show the message all the same: the gateway left the text out, or cut it with a mark that
    /// Ladle does not know. A row that only ends with the message is another one: "is that ok" is not "ok" (recording
    /// `equal-words-doubt`).
    package func mayShow(_ message: Words) -> Bool {
        if show(message) || self == message || (isCut && isEmpty) { return true }
        let agreeing = zip(text, message.text).prefix { $0 == $1 }.count
        return agreeing >= Self.fewestShown && text.count - agreeing <= Self.longestMark
    }

    /// Whether these words contain others, or their beginning. Blanks do not count: a note of an aborted run and the texts of the rows
    /// that it repeats differ in them.
    package func quote(_ other: Words, first: Int = .max) -> Bool {
        let wanted = String(other.text.lazy.filter { $0 != " " }.prefix(first))
        return text.filter { $0 != " " }.containsText(wanted)
    }

    /// The words of several rows as one text.
    package static func joined(_ parts: [Words]) -> Words { Words(parts.map(\.text).joined(separator: " ")) }
}
