/// Programs that look for text or files.
extension ProgramTable {
    static let search: [String: ProgramRule] = [
        "grep": .custom(searching), "rg": .custom(searching), "ag": .custom(searching), "ack": .custom(searching),
        "find": .custom(finding),
        "fd": .custom { command, _ in
            let line = CommandLine(
                command.arguments,
                valued: Set(
                    words: "-e --extension -t --type -d --max-depth -E --exclude -x --exec -X --exec-batch -S --size"
                )
            )
            guard let pattern = line.operands.first, !pattern.isOpaque else {
                return CommandLabel("Looking for files", .search, .searching)
            }
            return named(pattern)
        },
        "mdfind": .custom { command, _ in
            let line = CommandLine(command.arguments, valued: Set(words: "-name -onlyin -s"))
            guard let pattern = line.value("-name") ?? line.operands.first, !pattern.isOpaque else {
                return CommandLabel("Looking for files", .search, .searching)
            }
            return named(pattern)
        },
        "which": lookup, "whereis": lookup, "type": lookup, "command": lookup,
    ]

    private static let lookup = ProgramRule.custom { command, _ in
        let names = CommandLine(command.arguments).operands.compactMap { LabelText.name(of: $0) }
        return CommandLabel("Looking for \(LabelText.list(names) ?? "a program")", .terminal, .checking)
    }

    static func searching(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let line = CommandLine(
            command.arguments,
            valued: Set(
                words: """
                    -A -B -C -m -e -f -d -D -g -t -T -j -M -E --regexp --file --include --exclude --exclude-dir --max-count \
                    --context --after-context --before-context --glob --iglob --type --type-not --max-depth --color --colors \
                    --threads --sort --encoding --max-filesize --ignore-file
                    """
            ).subtracting(command.program == "grep" ? ["-g", "-t", "-T", "-j", "-M", "-E"] : ["-d", "-D"])
        )
        if line.has("--files") { return CommandLabel("Listing files", .fileSystem, .checking) }
        let pattern = line.value("-e", "--regexp") ?? (line.has("-f", "--file") ? nil : line.operands.first)
        guard let pattern, !pattern.isOpaque, !LabelText.collapsed(pattern.text).isEmpty else {
            return CommandLabel("Searching files", .search, .searching)
        }
        return CommandLabel("Searching for \(LabelText.quoted(pattern.text))", .search, .searching)
    }

    private static func named(_ pattern: ShellWord) -> CommandLabel {
        CommandLabel("Looking for files named \(LabelText.quoted(pattern.text))", .search, .searching)
    }

    /// Its options have one dash and stand behind the folders.
    private static func finding(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let words = command.arguments
        let start = words.firstIndex {
            $0.text.hasPrefix("-") && !["-H", "-L", "-P"].contains($0.text) || $0.text == "!"
        }
        let folders = words[..<(start ?? words.endIndex)].filter { !$0.isOption && $0.text != "(" }
        let tests = words[(start ?? words.endIndex)...]
        if tests.contains(where: { $0.text == "-delete" }) {
            return CommandLabel("Deleting files", .fileSystem, .managing)
        }
        if let exec = tests.firstIndex(where: { ["-exec", "-execdir", "-ok", "-okdir"].contains($0.text) }) {
            let inner = tests[(exec + 1)...].prefix { $0.text != ";" && $0.text != "+" }.map {
                $0.text == "{}" ? ShellWord.unknown : $0
            }
            if let label = CommandLabels.label(of: ShellPart(words: Array(inner)), depth: depth),
                label.rank >= .managing
            {
                return label
            }
        }
        let nameTests: Set<String> = ["-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"]
        if let test = tests.firstIndex(where: { nameTests.contains($0.text) }), test + 1 < tests.endIndex,
            !tests[test + 1].isOpaque
        {
            return named(tests[test + 1])
        }
        guard let folder = folders.first, let name = LabelText.name(of: folder) else {
            return CommandLabel("Looking for files", .search, .searching)
        }
        return CommandLabel("Looking for files in \(name)", .search, .searching)
    }
}
