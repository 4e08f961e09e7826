extension JSONWriter {
    /// Rewrites a parsed value from another source: on one line, with this writer's escapes. Numbers keep their digits.
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
