/// A program and its arguments, after everything in front of it that only changes how it runs was taken away.
struct ShellCommand {
    /// Last path part, lower case, without `.exe` and without a version (`python3.11` is `python`).
    let program: String
    /// As written; nil where it is an expansion.
    let path: String?
    let arguments: [ShellWord]
    let documents: [String]

    /// Nil where only assignments, keywords or wrappers stand.
    init?(_ part: ShellPart) {
        var words = part.words[...]
        let fromXargs = Self.dropWrappers(&words)
        guard let first = words.popFirst() else { return nil }
        documents = part.documents
        arguments = Array(words) + (fromXargs ? [.unknown] : [])
        guard !first.isOpaque else {
            (program, path) = ("", nil)
            return
        }
        path = first.text
        program = Self.programName(first.text)
    }

    init(program: String, arguments: some Collection<ShellWord>, documents: [String] = []) {
        self.program = Self.programName(program)
        path = program
        self.arguments = Array(arguments)
        self.documents = documents
    }

    static func programName(_ text: String) -> String {
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

    /// Keywords and programs that run another program: their own options go, what they run stays. True behind xargs, which
    /// adds arguments that are not seen.
    private static func dropWrappers(_ words: inout ArraySlice<ShellWord>) -> Bool {
        var fromXargs = false
        while let word = words.first, !word.isOpaque || word.isAssignment {
            if word.isAssignment {
                words.removeFirst()
                continue
            }
            if keywords.contains(word.text), !word.isQuoted {
                words.removeFirst()
                continue
            }
            let name = word.text.split(separator: "/").last.map(String.init) ?? word.text
            guard let wrapper = wrappers[name] else { return fromXargs }
            let line = words.dropFirst()
            // `command -v x` asks where x is, and `env`, `sudo -l` alone are commands of their own.
            if name == "command", line.first.map({ $0.text == "-v" || $0.text == "-V" }) ?? false { return fromXargs }
            var rest = CommandLine(line, valued: wrapper.valued, stopsAtOperand: true).operands[...]
            if wrapper.takesOperand { rest = rest.dropFirst() }
            if name == "env" { while let next = rest.first, next.isAssignment { rest = rest.dropFirst() } }
            if rest.isEmpty, name != "xargs" { return fromXargs }
            if name == "xargs" { fromXargs = true }
            words = rest
        }
        return fromXargs
    }

    private static let keywords = Set(words: "then do else elif if while until ! { }")

    private struct Wrapper {
        var valued: Set<String>
        var takesOperand = false
    }

    private static let wrappers: [String: Wrapper] = [
        "env": Wrapper(valued: Set(words: "-u --unset -C --chdir -S --split-string")),
        "sudo": Wrapper(
            valued: Set(words: "-u --user -g --group -h --host -p --prompt -C -D --chdir -R -r --role -t --type -T -U")
        ),
        "doas": Wrapper(valued: Set(words: "-u -C")),
        "time": Wrapper(valued: Set(words: "-f --format -o --output")),
        "nohup": Wrapper(valued: []),
        "setsid": Wrapper(valued: []),
        "unbuffer": Wrapper(valued: []),
        "command": Wrapper(valued: []),
        "builtin": Wrapper(valued: []),
        "exec": Wrapper(valued: ["-a"]),
        "nice": Wrapper(valued: Set(words: "-n --adjustment")),
        "ionice": Wrapper(valued: Set(words: "-c --class -n --classdata -p")),
        "stdbuf": Wrapper(valued: Set(words: "-i --input -o --output -e --error")),
        "timeout": Wrapper(valued: Set(words: "-s --signal -k --kill-after"), takesOperand: true),
        "gtimeout": Wrapper(valued: Set(words: "-s --signal -k --kill-after"), takesOperand: true),
        "xargs": Wrapper(
            valued: Set(
                words:
                    "-n --max-args -I -P --max-procs -d --delimiter -L --max-lines -s --max-chars -a --arg-file -E -R"
            )
        ),
        "caffeinate": Wrapper(valued: Set(words: "-t -w")),
    ]
}
