/// Header fields as one byte buffer and a table of slots into it, without an allocation for each field.
///
/// Values are slices that share the buffer. Field order is kept, and a name may occur more than once. A parser stores
/// the received bytes and then adds slots. `append` writes `Name: value CR LF`, so that Ladle can send its own heads
/// unchanged (`isWireFormat`).
package struct HeaderFields: Sendable {
    package struct Slot: Sendable {
        package var nameStart: UInt32
        package var valueStart: UInt32
        package var nameLength: UInt16
        package var valueLength: UInt16
        package var name: FieldName

        package init(name: FieldName, nameStart: Int, nameLength: Int, valueStart: Int, valueLength: Int) {
            self.name = name
            self.nameStart = UInt32(truncatingIfNeeded: nameStart)
            self.nameLength = UInt16(truncatingIfNeeded: nameLength)
            self.valueStart = UInt32(truncatingIfNeeded: valueStart)
            self.valueLength = UInt16(truncatingIfNeeded: valueLength)
        }

        package var nameRange: Range<Int> { Int(nameStart)..<Int(nameStart) + Int(nameLength) }
        package var valueRange: Range<Int> { Int(valueStart)..<Int(valueStart) + Int(valueLength) }
    }

    /// The longest name or value a slot can hold; every parser limit is below it.
    static let maxPartBytes = 65_535

    /// The buffer; only parsers use it directly, other code reads through the slots.
    package var bytes: [UInt8] = []
    package private(set) var slots: [Slot] = []
    /// True while `bytes` holds the fields exactly as HTTP/1.1 writes them, in order and without other bytes.
    package private(set) var isWireFormat = true

    package init() {}

    package init(reservingBytes: Int, slots: Int) {
        bytes.reserveCapacity(reservingBytes)
        self.slots.reserveCapacity(slots)
    }

    package var count: Int { slots.count }
    package var indices: Range<Int> { slots.indices }

    // MARK: Reading

    /// The value of the first field with this name, without the blanks around it.
    package subscript(_ name: FieldName) -> ArraySlice<UInt8>? {
        for slot in slots where slot.name == name { return bytes[slot.valueRange] }
        return nil
    }

    /// The value of the first field with this name, compared without case.
    package subscript(_ name: String) -> ArraySlice<UInt8>? {
        for slot in slots
        where Int(slot.nameLength) == name.utf8.count && ASCII.equalIgnoringCase(bytes[slot.nameRange], name.utf8) {
            return bytes[slot.valueRange]
        }
        return nil
    }

    /// The first value as text; bytes that are not UTF-8 become U+FFFD.
    package func string(for name: FieldName) -> String? {
        self[name].map { String(decoding: $0, as: UTF8.self) }
    }

    package func string(for name: String) -> String? {
        self[name].map { String(decoding: $0, as: UTF8.self) }
    }

    package func contains(_ name: FieldName) -> Bool {
        for slot in slots where slot.name == name { return true }
        return false
    }

    package func count(of name: FieldName) -> Int {
        var count = 0
        for slot in slots where slot.name == name { count += 1 }
        return count
    }

    /// All fields of a list-valued name as one list (RFC 9110 §5.3); nil when there are none.
    package func list(for name: FieldName) -> [UInt8]? {
        var list: [UInt8]?
        for slot in slots where slot.name == name {
            if list != nil { list?.append(contentsOf: [0x2C, ASCII.space]) }
            list = (list ?? []) + bytes[slot.valueRange]
        }
        return list
    }

    package func name(at index: Int) -> String { String(decoding: bytes[slots[index].nameRange], as: UTF8.self) }
    package func nameBytes(at index: Int) -> ArraySlice<UInt8> { bytes[slots[index].nameRange] }
    package func value(at index: Int) -> ArraySlice<UInt8> { bytes[slots[index].valueRange] }

    // MARK: Writing

    /// Adds a field that Ladle writes. Bytes that a value may not hold (CR, LF, NUL and other controls) become blanks,
    /// so that no foreign text can break the head. A value too long for a slot is cut.
    package mutating func append(_ name: FieldName, _ value: String) {
        let nameStart = bytes.count
        bytes.append(contentsOf: FieldNameTable.shared.prefix(of: name))
        let valueStart = bytes.count
        bytes.append(contentsOf: value.utf8)
        finishLine(name, nameStart: nameStart, valueStart: valueStart)
    }

    package mutating func append(_ name: FieldName, _ value: [UInt8]) {
        let nameStart = bytes.count
        bytes.append(contentsOf: FieldNameTable.shared.prefix(of: name))
        let valueStart = bytes.count
        bytes.append(contentsOf: value)
        finishLine(name, nameStart: nameStart, valueStart: valueStart)
    }

    package mutating func append(_ name: FieldName, _ value: Int) { append(name, String(value)) }

    /// Adds a field by its name as text; a name that is not a token is ignored.
    package mutating func append(_ name: String, _ value: String) {
        append(name, Array(value.utf8)[...])
    }

    package mutating func append(_ name: String, _ value: ArraySlice<UInt8>) {
        let text = Array(name.utf8.prefix(Self.maxPartBytes))
        guard !text.isEmpty, text.allSatisfy(ASCII.isToken) else { return }
        let nameStart = bytes.count
        bytes.append(contentsOf: text)
        bytes.append(ASCII.colon)
        bytes.append(ASCII.space)
        let valueStart = bytes.count
        bytes.append(contentsOf: value)
        let known = FieldNameTable.shared.lookup(text.span, start: 0, length: text.count)
        finishLine(known, nameStart: nameStart, valueStart: valueStart)
    }

    /// Makes the appended value harmless, then adds its slot and the line end.
    private mutating func finishLine(_ name: FieldName, nameStart: Int, valueStart: Int) {
        if bytes.count - valueStart > Self.maxPartBytes {
            bytes.removeLast(bytes.count - valueStart - Self.maxPartBytes)
        }
        for index in valueStart..<bytes.count where !ASCII.isFieldValue(bytes[index]) { bytes[index] = ASCII.space }
        slots.append(
            Slot(
                name: name,
                nameStart: nameStart,
                nameLength: valueStart - nameStart - 2,
                valueStart: valueStart,
                valueLength: bytes.count - valueStart
            )
        )
        bytes.append(ASCII.cr)
        bytes.append(ASCII.lf)
    }

    /// Adds a received field (HTTP/2). Returns false and adds nothing when the name is not a lower-case token, or when
    /// the value holds a forbidden byte or blanks at its ends (RFC 9113 §8.2.1).
    package mutating func appendReceived(name: Span<UInt8>, value: Span<UInt8>) -> Bool {
        guard name.count > 0, name.count <= Self.maxPartBytes, value.count <= Self.maxPartBytes else { return false }
        for index in name.indices {
            let byte = name[index]
            if !ASCII.isToken(byte) || byte &- 0x41 < 26 { return false }
        }
        for index in value.indices where !ASCII.isFieldValue(value[index]) { return false }
        if value.count > 0 {
            let first = value[0]
            let last = value[value.count - 1]
            if first <= ASCII.space || last <= ASCII.space { return false }
        }
        let nameStart = bytes.count
        bytes.append(copying: name)
        let valueStart = bytes.count
        bytes.append(copying: value)
        addSlot(
            Slot(
                name: FieldNameTable.shared.lookup(name, start: 0, length: name.count),
                nameStart: nameStart,
                nameLength: name.count,
                valueStart: valueStart,
                valueLength: value.count
            )
        )
        return true
    }

    /// For parsers: adds a field whose bytes are (or will be) in `bytes`.
    package mutating func addSlot(_ slot: Slot) {
        isWireFormat = false
        slots.append(slot)
    }

    package mutating func removeAll(keepingCapacity: Bool) {
        bytes.removeAll(keepingCapacity: keepingCapacity)
        slots.removeAll(keepingCapacity: keepingCapacity)
        isWireFormat = true
    }
}
