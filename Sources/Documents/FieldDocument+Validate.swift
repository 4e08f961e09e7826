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
