import Basics
package import JSONBytes

/// A change of fields that a client wants: a JSON merge patch (RFC 7396), checked before any file is read.
package struct FieldPatch: Sendable, Equatable {
    package let kind: DocumentKind
    /// The new values; an empty one clears the field.
    package private(set) var changes: [DocumentField: String] = [:]

    package init(kind: DocumentKind, changes: [DocumentField: String]) {
        self.kind = kind
        self.changes = changes
    }

    /// The body of a PATCH: fields, each a string, or null to clear it.
    package init(kind: DocumentKind, merging body: JSONValue) throws(FieldError) {
        try self.init(kind: kind, body, isLenient: false)
    }

    /// - Parameter isLenient: unknown names are ignored.
    private init(kind: DocumentKind, _ body: JSONValue, isLenient: Bool) throws(FieldError) {
        self.kind = kind
        guard body.kind == .object else { throw .notAnObject }
        for (name, value) in body.members where !isLenient || kind.names.contains(name) {
            let field = try Self.field(name, kind: kind)
            switch value.kind {
            case .null: changes[field] = ""
            case .string: changes[field] = try Self.checked(value.string ?? "", field)
            case .bool, .number, .array, .object: throw .wrongType(field, found: Self.noun(value.kind))
            }
        }
    }

    /// The body of a PUT: fields that it leaves out are cleared. If it names at least one field, unknown names are ignored.
    package init(kind: DocumentKind, replacingWith body: JSONValue) throws(FieldError) {
        try self.init(kind: kind, body, isLenient: body.members.contains { kind.names.contains($0.key) })
        for field in kind.fields where changes[field] == nil { changes[field] = "" }
    }

    /// Fields that another writer changed between `base` and `current` to a different value than this patch. Without `base`
    /// every different value counts.
    package func conflicts(base: DocumentFields?, current: DocumentFields) -> [FieldConflict] {
        kind.fields.compactMap { field in
            guard let wanted = changes[field] else { return nil }
            let value = current[field] ?? ""
            if let base, value.isSameText(as: base[field] ?? "") { return nil }
            guard !value.isSameText(as: wanted) else { return nil }
            return FieldConflict(field: field, current: value, requested: wanted)
        }
    }

    private static func field(_ name: String, kind: DocumentKind) throws(FieldError) -> DocumentField {
        if let field = DocumentField(rawValue: name), kind.fields.contains(field) { return field }
        if kind.readOnlyFields.contains(name) { throw .readOnlyField(name) }
        throw .unknownField(name.shortened, nearest: NearestName.of(name, in: kind.fields.map(\.rawValue)))
    }

    private static func checked(_ text: String, _ field: DocumentField) throws(FieldError) -> String {
        guard text.unicodeScalars.count <= field.maximumLength else {
            throw .tooLong(field, length: text.unicodeScalars.count, limit: field.maximumLength)
        }
        var previous: Unicode.Scalar = " "
        for scalar in text.unicodeScalars {
            defer { previous = scalar }
            switch scalar {
            case "\n", "\r", "\u{0B}", "\u{0C}", "\u{85}", "\u{2028}", "\u{2029}":
                guard field.takesLines else { throw .lineBreak(field) }
                guard scalar == "\n" || scalar == "\r" else {
                    throw .controlCharacter(field, scalar: scalar.value)
                }
            case "\u{FFFD}": throw .notText(field)
            case "\t":
                guard field.takesLines else { throw .controlCharacter(field, scalar: scalar.value) }
            default:
                guard scalar.properties.generalCategory != .control else {
                    throw .controlCharacter(field, scalar: scalar.value)
                }
            }
            // A carriage return is allowed only before a line feed.
            if previous == "\r", scalar != "\n" { throw .controlCharacter(field, scalar: 0x0D) }
        }
        if previous == "\r" { throw .controlCharacter(field, scalar: 0x0D) }
        return text
    }

    private static func noun(_ kind: JSONKind) -> String {
        switch kind {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

/// A field for which two writers want different values.
package struct FieldConflict: Sendable, Equatable {
    package let field: DocumentField
    package let current: String
    package let requested: String
}
