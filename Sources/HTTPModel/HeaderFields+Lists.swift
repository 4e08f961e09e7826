extension HeaderFields {
    /// Whether a comma-separated field (all of its lines) has this token, compared without case.
    package func has(_ name: FieldName, token: String) -> Bool {
        for slot in slots where slot.name == name {
            for element in ListElements(bytes[slot.valueRange])
            where element.count == token.utf8.count && ASCII.equalIgnoringCase(element, token.utf8) {
                return true
            }
        }
        return false
    }

    /// RFC 9110 §12.5.3: `gzip` or `*` with a weight above zero.
    package var acceptsGzip: Bool {
        guard let list = list(for: .acceptEncoding) else { return false }
        for item in list.split(separator: UInt8(ascii: ",")) {
            let parts = item.split(separator: UInt8(ascii: ";"))
            guard let first = parts.first else { continue }
            let name = String(decoding: first, as: UTF8.self).lowercased().filter { $0 != " " && $0 != "\t" }
            guard name == "gzip" || name == "x-gzip" || name == "*" else { continue }
            let weight = parts.dropFirst().map { String(decoding: $0, as: UTF8.self).lowercased().filter { $0 != " " } }
            return !weight.contains { $0.hasPrefix("q=0") && $0.dropFirst(3).allSatisfy { $0 == "0" || $0 == "." } }
        }
        return false
    }
}

/// The elements of a comma-separated list (RFC 9110 §5.6.1) without blanks around them. Commas inside quoted strings
/// do not split; empty elements are passed over, as a recipient must.
package struct ListElements: Sequence, IteratorProtocol {
    private var rest: ArraySlice<UInt8>
    private let separator: UInt8

    package init(_ bytes: ArraySlice<UInt8>, separator: UInt8 = 0x2C) {
        rest = bytes
        self.separator = separator
    }

    package mutating func next() -> ArraySlice<UInt8>? {
        while !rest.isEmpty {
            var quoted = false
            var end = rest.startIndex
            while end < rest.endIndex {
                let byte = rest[end]
                if quoted, byte == 0x5C {
                    end += 1
                } else if byte == 0x22 {
                    quoted.toggle()
                } else if byte == separator, !quoted {
                    break
                }
                end += 1
            }
            end = Swift.min(end, rest.endIndex)
            let element = rest[rest.startIndex..<end].trimmingBlanks
            rest = rest[Swift.min(end + 1, rest.endIndex)...]
            if !element.isEmpty { return element }
        }
        return nil
    }
}

extension ArraySlice<UInt8> {
    /// Without SP and HTAB at both ends. Bytes such as 0x85 or 0xA0 are not blanks here.
    package var trimmingBlanks: ArraySlice<UInt8> {
        var start = startIndex
        var end = endIndex
        while start < end, self[start] == ASCII.space || self[start] == ASCII.tab { start += 1 }
        while end > start, self[end - 1] == ASCII.space || self[end - 1] == ASCII.tab { end -= 1 }
        return self[start..<end]
    }
}
