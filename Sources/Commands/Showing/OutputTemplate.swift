import Basics
import JSONBytes

/// The text of `--format`: fields of an answer in double braces, such as `{{.id}} {{.error.code}}`.
struct OutputTemplate {
    private enum Part: Equatable {
        case text(String)
        /// The field's names from the outside in; none for the whole object.
        case field([String])
    }

    /// The fault of a template, in words.
    struct Fault: Error, Equatable {
        let message: String
    }

    private var parts: [Part] = []

    init(_ text: String) throws(Fault) {
        var rest = text.replacing("\\t", with: "\t").replacing("\\n", with: "\n")[...]
        while let start = rest.firstRange(of: "{{") {
            if start.lowerBound > rest.startIndex { parts.append(.text(String(rest[..<start.lowerBound]))) }
            rest = rest[start.upperBound...]
            guard let end = rest.firstRange(of: "}}") else { throw Fault(message: "{{ without }}") }
            let name = rest[..<end.lowerBound].filter { $0 != " " }
            guard name.hasPrefix(".") else { throw Fault(message: "a field begins with a dot, like {{.id}}") }
            parts.append(.field(name.split(separator: ".").map(String.init)))
            rest = rest[end.upperBound...]
        }
        if !rest.isEmpty { parts.append(.text(String(rest))) }
    }

    /// The formatted text. A missing field is empty; an object or a list is JSON.
    func text(of value: JSONValue) -> String {
        parts.map { part in
            switch part {
            case .text(let text): return text
            case .field(let names):
                guard let found = names.reduce(value as JSONValue?, { $0?[$1] }), !found.isNull else { return "" }
                // Status bars and terminals obey control characters.
                return Printable.document(found.string ?? String(decoding: found.raw, as: UTF8.self))
            }
        }.joined()
    }
}
