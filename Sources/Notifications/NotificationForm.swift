import JSONBytes

/// An invalid field of a request or of the configuration.
package struct FormFault: Error, Equatable, Sendable {
    package let field: String
    package let detail: String

    package init(_ field: String, _ detail: String) {
        self.field = field
        self.detail = detail
    }
}

/// Reads the fields of one JSON object. A missing field leaves its value unchanged; null clears an optional one.
struct NotificationForm {
    private let object: JSONValue

    init(_ object: JSONValue) { self.object = object }

    func name(_ field: String, _ value: inout String) throws(FormFault) {
        var name: String? = value
        try text(field, &name, bytes: NotificationLimits.nameBytes)
        guard let name, !name.isEmpty else { throw FormFault(field, "`\(field)` is not empty.") }
        value = name
    }

    /// Reads a text of one line.
    func text(_ field: String, _ value: inout String?, bytes: Int) throws(FormFault) {
        guard let given = object[field] else { return }
        if given.isNull { return value = nil }
        guard let text = given.string, !text.isEmpty, text.utf8.count <= bytes,
            !text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else {
            throw FormFault(field, "`\(field)` is one line of at most \(bytes) bytes.")
        }
        value = text
    }

    func flag(_ field: String, _ value: inout Bool) throws(FormFault) {
        var flag: Bool? = value
        try self.flag(field, &flag)
        if let flag { value = flag }
    }

    func flag(_ field: String, _ value: inout Bool?) throws(FormFault) {
        guard let given = object[field] else { return }
        if given.isNull { return value = nil }
        guard let flag = given.bool else { throw FormFault(field, "`\(field)` is true or false.") }
        value = flag
    }

    func number<Number: FixedWidthInteger>(
        _ field: String,
        _ value: inout Number?,
        _ range: ClosedRange<Number>
    ) throws(FormFault) {
        guard let given = object[field] else { return }
        if given.isNull { return value = nil }
        guard let number = given.int.flatMap({ Number(exactly: $0) }), range.contains(number) else {
            throw FormFault(field, "`\(field)` is a whole number from \(range.lowerBound) to \(range.upperBound).")
        }
        value = number
    }

    func choice<Choice: RawRepresentable & CaseIterable>(
        _ field: String,
        _ value: inout Choice?
    ) throws(FormFault) where Choice.RawValue == String {
        guard let given = object[field] else { return }
        if given.isNull { return value = nil }
        guard let choice = given.string.flatMap(Choice.init) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw FormFault(field, "`\(field)` is one of \(names).")
        }
        value = choice
    }

    func texts(
        _ field: String,
        _ values: inout [String],
        most: Int = NotificationLimits.listed,
        isValid: (String) -> Bool
    ) throws(FormFault) {
        guard let given = object[field] else { return }
        if given.isNull { return values = [] }
        guard given.kind == .array, given.count <= most else {
            throw FormFault(field, "`\(field)` is a list of at most \(most) texts.")
        }
        var texts: [String] = []
        for element in given.elements {
            guard let text = element.string, isValid(text) else {
                let shown = String(element.string?.prefix(64) ?? "something else than a text")
                throw FormFault(field, "`\(field)` cannot have \(shown).")
            }
            texts.append(text)
        }
        values = texts
    }
}
