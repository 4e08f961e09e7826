import JSONBytes

/// Properties that hold for any bytes. Shared by the fuzz driver and the replay test.
enum JSONCheck {
    static func problem(with bytes: [UInt8]) -> String? {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument(parsing: bytes)
        } catch {
            return (0...bytes.count).contains(error.offset) ? nil : "an offset outside of the text"
        }
        var writer = JSONWriter()
        write(document.root, to: &writer)
        guard let again = try? JSONDocument(parsing: writer.bytes) else { return "what was written is not read" }
        var second = JSONWriter()
        write(again.root, to: &second)
        return second.bytes == writer.bytes ? nil : "writing is not stable"
    }

    private static func write(_ value: JSONValue, to writer: inout JSONWriter) {
        switch value.kind {
        case .null: writer.null()
        case .bool: writer.bool(value.bool ?? false)
        case .number:
            if let int = value.int { writer.int(int) } else { writer.double(value.double ?? 0) }
        case .string: writer.string(value.string ?? "")
        case .array:
            writer.beginArray()
            for element in value.elements { write(element, to: &writer) }
            writer.endArray()
        case .object:
            writer.beginObject()
            for (key, member) in value.members {
                writer.key(key)
                write(member, to: &writer)
            }
            writer.endObject()
        }
    }
}
