/// An entity tag (RFC 9110 §8.8.3).
package struct EntityTag: Sendable, Equatable {
    /// The tag without its quotes.
    package var value: String
    package var isWeak: Bool

    package init(_ value: String, isWeak: Bool = false) {
        self.value = value
        self.isWeak = isWeak
    }

    /// The tag as written in `ETag`.
    package var text: String { isWeak ? "W/\"\(value)\"" : "\"\(value)\"" }
}

/// An `If-Match` or `If-None-Match` field.
package enum EntityTagCondition: Sendable, Equatable {
    /// `*` matches any current representation.
    case any
    case tags([EntityTag])

    /// Clients usually send one tag; a longer list than this is refused.
    static let maxTags = 32

    /// - Parameter value: all lines of the field, joined by commas.
    package init(parsing value: ArraySlice<UInt8>, field: FieldName) throws(HeaderValueError) {
        let value = value.trimmingBlanks
        guard !value.isEmpty else { throw HeaderValueError(field, .empty) }
        if value.elementsEqual([0x2A]) {
            self = .any
            return
        }
        var tags: [EntityTag] = []
        var scanner = ValueScanner(value)
        while true {
            scanner.skipBlanks()
            if scanner.take(0x2C) { continue }
            if scanner.isAtEnd { break }
            guard tags.count < Self.maxTags else { throw HeaderValueError(field) }
            tags.append(try Self.tag(&scanner, field))
            scanner.skipBlanks()
            guard scanner.isAtEnd || scanner.take(0x2C) else { throw HeaderValueError(field) }
        }
        guard !tags.isEmpty else { throw HeaderValueError(field) }
        self = .tags(tags)
    }

    /// The comparison of `If-Match`: a weak tag never matches.
    package func matchesStrongly(_ current: EntityTag?) -> Bool {
        guard let current else { return false }
        switch self {
        case .any: return true
        case .tags(let tags): return !current.isWeak && tags.contains(current)
        }
    }

    /// The comparison of `If-None-Match`: a weak tag matches too.
    package func matchesWeakly(_ current: EntityTag?) -> Bool {
        guard let current else { return false }
        switch self {
        case .any: return true
        case .tags(let tags): return tags.contains { $0.value == current.value }
        }
    }

    /// Reads one tag. A backslash in a tag is an ordinary character, so a tag is not a quoted string.
    private static func tag(_ scanner: inout ValueScanner, _ field: FieldName) throws(HeaderValueError) -> EntityTag {
        var isWeak = false
        if scanner.take(0x57) {
            guard scanner.take(0x2F) else { throw HeaderValueError(field) }
            isWeak = true
        }
        guard scanner.take(0x22) else { throw HeaderValueError(field) }
        let start = scanner.index
        while let byte = scanner.peek, byte != 0x22 {
            guard byte > ASCII.space, byte != 0x7F else { throw HeaderValueError(field) }
            scanner.index += 1
        }
        let value = scanner.bytes[start..<scanner.index]
        guard scanner.take(0x22) else { throw HeaderValueError(field) }
        return EntityTag(String(decoding: value, as: UTF8.self), isWeak: isWeak)
    }
}
