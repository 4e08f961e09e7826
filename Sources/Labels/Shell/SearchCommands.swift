/// Programs that look for text or files.
enum SearchCommands {
    static func grep(_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel {
        if line.has("--files") { return .files("Listing files", .checking) }
        let pattern = line.value("-e", "--regexp") ?? (line.has("-f", "--file") ? nil : line.operands.first)
        guard let pattern, !pattern.isOpaque, !LabelText.collapsed(pattern.text).isEmpty else {
            return .search("Searching files")
        }
        return .search("Searching for \(LabelText.quoted(pattern.text))")
    }

    static func named(_ pattern: ShellWord?) -> CommandLabel {
        guard let pattern, !pattern.isOpaque else { return .search("Looking for files") }
        return .search("Looking for files named \(LabelText.quoted(pattern.text))")
    }

    /// The options of find have one dash and follow the folders.
    static func find(_ call: ProgramCall, _: ParsedArguments) -> CommandLabel {
        let words = call.arguments
        let start = words.firstIndex {
            $0.text.hasPrefix("-") && !["-H", "-L", "-P"].contains($0.text) || $0.text == "!"
        }
        let folders = words[..<(start ?? words.endIndex)].filter { !$0.isOption && $0.text != "(" }
        let tests = words[(start ?? words.endIndex)...]
        if tests.contains(where: { $0.text == "-delete" }) { return .files("Deleting files", .managing) }
        if let exec = tests.firstIndex(where: { ["-exec", "-execdir", "-ok", "-okdir"].contains($0.text) }) {
            let inner = tests[(exec + 1)...].prefix { $0.text != ";" && $0.text != "+" }.map {
                $0.text == "{}" ? ShellWord.unknown : $0
            }
            let command = SimpleCommand(words: Array(inner))
            if let label = CommandLineLabel.label(of: command, depth: call.depth), label.rank >= .managing {
                return label
            }
        }
        if let test = tests.firstIndex(where: { nameTests.contains($0.text) }), test + 1 < tests.endIndex,
            !tests[test + 1].isOpaque
        {
            return named(tests[test + 1])
        }
        return .search("Looking for files" + (folders.first?.name.map { " in \($0)" } ?? ""))
    }

    private static let nameTests = Set(words: "-name -iname -path -ipath -wholename -regex -iregex")
}
