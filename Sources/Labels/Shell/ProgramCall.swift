/// A program and its arguments. Assignments, keywords and programs in front that only change how it runs are removed.
struct ProgramCall {
    /// Last path part, lower case, without `.exe` and without a version (`python3.11` is `python`).
    let program: String
    /// The program as written; nil if it is an expansion such as `$EDITOR`.
    let path: String?
    let arguments: [ShellWord]
    let documents: [String]
    /// Number of `sh -c "…"` around the call.
    let depth: Int

    /// Nil for a command that has only assignments, keywords or wrappers.
    init?(_ command: SimpleCommand, depth: Int) {
        var words = command.words[...]
        let fromXargs = Self.dropWrappers(&words)
        guard let first = words.popFirst() else { return nil }
        documents = command.documents
        arguments = Array(words) + (fromXargs ? [.unknown] : [])
        self.depth = depth
        path = first.isOpaque ? nil : first.text
        program = path.map { Self.programName($0) } ?? ""
    }

    private init(program: String, arguments: [ShellWord], from call: ProgramCall) {
        self.program = program
        path = program
        self.arguments = arguments
        documents = []
        depth = call.depth
    }

    /// The call that this one stands for: `grep …` for `git grep …`, `pip …` for `uv pip …`.
    func calling(_ program: String, _ arguments: some Collection<ShellWord>) -> ProgramCall {
        ProgramCall(program: program, arguments: Array(arguments), from: self)
    }

    /// The arguments after the first occurrence of a word.
    func arguments(behind word: String) -> [ShellWord] {
        Array(arguments.drop { $0.text != word }.dropFirst())
    }

    /// The script of `sh -c "…"` or `eval "…"`; nil if it is an expansion.
    var script: String? {
        if program == "eval" { return arguments.map(\.text).joined(separator: " ") }
        guard ProgramTable.shells.contains(program) else { return nil }
        // `-lc 'script'`: the cluster's last letter takes the next word.
        let line = ParsedArguments(arguments, OptionTable.options(program))
        guard let script = line.value("-c"), !(script.isOpaque && script.text.hasPrefix("$")) else { return nil }
        return script.text
    }

    private static func programName(_ text: String) -> String {
        var name = text.split(separator: "/").last.map { $0.lowercased() } ?? text.lowercased()
        if name.hasSuffix(".exe") { name.removeLast(4) }
        for language in ["python", "pip", "ruby", "perl", "php", "gem"] where name.hasPrefix(language) {
            if name.dropFirst(language.count).allSatisfy({ $0 == "." || $0.isNumber }) { return language }
        }
        return aliases[name] ?? name
    }

    private static let aliases = [
        "nodejs": "node", "gradlew": "gradle", "mvnw": "mvn", "apt-get": "apt", "podman": "docker", "xdg-open": "open",
        "egrep": "grep", "fgrep": "grep", "rgrep": "grep", "zgrep": "grep", "ugrep": "grep", "fdfind": "fd",
        "batcat": "bat", "gsed": "sed", "gawk": "awk", "mawk": "awk", "mariadb": "mysql", "zcat": "cat", "eza": "ls",
        "exa": "ls", "gmake": "make", "convert": "magick", "youtube-dl": "yt-dlp", "podman-compose": "docker-compose",
    ]

    // MARK: wrappers

    /// Drops keywords, and programs that run another program, with their options. True after xargs, which adds arguments
    /// that the line does not show.
    private static func dropWrappers(_ words: inout ArraySlice<ShellWord>) -> Bool {
        var fromXargs = false
        while let word = words.first, !word.isOpaque || word.isAssignment {
            if word.isAssignment || (keywords.contains(word.text) && !word.isQuoted) {
                words.removeFirst()
                continue
            }
            let name = word.text.split(separator: "/").last.map(String.init) ?? word.text
            guard wrappers.contains(name) else { return fromXargs }
            let line = words.dropFirst()
            // `command -v x` only looks for x, and `env` or `sudo -l` alone run nothing else.
            if name == "command", let option = line.first?.text, option == "-v" || option == "-V" { return fromXargs }
            var options = OptionTable.options(name)
            options.stopsAtOperand = true
            var rest = ParsedArguments(line, options).operands[...]
            if name == "timeout" || name == "gtimeout" { rest = rest.dropFirst() }
            if name == "env" { rest = rest.drop { $0.isAssignment } }
            if rest.isEmpty, name != "xargs" { return fromXargs }
            if name == "xargs" { fromXargs = true }
            words = rest
        }
        return fromXargs
    }

    private static let keywords = Set(words: "then do else elif if while until ! { }")

    /// Programs that run another program.
    private static let wrappers = Set(
        words: """
            env sudo doas time nohup setsid unbuffer command builtin exec nice ionice stdbuf timeout gtimeout xargs caffeinate
            """
    )
}
