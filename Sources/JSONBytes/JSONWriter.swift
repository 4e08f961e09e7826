package import Basics

/// A type with one JSON form in the API.
package protocol JSONWritable {
    func write(to writer: inout JSONWriter)
}

/// Appends JSON to a byte buffer and inserts the commas. Controls of C0 and C1, U+2028 and U+2029 are escaped, so that
/// every line reader sees a value as one line; so are the marks that change text direction.
package struct JSONWriter {
    package private(set) var bytes: [UInt8]
    private var needsComma = false

    package init(capacity: Int = 256) {
        bytes = []
        bytes.reserveCapacity(capacity)
    }

    package mutating func beginObject() { begin(UInt8(ascii: "{")) }
    package mutating func endObject() { end(UInt8(ascii: "}")) }
    package mutating func beginArray() { begin(UInt8(ascii: "[")) }
    package mutating func endArray() { end(UInt8(ascii: "]")) }

    package mutating func key(_ name: String) {
        separate()
        JSONEscape.append(name, to: &bytes)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    package mutating func string(_ value: String) {
        separate()
        JSONEscape.append(value, to: &bytes)
    }

    /// Writes a string from UTF-8; invalid bytes are replaced, as `String` does.
    package mutating func string(utf8 value: some Collection<UInt8>) {
        string(String(decoding: value, as: UTF8.self))
    }

    package mutating func int(_ value: some FixedWidthInteger) {
        separate()
        bytes.append(decimal: value)
    }

    /// Writes a number; infinities and not-a-number have no JSON form and become null.
    package mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        if let whole = Int64(exactly: value), abs(whole) < 1 << 53 { return int(whole) }
        separate()
        bytes.append(contentsOf: value.description.utf8)
    }

    package mutating func bool(_ value: Bool) {
        separate()
        bytes.append(ascii: value ? "true" : "false")
    }

    package mutating func null() {
        separate()
        bytes.append(ascii: "null")
    }

    package mutating func time(_ value: Timestamp) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        value.append(to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes bytes that are already JSON, on one line and escaped as this writer does: its own stored output.
    package mutating func raw(_ value: some Collection<UInt8>) {
        separate()
        bytes.append(contentsOf: value)
    }

    package mutating func value(_ value: some JSONWritable) {
        value.write(to: &self)
    }

    private mutating func begin(_ bracket: UInt8) {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func end(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }
}

/// Writes members of an object; a nil value leaves its member out.
extension JSONWriter {
    package mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    package mutating func member(_ name: String, _ value: (some FixedWidthInteger)?) {
        guard let value else { return }
        key(name)
        int(value)
    }

    package mutating func member(_ name: String, _ value: Bool?) {
        guard let value else { return }
        key(name)
        bool(value)
    }

    package mutating func member(_ name: String, _ value: Double?) {
        guard let value else { return }
        key(name)
        double(value)
    }

    package mutating func member(_ name: String, _ value: Timestamp?) {
        guard let value else { return }
        key(name)
        time(value)
    }

    package mutating func member(_ name: String, _ value: (some JSONWritable)?) {
        guard let value else { return }
        key(name)
        value.write(to: &self)
    }

    package mutating func member(_ name: String, raw value: (some Collection<UInt8>)?) {
        guard let value else { return }
        key(name)
        raw(value)
    }

    package mutating func object(_ name: String? = nil, _ body: (inout JSONWriter) -> Void) {
        if let name { key(name) }
        beginObject()
        body(&self)
        endObject()
    }

    package mutating func array(_ name: String? = nil, _ body: (inout JSONWriter) -> Void) {
        if let name { key(name) }
        beginArray()
        body(&self)
        endArray()
    }

    package mutating func array(_ name: String? = nil, of values: some Sequence<String>) {
        array(name) { writer in for value in values { writer.string(value) } }
    }

    package mutating func array(_ name: String? = nil, of values: some Sequence<some JSONWritable>) {
        array(name) { writer in for value in values { value.write(to: &writer) } }
    }
}
