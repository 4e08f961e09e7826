import Basics
package import JSONBytes

/// A tool call to be named.
package struct LabelRequest: Sendable {
    package var tool: String
    package var arguments: ToolArguments

    package init(tool: String, arguments: JSONValue?) {
        self.tool = tool.cut(toBytes: LabelLimits.toolNameBytes)
        self.arguments = ToolArguments(arguments)
    }

    package func label(_ table: LabelTable) -> ActivityLabel {
        var label: ActivityLabel
        switch table {
        case .extended: label = ToolLabels.label(tool: tool, arguments: arguments)
        case .chowder: label = ChowderLabels.label(tool: tool, arguments: arguments)
        }
        label.table = table
        label.detail = arguments.detail
        return label
    }
}

/// The arguments of a tool call; some providers send them as a JSON text.
package struct ToolArguments: Sendable {
    private let value: JSONValue?
    /// Whether the arguments came as a text; the Chowder app does not look into one.
    let cameAsText: Bool

    package init(_ value: JSONValue?) {
        cameAsText = value?.kind == .string
        if let text = value?.string {
            self.value = try? JSONDocument(parsing: Array(text.utf8), limits: .gateway).root
        } else {
            self.value = value
        }
    }

    subscript(key: String) -> JSONValue? { value?[key] }

    /// The first of these arguments that is a non-empty text.
    package func text(_ names: String...) -> String? {
        for name in names {
            if let text = value?[name]?.string, !text.isEmpty { return text }
        }
        return nil
    }

    var path: String? { text("path", "file_path", "filePath", "file") }

    /// The command line. A list is an argv, whose words are quoted so that the lexer finds the same words again.
    package var command: String? {
        for name in ["command", "cmd"] {
            guard let found = value?[name] else { continue }
            if let text = found.string { return text }
            if found.kind == .array {
                return found.elements.prefix(1_000).map { Self.quoted($0.string ?? "") }.joined(separator: " ")
            }
        }
        return nil
    }

    private static func quoted(_ word: String) -> String {
        let isPlain =
            !word.isEmpty
            && word.utf8.allSatisfy {
                $0.isASCIILetter || $0.isASCIIDigit || "_-./:=@%+,".utf8.contains($0)
            }
        return isPlain ? word : "'" + word.replacingText("'", with: "'\\''") + "'"
    }

    /// The main argument, masked and cut: a command, path, address or query.
    var detail: String? {
        let raw = command ?? path ?? text("url", "targetUrl") ?? text("query") ?? text("pattern") ?? text("task")
        guard let raw else { return nil }
        let shown = SecretMask.text(raw.cut(to: LabelLimits.detailCharacters)).trimmingBlanks()
        return shown.isEmpty ? nil : shown
    }
}
