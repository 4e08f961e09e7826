import Basics

/// git and gh.
extension ProgramTable {
    static let versions: [String: ProgramRule] = [
        "git": .custom(git),
        "gh": .custom { command, _ in
            let line = CommandLine(command.arguments, valued: Set(words: "-R --repo -t --title -b --body"))
            let words = line.operands.map(\.text)
            switch (words.first, words.dropFirst().first) {
            case ("pr", "create"): return CommandLabel("Creating pull request", .network, .remote)
            case ("pr", _): return CommandLabel("Checking pull requests", .network, .fetching)
            case ("issue", "create"): return CommandLabel("Creating issue", .network, .remote)
            case ("issue", _): return CommandLabel("Checking issues", .network, .fetching)
            default: return CommandLabel("Using GitHub", .network, .fetching)
            }
        },
    ]

    /// Sub-commands with one label; the others are in `git`.
    private static let gitLabels: [String: CommandLabel] = {
        func local(_ text: String, _ rank: CommandLabel.Rank) -> CommandLabel { CommandLabel(text, .terminal, rank) }
        func remote(_ text: String, _ rank: CommandLabel.Rank) -> CommandLabel { CommandLabel(text, .network, rank) }
        return [
            "status": local("Checking git status", .checking), "rev-parse": local("Checking git status", .checking),
            "diff": local("Reviewing changes", .checking),
            "log": local("Reading git history", .checking), "show": local("Reading git history", .checking),
            "blame": local("Reading git history", .checking), "shortlog": local("Reading git history", .checking),
            "add": local("Staging changes", .fetching), "stage": local("Staging changes", .fetching),
            "commit": local("Committing changes", .fetching),
            "push": remote("Pushing changes", .remote), "pull": remote("Pulling changes", .fetching),
            "fetch": remote("Fetching changes", .fetching),
            "rebase": local("Rebasing", .fetching), "stash": local("Stashing changes", .fetching),
            "reset": local("Restoring files", .fetching), "restore": local("Restoring files", .fetching),
            "tag": local("Tagging", .fetching), "init": local("Creating git repository", .fetching),
        ]
    }()

    private static func git(_ command: ShellCommand, depth: Int) -> CommandLabel? {
        let globals = CommandLine(
            command.arguments,
            valued: Set(words: "-C -c --git-dir --work-tree --namespace --exec-path"),
            stopsAtOperand: true
        )
        guard let sub = globals.operands.first, !sub.isOpaque else {
            return CommandLabel("Running git", .terminal, .running)
        }
        let rest = Array(globals.operands.dropFirst())
        if let label = gitLabels[sub.text] { return label }
        switch sub.text {
        case "clone":
            let line = CommandLine(
                rest,
                valued: Set(words: "-b --branch --depth -o --origin -c --config -j --reference --filter")
            )
            return CommandLabel(
                "Cloning \(line.operands.first.flatMap(repository) ?? "a repository")",
                .network,
                .fetching
            )
        case "switch", "checkout": return switching(rest)
        case "merge":
            let line = CommandLine(rest, valued: Set(words: "-m --message -s --strategy -X"))
            return CommandLabel(
                "Merging" + (line.operands.first.flatMap(branch).map { " \($0)" } ?? ""),
                .terminal,
                .fetching
            )
        case "branch":
            let line = CommandLine(
                rest,
                valued: Set(words: "-u --set-upstream-to --contains --format --sort --merged --no-merged")
            )
            guard let name = line.operands.last.flatMap(branch) else {
                return CommandLabel("Listing branches", .terminal, .checking)
            }
            if line.has("-l", "--list", "-a", "-r", "-v") {
                return CommandLabel("Listing branches", .terminal, .checking)
            }
            if line.has("-d", "-D", "--delete") { return CommandLabel("Deleting branch \(name)", .terminal, .fetching) }
            if line.has("-m", "-M", "--move") {
                return CommandLabel("Renaming branch to \(name)", .terminal, .fetching)
            }
            return CommandLabel("Creating branch \(line.operands.first.flatMap(branch) ?? name)", .terminal, .fetching)
        case "grep": return searching(ShellCommand(program: "grep", arguments: rest), depth: depth)
        default:
            return CommandLabel(
                runningName(sub.text).map { "Running git \($0)" } ?? "Running git",
                .terminal,
                .fetching
            )
        }
    }

    private static func switching(_ rest: [ShellWord]) -> CommandLabel {
        let line = CommandLine(rest, valued: Set(words: "-c -C -b -B --create --force-create --orphan"))
        if let name = line.value("-c", "-C", "-b", "-B", "--create", "--force-create", "--orphan") {
            return CommandLabel("Creating branch \(branch(name) ?? "")".trimmingBlanks(), .terminal, .fetching)
        }
        if rest.contains(where: { $0.text == "--" }) || line.operands.first?.text == "." {
            return CommandLabel("Restoring files", .terminal, .fetching)
        }
        let target = line.operands.first
        if target?.text == "-" { return CommandLabel("Switching to the previous branch", .terminal, .fetching) }
        return CommandLabel("Switching to \(target.flatMap(branch) ?? "a branch")", .terminal, .fetching)
    }

    /// Branch names keep their slashes.
    private static func branch(_ word: ShellWord) -> String? {
        guard !word.isOpaque, !word.text.isEmpty, word.text != "-" else { return nil }
        return SecretMask.name(LabelText.collapsed(word.text))
    }

    private static func repository(_ word: ShellWord) -> String? {
        guard !word.isOpaque else { return nil }
        var path = word.text[...]
        while path.last == "/" { path = path.dropLast() }
        let last = path.split(whereSeparator: { $0 == "/" || $0 == ":" }).last ?? path
        let name = last.hasSuffix(".git") ? last.dropLast(4) : last
        return LabelText.name(ofPath: String(name))
    }
}
