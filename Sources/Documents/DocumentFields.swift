/// The fields of a document that are not empty and, for the profile, the agent's directives.
package struct DocumentFields: Sendable, Equatable {
    package private(set) var values: [DocumentField: String] = [:]
    package internal(set) var directives: [DocumentDirective] = []

    package init() {}

    /// The value, or nil for a field that is absent, empty or still a template's hint.
    package subscript(field: DocumentField) -> String? {
        get { values[field] }
        set { values[field] = newValue.flatMap { $0.isEmpty ? nil : $0 } }
    }
}

/// A rule that the agent has noted in a newer USER.md, with its date and whether it still holds.
package struct DocumentDirective: Sendable, Equatable {
    package var observed: String
    package var status: String
    package var text: String

    /// Reads `<!-- observed: DATE | status: STATUS -->`. The template's example, dated YYYY-MM-DD, does not count.
    static func marker(_ comment: String) -> (observed: String, status: String)? {
        var inside = Substring(comment)
        guard inside.hasPrefix("<!--"), inside.hasSuffix("-->"), inside.utf8.count >= 7 else { return nil }
        inside = inside.dropFirst(4).dropLast(3)
        let parts = inside.split(separator: "|", omittingEmptySubsequences: false)
        guard parts.count == 2, let observed = value(parts[0], of: "observed"),
            let status = value(parts[1], of: "status"), observed != "YYYY-MM-DD",
            status == "active" || status == "superseded"
        else { return nil }
        return (observed, status)
    }

    private static func value(_ part: Substring, of name: String) -> String? {
        guard let colon = part.firstIndex(of: ":"), FieldValue.collapsed(String(part[..<colon])) == name else {
            return nil
        }
        let text = FieldValue.collapsed(String(part[part.index(after: colon)...]))
        return text.isEmpty ? nil : text
    }
}
