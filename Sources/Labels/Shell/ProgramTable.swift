import Basics

/// Which rule names which program. Programs that are not here are "Running NAME".
enum ProgramTable {
    static let shells = Set(words: "bash sh zsh dash fish ksh ash")

    static let rules: [String: ProgramRule] = {
        var table: [String: ProgramRule] = [:]
        for name in settings {
            table[name] = .custom { _, _ in CommandLabel("Running a command", .terminal, .setting) }
        }
        for group in [
            simple, files, moves, archives, interpreters, text, search, network, versions, packages, builds, services,
        ] {
            table.merge(group) { _, later in later }
        }
        return table
    }()

    /// Programs that only prepare: they never name a step.
    private static let settings = Set(
        words: """
            set unset export source . alias unalias shopt ulimit umask trap local declare typeset readonly return exit true \
            false : [ [[ wait shift let break continue for case esac fi done function select in hash read exec popd
            """
    )

    /// Programs that always do the same.
    private static let simple: [String: ProgramRule] = [
        "pwd": .fixed("Checking current folder", .fileSystem, .checking),
        "df": .fixed("Checking disk space", .fileSystem, .checking),
        "ps": .fixed("Checking running processes", .terminal, .checking),
        "top": .fixed("Checking running processes", .terminal, .checking),
        "htop": .fixed("Checking running processes", .terminal, .checking),
        "lsof": .fixed("Checking running processes", .terminal, .checking),
        "pgrep": .fixed("Checking running processes", .terminal, .checking),
        "kill": .fixed("Stopping a process", .terminal, .running),
        "pkill": .fixed("Stopping a process", .terminal, .running),
        "killall": .fixed("Stopping a process", .terminal, .running),
        "date": .fixed("Checking the time", .terminal, .checking),
        "whoami": .fixed("Checking system info", .terminal, .checking),
        "uname": .fixed("Checking system info", .terminal, .checking),
        "env": .fixed("Checking system info", .terminal, .checking),
        "printenv": .fixed("Checking system info", .terminal, .checking),
        "hostname": .fixed("Checking system info", .terminal, .checking),
        "id": .fixed("Checking system info", .terminal, .checking),
        "tailscale": .fixed("Checking network", .network, .checking),
        "ip": .fixed("Checking network", .network, .checking),
        "ifconfig": .fixed("Checking network", .network, .checking),
        "sqlite3": .fixed("Querying the database", .terminal, .running),
        "psql": .fixed("Querying the database", .terminal, .running),
        "mysql": .fixed("Querying the database", .terminal, .running),
        "redis-cli": .fixed("Querying the database", .terminal, .running),
        "ffmpeg": .fixed("Converting media", .media, .running),
        "sips": .fixed("Converting media", .media, .running),
        "magick": .fixed("Converting media", .media, .running),
        "pandoc": .fixed("Converting document", .fileSystem, .running),
        "yt-dlp": .fixed("Downloading media", .network, .fetching),
        "echo": .fixed("Printing text", .terminal, .printing),
        "printf": .fixed("Printing text", .terminal, .printing),
        "pytest": .fixed("Running tests", .terminal, .building),
        "jest": .fixed("Running tests", .terminal, .building),
        "vitest": .fixed("Running tests", .terminal, .building),
        "mocha": .fixed("Running tests", .terminal, .building),
        "rspec": .fixed("Running tests", .terminal, .building),
        "phpunit": .fixed("Running tests", .terminal, .building),
        "tox": .fixed("Running tests", .terminal, .building),
        "tsc": .fixed("Building", .terminal, .building),
        "cmake": .fixed("Building", .terminal, .building),
    ]

    /// A program that no rule names.
    static func other(_ command: ShellCommand) -> CommandLabel {
        guard let path = command.path else { return .unknown }
        if path.contains("/"), let name = scriptName(path) {
            return CommandLabel("Running \(name)", .terminal, .running)
        }
        return CommandLabel(
            runningName(command.program).map { "Running \($0)" } ?? "Running a command",
            .terminal,
            .running
        )
    }

    /// A name that can be shown as it is.
    static func runningName(_ name: String) -> String? {
        guard (1...24).contains(name.utf8.count), SecretMask.name(name) == name else { return nil }
        let isPlain = name.utf8.allSatisfy {
            ($0.isASCIILetter && $0 >= 0x61) || $0.isASCIIDigit || "._+-".utf8.contains($0)
        }
        return isPlain ? name : nil
    }

    /// The file's name where its ending is one of a script.
    static func scriptName(_ path: String) -> String? {
        guard let name = LabelText.name(ofPath: path), let dot = name.lastIndex(of: "."), dot > name.startIndex else {
            return nil
        }
        return scriptEndings.contains(name[name.index(after: dot)...].lowercased()) ? name : nil
    }

    private static let scriptEndings = Set(
        words:
            "sh bash zsh fish py js mjs cjs ts mts jsx tsx rb pl php lua ps1 bat cmd command swift scpt applescript r"
    )
}
