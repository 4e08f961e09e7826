/// What a whole file must be to be written.
extension FieldDocument {
    /// Refuses what the gateway would not load or what JSON cannot carry.
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

/// Names of agents, which travel into file paths on the gateway's host.
package enum AgentName {
    /// The gateway's own form: letters, digits, `-` and `_`, at most 64, starting with a letter or digit.
    package static func isValid(_ name: String) -> Bool {
        let bytes = Array(name.utf8)
        guard let first = bytes.first, bytes.count <= 64, isLetterOrDigit(first) else { return false }
        return bytes.allSatisfy { isLetterOrDigit($0) || $0 == 0x2D || $0 == 0x5F }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte)
    }
}
