import Basics
package import JSONBytes

/// A JSON5 text (json5.org, version 1.0.0) turned into the JSON it stands for, with the way back from a value to its line.
package struct JSON5Text: Sendable {
    /// A person writes the configuration, so a mebibyte of it is a mistake.
    package static let maximumBytes = 1 << 20
    static let maximumDepth = 32

    package let document: JSONDocument
    private let source: [UInt8]
    /// The start of each value, in the JSON and in the source, in ascending order.
    private let places: [JSON5Parser.Place]

    package init(parsing source: [UInt8]) throws(JSON5Error) {
        var parser = JSON5Parser(source)
        try parser.parse()
        do throws(JSONError) {
            document = try JSONDocument(
                parsing: parser.json.bytes,
                limits: JSONLimits(depth: Self.maximumDepth + 1, bytes: 16 * Self.maximumBytes)
            )
        } catch {
            // The parser writes only JSON; the remaining possible error is a number too large for any reader.
            throw JSON5Error(.badNumber, at: TextPosition(line: 1, column: 1))
        }
        self.source = source
        places = parser.places
    }

    package init(parsing text: String) throws(JSON5Error) { try self.init(parsing: Array(text.utf8)) }

    /// Whether the source has only blanks and comments.
    package static func isEmpty(_ source: [UInt8]) -> Bool {
        var scanner = JSON5Scanner(source)
        do throws(JSON5Error) {
            try scanner.checkText()
            try scanner.skipBlanks()
            return scanner.isAtEnd
        } catch {
            return false
        }
    }

    package var root: JSONValue { document.root }

    /// The plain JSON.
    package var json: [UInt8] { document.bytes }

    /// The position of a value of `document` in the source.
    package func position(of value: JSONValue) -> TextPosition {
        let behind = places.partitioningIndex { $0.json > value.offset }
        return TextPosition(of: behind > 0 ? places[behind - 1].source : 0, in: source)
    }
}
