/// The environment as OpenClaw sees it: the variables of the process, then `.env` in the state directory.
struct OpenClawEnvironment {
    let process: [String: String]
    var file: [String: String] = [:]

    subscript(name: String) -> String? {
        let value = process[name] ?? file[name]
        return value.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Reads `NAME=value` lines. `export` and quotes are allowed, `#` begins a comment line.
    static func parse(_ bytes: [UInt8]) -> [String: String] {
        var values: [String: String] = [:]
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            var rest = trimmed(line)
            if rest.hasPrefix("export ") { rest = trimmed(rest.dropFirst(7)) }
            guard !rest.hasPrefix("#"), let equals = rest.firstIndex(of: "=") else { continue }
            var value = trimmed(rest[rest.index(after: equals)...])
            if let quote = value.first, quote == "\"" || quote == "'", value.count >= 2, value.last == quote {
                value = value.dropFirst().dropLast()
            }
            values[String(trimmed(rest[..<equals]))] = String(value)
        }
        return values
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text.drop { $0.isWhitespace }
        while let last = rest.last, last.isWhitespace { rest.removeLast() }
        return rest
    }

    /// Replaces `${NAME}`; `$${NAME}` gives a literal `${NAME}`. Nil if a name has no value.
    func substituted(_ text: String) -> String? {
        var result = ""
        var rest = text[...]
        while let dollar = rest.firstIndex(of: "$") {
            result += rest[..<dollar]
            let after = rest[rest.index(after: dollar)...]
            if after.hasPrefix("${") {
                result += "$"
                rest = after.dropFirst()
                let end = rest.firstIndex(of: "}").map { rest.index(after: $0) } ?? rest.endIndex
                result += rest[..<end]
                rest = rest[end...]
            } else if after.hasPrefix("{"), let end = after.firstIndex(of: "}"), Self.isName(after[..<end].dropFirst())
            {
                guard let value = self[String(after[..<end].dropFirst())] else { return nil }
                result += value
                rest = after[after.index(after: end)...]
            } else {
                result += "$"
                rest = after
            }
        }
        return result + rest
    }

    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy { (0x41...0x5A).contains($0) || (0x30...0x39).contains($0) || $0 == 0x5F }
    }
}
