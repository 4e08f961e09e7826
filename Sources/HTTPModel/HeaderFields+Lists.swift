extension HeaderFields {
    /// Whether a comma-separated field contains this token in any of its lines, compared without case.
    package func has(_ name: FieldName, token: String) -> Bool {
        for slot in slots where slot.name == name {
            for element in ListElements(bytes[slot.valueRange])
            where element.count == token.utf8.count && ASCII.equalIgnoringCase(element, token.utf8) {
                return true
            }
        }
        return false
    }

    /// RFC 9110 §12.5.3: the client accepts `gzip` if its weight is above zero; `*` covers it when it is not named.
    package var acceptsGzip: Bool {
        var isNamed = false
        var weight = 0
        for slot in slots where slot.name == .acceptEncoding {
            for element in ListElements(bytes[slot.valueRange]) {
                var parts = ListElements(element, separator: UInt8(ascii: ";"))
                guard let coding = parts.next() else { continue }
                let isGzip = ["gzip", "x-gzip"].contains { ASCII.equalIgnoringCase(coding, $0.utf8) }
                guard isGzip || (!isNamed && coding.elementsEqual("*".utf8)) else { continue }
                isNamed = isNamed || isGzip
                weight = QualityValue.thousandths(ofParameter: parts.next())
            }
        }
        return weight > 0
    }
}

/// The elements of a comma-separated list (RFC 9110 §5.6.1) without blanks around them. A comma inside a quoted string
/// does not separate elements. Empty elements are skipped, as a recipient must.
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
    /// The slice without SP and HTAB at both ends. Bytes such as 0x85 or 0xA0 are not blanks here.
    package var trimmingBlanks: ArraySlice<UInt8> {
        var start = startIndex
        var end = endIndex
        while start < end, self[start] == ASCII.space || self[start] == ASCII.tab { start += 1 }
        while end > start, self[end - 1] == ASCII.space || self[end - 1] == ASCII.tab { end -= 1 }
        return self[start..<end]
    }
}
