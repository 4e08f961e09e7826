extension JSONWriter {
    /// Writes a parsed value of somebody else anew: on one line and escaped as everything here is. Numbers keep their digits.
    package mutating func copy(_ value: JSONValue) {
        switch value.kind {
        case .string: string(value.string ?? "")
        case .array:
            beginArray()
            for element in value.elements { copy(element) }
            endArray()
        case .object:
            beginObject()
            for (name, member) in value.members {
                key(name)
                copy(member)
            }
            endObject()
        case .null, .bool, .number: raw(value.raw)
        }
    }
}
