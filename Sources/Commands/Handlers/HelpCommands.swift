import JSONBytes

extension CommandSpec {
    static let completions = CommandSpec("completions", "Print a completion script").with {
        $0.run = HelpCommands.completions
        $0.arguments = [ArgumentSpec("shell", "Which shell", values: .words(["bash", "zsh", "fish"]))]
        $0.examples = [
            "ladle completions bash > ~/.local/share/bash-completion/completions/ladle",
            "ladle completions zsh > ~/.zfunc/_ladle", "ladle completions fish > ~/.config/fish/completions/ladle.fish",
        ]
    }

    static let complete = client(
        "complete",
        "Print the words that a shell offers",
        run: HelpCommands.complete,
        [ArgumentSpec("list", "Which words", values: .words(ListedNames.allCases.map(\.rawValue)))]
    ).with { $0.isHidden = true }

    static let man = CommandSpec("man", "Print the manual page").with {
        $0.run = HelpCommands.manual
        $0.examples = ["ladle man | man -l -"]
    }

    static let version = CommandSpec("version", "Show the version").with {
        $0.run = HelpCommands.version
        $0.options = [.json]
    }

    static let help = CommandSpec("help", "Show help for a command").with {
        $0.run = HelpCommands.help
        $0.arguments = [ArgumentSpec("command", "The command", optional: true, repeats: true)]
    }
}

/// Commands that need only the command table.
enum HelpCommands {
    static func completions(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let shell = invocation.command.arguments.first ?? ""
        guard let script = Completions.script(shell) else {
            throw CommandFailure(UsageError("no completions for \(shell)", command: ["completions"]))
        }
        invocation.io.write(script)
        return .ok
    }

    /// Answers a shell at a Tab. Without information nothing is offered.
    static func complete(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let words = ListedNames(rawValue: invocation.command.arguments[0]).flatMap { try? $0.words(invocation) }
        for word in words ?? [] { invocation.print(word) }
        return .ok
    }

    static func manual(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        invocation.io.write(ManualPage.text(version: invocation.services.version))
        return .ok
    }

    static func version(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard invocation.json else {
            invocation.print("ladle \(invocation.services.version)")
            return .ok
        }
        var writer = JSONWriter()
        writer.object { $0.member("version", invocation.services.version) }
        invocation.print(String(decoding: writer.bytes, as: UTF8.self))
        return .ok
    }

    static func help(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        var spec = CommandTable.root
        var path: [String] = []
        for name in invocation.command.arguments {
            guard let next = spec.subcommands.first(where: { $0.name == name }) else {
                throw CommandFailure(UsageError("unknown command \(name)", command: path))
            }
            spec = next
            path.append(name)
        }
        invocation.io.write(HelpText.text(path: path, spec: spec, width: min(invocation.io.columns, 100)))
        return .ok
    }
}
