import JSONBytes

/// The part of JSON Schema that the protocol's files use.
struct JSONSchema {
    let root: JSONValue

    /// The problems of `value`, as paths and reasons; empty if it fits the named definition.
    func problems(_ value: JSONValue, _ definition: String) -> [String] {
        guard let schema = root["$defs"]?[definition] else { return ["no definition \(definition)"] }
        return check(value, schema, "$")
    }

    private func check(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
        if let allowed = schema.bool { return allowed ? [] : ["\(path): not allowed"] }
        if let reference = schema["$ref"]?.string {
            guard let name = reference.split(separator: "/").last, let target = root["$defs"]?[String(name)] else {
                return ["\(path): unknown reference \(reference)"]
            }
            return check(value, target, path)
        }
        var found = checkKind(value, schema, path)
        for part in schema["allOf"]?.elements.map(\.self) ?? [] { found += check(value, part, path) }
        for name in ["anyOf", "oneOf"] {
            guard let choices = schema[name] else { continue }
            if !choices.elements.contains(where: { check(value, $0, path).isEmpty }) {
                found.append("\(path): no \(name) fits")
            }
        }
        if let wrong = schema["not"], check(value, wrong, path).isEmpty { found.append("\(path): must not fit") }
        if let constant = schema["const"], constant.raw != value.raw { found.append("\(path): not the constant") }
        if let list = schema["enum"], !list.elements.contains(where: { $0.raw == value.raw }) {
            found.append("\(path): not in the enumeration")
        }
        return found
    }

    private func checkKind(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
        if let type = schema["type"] {
            let names = type.string.map { [$0] } ?? type.elements.compactMap(\.string)
            guard names.contains(where: { fits(value, $0) }) else { return ["\(path): not a \(names)"] }
        }
        switch value.kind {
        case .object: return checkObject(value, schema, path)
        case .array:
            var found: [String] = []
            if let least = schema["minItems"]?.int, value.count < least { found.append("\(path): too few") }
            if let most = schema["maxItems"]?.int, value.count > most { found.append("\(path): too many") }
            if let items = schema["items"] {
                for (index, element) in value.elements.enumerated() {
                    found += check(element, items, "\(path)[\(index)]")
                }
            }
            return found
        case .string:
            let text = value.string ?? ""
            var found: [String] = []
            if let least = schema["minLength"]?.int, text.unicodeScalars.count < least {
                found.append("\(path): too short")
            }
            if let most = schema["maxLength"]?.int, text.unicodeScalars.count > most {
                found.append("\(path): too long")
            }
            if let pattern = schema["pattern"]?.string, let regex = try? Regex(pattern),
                text.firstMatch(of: regex) == nil
            {
                found.append("\(path): does not match \(pattern)")
            }
            return found
        case .number:
            var found: [String] = []
            if let least = schema["minimum"]?.double, (value.double ?? 0) < least { found.append("\(path): too small") }
            if let most = schema["maximum"]?.double, (value.double ?? 0) > most { found.append("\(path): too large") }
            return found
        case .bool, .null: return []
        }
    }

    private func checkObject(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> [String] {
        var found: [String] = []
        for name in schema["required"]?.elements.compactMap(\.string) ?? [] where value[name] == nil {
            found.append("\(path): lacks \(name)")
        }
        for (key, member) in value.members {
            if let known = schema["properties"]?[key] {
                found += check(member, known, "\(path).\(key)")
            } else if let rest = schema["additionalProperties"] {
                found += check(member, rest, "\(path).\(key)")
            }
        }
        return found
    }

    private func fits(_ value: JSONValue, _ type: String) -> Bool {
        switch type {
        case "object": value.kind == .object
        case "array": value.kind == .array
        case "string": value.kind == .string
        case "boolean": value.kind == .bool
        case "null": value.kind == .null
        case "integer": value.int != nil
        case "number": value.kind == .number
        default: false
        }
    }
}
