import Basics

/// IDENTITY.md or USER.md: its bytes and the fields read from them. Any bytes can be read; an edit changes single lines and
/// keeps every other byte.
package struct FieldDocument: Sendable {
    /// The gateway does not load larger files.
    package static let maximumBytes = 2 << 20

    package let kind: DocumentKind
    package let bytes: [UInt8]
    package let fields: DocumentFields
    private let scan: DocumentScan

    package init(kind: DocumentKind, bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
        scan = DocumentScan(bytes, kind: kind)
        fields = Self.fields(of: scan)
    }

    /// The file with these fields set; an empty value clears a field. Without a change the bytes are the same. A value that
    /// would not be read back as given is refused.
    package func edited(_ changes: [DocumentField: String]) throws(FieldError) -> [UInt8] {
        var wanted: [DocumentField: String] = [:]
        var expected = fields
        for field in DocumentField.allCases {
            guard let text = changes[field] else { continue }
            guard kind.fields.contains(field) else {
                throw .unknownField(field.rawValue, nearest: nil)
            }
            let value = FieldValue.written(text)
            if value.isSameText(as: fields[field] ?? "") { continue }
            guard value.unicodeScalars.count <= field.maximumLength else {
                throw .tooLong(field, length: value.unicodeScalars.count, limit: field.maximumLength)
            }
            guard !FieldValue.isPlaceholder(value) else { throw .placeholder(field) }
            wanted[field] = value
            expected[field] = value
        }
        if wanted.isEmpty { return bytes }
        let result = DocumentEdit(scan).applying(wanted)
        guard result.count <= Self.maximumBytes else {
            throw .fileTooLarge(bytes: result.count, limit: Self.maximumBytes)
        }
        let read = Self.fields(of: DocumentScan(result, kind: kind))
        for field in kind.fields where !(read[field] ?? "").isSameText(as: expected[field] ?? "") {
            throw .unrepresentable(
                wanted[field] != nil ? field : wanted.keys.min { $0.rawValue < $1.rawValue } ?? field
            )
        }
        guard read.directives == expected.directives else { throw .unrepresentable(.context) }
        return result
    }

    private static func fields(of scan: DocumentScan) -> DocumentFields {
        var fields = DocumentFields()
        for occurrence in scan.occurrences where !occurrence.value.isEmpty {
            fields[occurrence.form.field] = occurrence.value
        }
        if let section = scan.context, !section.content.isEmpty {
            let text = FieldValue.trim(
                section.content.map { scan.lines.text(scan.lines[$0].start..<scan.lines[$0].end) }
                    .joined(separator: "\n")
            )
            fields[.context] = FieldValue.isPlaceholder(text) ? nil : text
        }
        if scan.kind == .profile { fields.directives = scan.directives }
        return fields
    }

    /// Refuses a whole file that the gateway would not load or that JSON cannot carry.
    package static func validate(_ bytes: [UInt8]) throws(FieldError) {
        guard bytes.count <= maximumBytes else { throw .fileTooLarge(bytes: bytes.count, limit: maximumBytes) }
        if let offset = bytes.firstIndex(of: 0) { throw .nulByte(offset: offset) }
        var decoder = UTF8()
        var iterator = bytes.makeIterator()
        var offset = 0
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue(let scalar): offset += UTF8.width(scalar)
            case .emptyInput: return
            case .error: throw .notUTF8(offset: offset)
            }
        }
    }
}
