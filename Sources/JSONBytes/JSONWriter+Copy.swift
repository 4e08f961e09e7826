import Basics

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

    /// Like `copy`, with at most the first `limit` bytes of each text. An object whose `text` is cut says `truncated`.
    package mutating func copy(_ value: JSONValue, textsTo limit: Int) {
        switch value.kind {
        case .string: string((value.string ?? "").cut(toBytes: limit))
        case .array:
            beginArray()
            for element in value.elements { copy(element, textsTo: limit) }
            endArray()
        case .object:
            let isCut = (value["text"]?.utf8?.count ?? 0) > limit
            beginObject()
            for (name, member) in value.members where !(isCut && name == "truncated") {
                key(name)
                copy(member, textsTo: limit)
            }
            if isCut { self.member("truncated", true) }
            endObject()
        case .null, .bool, .number: raw(value.raw)
        }
    }
}
