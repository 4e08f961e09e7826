import JSONBytes

/// The part of JSON Schema that the protocol's files use.
struct SchemaCheck {
    let root: JSONValue

    /// The first part of the value that does not fit the schema, with its path; nil if all fits.
    func failure(_ value: JSONValue, _ reference: String) -> String? {
        guard let schema = resolve(reference) else { return "no \(reference)" }
        return failure(value, schema, at: "")
    }

    private func resolve(_ reference: String) -> JSONValue? {
        var found: JSONValue? = root
        for part in reference.split(separator: "/").dropFirst() { found = found?[String(part)] }
        return found
    }

    private func failure(_ value: JSONValue, _ schema: JSONValue, at path: String) -> String? {
        if schema.kind == .bool { return schema.bool == true ? nil : "\(path): nothing is allowed" }
        if let reference = schema["$ref"]?.string {
            guard let target = resolve(reference) else { return "no \(reference)" }
            return failure(value, target, at: path)
        }
        if let type = schema["type"]?.string, !isType(value, type) { return "\(path): not \(type)" }
        if let constant = schema["const"], !same(value, constant) { return "\(path): not \(constant.text)" }
        if let choices = schema["enum"], !choices.elements.contains(where: { same(value, $0) }) {
            return "\(path): not in enum"
        }
        if let branches = schema["anyOf"] {
            let failures = branches.elements.map { failure(value, $0, at: path) }
            if failures.allSatisfy({ $0 != nil }) { return failures.compactMap(\.self).joined(separator: " | ") }
        }
        for branch in schema["allOf"]?.elements.map({ $0 }) ?? [] {
            if let found = failure(value, branch, at: path) { return found }
        }
        if let no = schema["not"], failure(value, no, at: path) == nil { return "\(path): must not fit" }
        return numberFailure(value, schema, path) ?? textFailure(value, schema, path) ?? arrayFailure(
            value,
            schema,
            path
        )
            ?? objectFailure(value, schema, path)
    }

    private func same(_ left: JSONValue, _ right: JSONValue) -> Bool { WireValueEquality.same(left, right) }

    private func isType(_ value: JSONValue, _ type: String) -> Bool {
        switch type {
        case "object": value.kind == .object
        case "array": value.kind == .array
        case "string": value.kind == .string
        case "integer": value.int != nil
        case "number": value.kind == .number
        case "boolean": value.kind == .bool
        case "null": value.isNull
        default: false
        }
    }

    private func numberFailure(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> String? {
        guard let number = value.double else { return nil }
        if let low = schema["minimum"]?.double, number < low { return "\(path): \(number) < \(low)" }
        if let high = schema["maximum"]?.double, number > high { return "\(path): \(number) > \(high)" }
        return nil
    }

    private func textFailure(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> String? {
        guard let text = value.string else { return nil }
        if let low = schema["minLength"]?.int, text.unicodeScalars.count < low { return "\(path): too short" }
        if let high = schema["maxLength"]?.int, text.unicodeScalars.count > high { return "\(path): too long" }
        if schema["pattern"]?.string == "^[a-f0-9]{64}$" {
            guard text.utf8.count == 64, text.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) else {
                return "\(path): no hash"
            }
        }
        return nil
    }

    private func arrayFailure(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> String? {
        guard value.kind == .array else { return nil }
        if let low = schema["minItems"]?.int, value.count < low { return "\(path): too few" }
        if let high = schema["maxItems"]?.int, value.count > high { return "\(path): too many" }
        guard let items = schema["items"] else { return nil }
        for (place, element) in value.elements.enumerated() {
            if let found = failure(element, items, at: "\(path)/\(place)") { return found }
        }
        return nil
    }

    private func objectFailure(_ value: JSONValue, _ schema: JSONValue, _ path: String) -> String? {
        guard value.kind == .object else { return nil }
        for name in schema["required"]?.elements.compactMap(\.string) ?? [] where value[name] == nil {
            return "\(path): no \(name)"
        }
        let known = schema["properties"]
        for (name, member) in value.members {
            if let rule = known?[name] {
                if let found = failure(member, rule, at: "\(path)/\(name)") { return found }
            } else if let more = schema["additionalProperties"] {
                if more.bool == false { return "\(path): \(name) is not known" }
                if more.kind == .object, let found = failure(member, more, at: "\(path)/\(name)") { return found }
            }
        }
        return nil
    }
}

enum WireValueEquality {
    static func same(_ left: JSONValue, _ right: JSONValue) -> Bool {
        if let one = left.string, let other = right.string { return one == other }
        if let one = left.double, let other = right.double { return one == other }
        if let one = left.bool, let other = right.bool { return one == other }
        return left.isNull && right.isNull
    }
}
