/// The reason why a change of fields is refused. The file is not changed.
package enum FieldError: Error, Equatable, Sendable {
    case notAnObject
    case unknownField(String, nearest: String?)
    case readOnlyField(String)
    case wrongType(DocumentField, found: String)
    case lineBreak(DocumentField)
    case controlCharacter(DocumentField, scalar: UInt32)
    /// U+FFFD marks bytes that a reader could not decode.
    case notText(DocumentField)
    case tooLong(DocumentField, length: Int, limit: Int)
    /// The value is a hint from the templates, which every reader takes for "not set".
    case placeholder(DocumentField)
    /// In the file, the value would mean something else: a heading in `context`, a comment, marks around a name.
    case unrepresentable(DocumentField)
    case fileTooLarge(bytes: Int, limit: Int)
    case notUTF8(offset: Int)
    case nulByte(offset: Int)

    /// The API name of the refused field.
    package var field: String? {
        switch self {
        case .unknownField(let name, _), .readOnlyField(let name): name
        case .wrongType(let field, _), .lineBreak(let field), .controlCharacter(let field, _),
            .notText(let field), .tooLong(let field, _, _), .placeholder(let field), .unrepresentable(let field):
            field.rawValue
        case .notAnObject, .fileTooLarge, .notUTF8, .nulByte: nil
        }
    }

    package var message: String {
        switch self {
        case .notAnObject: "the body must be a JSON object of fields"
        case .unknownField(let name, let nearest):
            "unknown field \"\(name)\"" + (nearest.map { ", did you mean \"\($0)\"?" } ?? "")
        case .readOnlyField(let name): "\"\(name)\" can be read but not set"
        case .wrongType(let field, let found): "\"\(field.rawValue)\" must be a string or null, not \(found)"
        case .lineBreak(let field): "\"\(field.rawValue)\" takes a single line"
        case .controlCharacter(let field, let scalar):
            "\"\(field.rawValue)\" holds the control character U+\(Self.hex(scalar))"
        case .notText(let field): "\"\(field.rawValue)\" holds U+FFFD or half a surrogate pair, which is no text"
        case .tooLong(let field, let length, let limit):
            "\"\(field.rawValue)\" has \(length) characters, at most \(limit) are allowed"
        case .placeholder(let field):
            "the value of \"\(field.rawValue)\" is a hint of the file's template and would be read as empty"
        case .unrepresentable(let field):
            "the value of \"\(field.rawValue)\" would not be read back from the file as it was sent: "
                + (field == .context
                    ? "a heading, a rule, a comment or an open code block would end it"
                    : "Markdown marks around it, comments, and white space at the ends of a line are not part of a value")
        case .fileTooLarge(let bytes, let limit): "the file would have \(bytes) bytes, at most \(limit) are allowed"
        case .notUTF8(let offset): "the file is not UTF-8 at byte \(offset)"
        case .nulByte(let offset): "the file holds a NUL at byte \(offset)"
        }
    }

    private static func hex(_ value: UInt32) -> String {
        let digits = String(value, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
