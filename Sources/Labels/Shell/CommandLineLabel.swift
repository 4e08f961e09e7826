/// Names a whole command line: every command gets a label with a rank, the best is shown.
enum CommandLineLabel {
    /// Depth up to which `sh -c "…"` inside `sh -c "…"` is read.
    private static let nesting = 3

    static func label(of line: String) -> ActivityLabel {
        let commands = ShellLexer.commands(of: line)
        var found = CommandLabel.unknown
        if let best = best(of: commands, depth: 0),
            best.rank > .setting || (commands.count == 1 && best.text.hasPrefix("Opening "))
        {
            found = best
        }
        return ActivityLabel(found.text, found.category)
    }

    /// In a pipeline the first command names the work unless a later one changes something.
    private static func best(of commands: [SimpleCommand], depth: Int) -> CommandLabel? {
        var best: CommandLabel?
        for command in commands {
            guard let label = label(of: command, depth: depth), !command.isPiped || label.rank >= .managing else {
                continue
            }
            if best.map({ $0.rank < label.rank }) ?? true { best = label }
        }
        return best
    }

    /// Nil for a command without a program and without output, such as an assignment.
    static func label(of command: SimpleCommand, depth: Int) -> CommandLabel? {
        let call = ProgramCall(command, depth: depth)
        let own = call.map { label(of: $0) }
        guard let output = command.output else { return own }
        if let own, let call, own.rank == .remote || networkClients.contains(call.program) { return own }
        let name = output.target.name ?? "a file"
        return .files(output.appends ? "Appending to \(name)" : "Writing \(name)", .writing)
    }

    private static func label(of call: ProgramCall) -> CommandLabel {
        guard call.path != nil else { return .unknown }
        if call.depth < nesting, let script = call.script,
            let inner = best(of: ShellLexer.commands(of: script), depth: call.depth + 1), inner.rank > .setting
        {
            return inner
        }
        return ProgramTable.label(for: call)
    }

    /// Programs whose redirected output is a download.
    private static let networkClients = Set(words: "curl wget http https xh aria2c")
}
