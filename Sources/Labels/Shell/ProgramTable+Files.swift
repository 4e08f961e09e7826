/// Programs that read, list, make and remove files.
extension ProgramTable {
    private static let reading = NamesRule(
        verb: "Reading",
        none: "Reading input",
        unknown: "Reading files",
        category: .fileSystem,
        rank: .reading,
        valued: Set(words: "-n --lines -c --bytes -l --language -r --line-range -H --theme --style -b -s -w -v")
    )

    private static func checking(_ valued: String = "") -> ProgramRule {
        .names(
            NamesRule(
                verb: "Checking",
                none: "Checking files",
                unknown: "Checking files",
                category: .fileSystem,
                rank: .checking,
                valued: Set(words: valued)
            )
        )
    }

    private static func managing(_ verb: String, _ thing: String, valued: String = "") -> ProgramRule {
        .names(
            NamesRule(
                verb: verb,
                none: "\(verb.split(separator: " ").first ?? "") \(thing)",
                unknown: "\(verb.split(separator: " ").first ?? "") \(thing)",
                category: .fileSystem,
                rank: .managing,
                valued: Set(words: valued)
            )
        )
    }

    static let files: [String: ProgramRule] = [
        "cat": .custom { command, _ in
            // `cat` itself knows no option with a value.
            var rule = reading
            rule.valued = []
            return rule.label(for: CommandLine(command.arguments).operands.filter { $0.text != "-" })
        },
        "bat": .names(reading),
        "less": .custom(paging),
        "more": .custom(paging),
        "head": .names(reading),
        "nl": .names(reading),
        "tail": .custom { command, _ in
            let line = CommandLine(
                command.arguments,
                valued: Set(words: "-n --lines -c --bytes -s --sleep-interval --pid")
            )
            let label = reading.label(for: line.operands)
            guard line.has("-f", "-F", "--follow") else { return label }
            let name = LabelText.list(of: line.operands)
            return CommandLabel(name.map { "Watching \($0)" } ?? "Watching a file", .fileSystem, .reading)
        },
        "ls": .names(
            NamesRule(
                verb: "Listing",
                none: "Listing files",
                unknown: "Listing files",
                category: .fileSystem,
                rank: .checking,
                valued: Set(words: "-I --ignore --hide -w --sort --color")
            )
        ),
        "tree": .names(
            NamesRule(
                verb: "Listing",
                none: "Listing files",
                unknown: "Listing files",
                category: .fileSystem,
                rank: .checking,
                valued: Set(words: "-L -I -P -o --filelimit")
            )
        ),
        "stat": checking("-c --format -f -t"),
        "file": checking("-m -F -f"),
        "du": checking("-d --max-depth --exclude -t"),
        "md5sum": checking(), "sha1sum": checking(), "sha256sum": checking(), "sha512sum": checking(),
        "md5": checking(),
        "cksum": checking(), "b2sum": checking(), "shasum": checking("-a"),
        "test": .custom { command, _ in
            let names = CommandLine(command.arguments).operands.filter {
                $0.text != "=" && $0.text != "!=" && $0.text != "!"
            }
            let text = LabelText.list(names.prefix(1).compactMap { LabelText.name(of: $0) }) ?? "files"
            return CommandLabel("Checking \(text)", .fileSystem, .checking)
        },
        "diff": .custom(comparing),
        "cmp": .custom(comparing),
        "mkdir": managing("Creating folder", "a folder", valued: "-m --mode"),
        "touch": managing("Creating", "a file", valued: "-t -d --date -r --reference -A"),
        "rm": managing("Deleting", "files"),
        "rmdir": managing("Deleting", "folders"),
        "trash": managing("Deleting", "files"),
        "unlink": managing("Deleting", "files"),
        "ln": .custom { command, _ in
            let name = CommandLine(command.arguments, valued: Set(words: "-t -S --suffix")).operands.first
            return CommandLabel("Linking \(name.flatMap { LabelText.name(of: $0) } ?? "files")", .fileSystem, .managing)
        },
        "chmod": .custom(permissions),
        "chown": .custom(permissions),
        "chgrp": .custom(permissions),
        "cd": .custom(changingFolder),
        "pushd": .custom(changingFolder),
    ]

    /// `+G` is where to start.
    private static func paging(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        reading.label(
            for: CommandLine(command.arguments, valued: reading.valued).operands.filter { !$0.text.hasPrefix("+") }
        )
    }

    private static func comparing(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let line = CommandLine(command.arguments, valued: Set(words: "-U -C -W -x --exclude -I -i -n --label"))
        let names = line.operands.compactMap { LabelText.name(of: $0) }
        let text =
            line.operands.count == 2 && names.count == 2 ? "Comparing \(names[0]) and \(names[1])" : "Comparing files"
        return CommandLabel(text, .fileSystem, .reading)
    }

    /// The first operand is the mode or the owner; `chmod -x F` writes the mode like an option.
    private static func permissions(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        var operands = CommandLine(command.arguments).operands
        let hasDashMode =
            command.program == "chmod"
            && command.arguments.contains { word in
                word.isOption && word.text.dropFirst().allSatisfy { "rwxst".contains($0) }
            }
        let takesReference = command.arguments.contains { $0.text.hasPrefix("--reference") }
        if !hasDashMode, !takesReference, !operands.isEmpty { operands.removeFirst() }
        let name = LabelText.list(of: operands)
        return CommandLabel("Changing permissions" + (name.map { " on \($0)" } ?? ""), .fileSystem, .managing)
    }

    /// Never names a longer line; alone it is all there is to tell.
    private static func changingFolder(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        guard let word = CommandLine(command.arguments).operands.first else {
            return CommandLabel("Opening home folder", .fileSystem, .setting)
        }
        guard word.text != "-", let name = LabelText.name(of: word) else {
            return CommandLabel("Opening a folder", .fileSystem, .setting)
        }
        return CommandLabel(
            name.hasSuffix(" folder") ? "Opening \(name)" : "Opening folder \(name)",
            .fileSystem,
            .setting
        )
    }
}
