/// The label of a whole command line: every command gets one with a rank, the best is shown.
enum CommandLabels {
    /// How often `sh -c "…"` inside `sh -c "…"` is looked into.
    private static let nesting = 3

    static func label(of command: String) -> ActivityLabel {
        let stages = ShellLexer.stages(of: command)
        var found = CommandLabel.unknown
        if let best = best(of: stages, depth: 0) {
            let isAlone = stages.count == 1 && stages.first?.parts.count == 1
            if best.rank > .setting || (isAlone && best.text.hasPrefix("Opening ")) { found = best }
        }
        return ActivityLabel(found.text, found.category)
    }

    /// In a pipe the first part names the work unless a later one changes something.
    static func best(of stages: [ShellStage], depth: Int) -> CommandLabel? {
        var best: CommandLabel?
        for stage in stages {
            for (place, part) in stage.parts.enumerated() {
                guard let label = label(of: part, depth: depth), place == 0 || label.rank >= .managing else { continue }
                if let known = best, known.rank >= label.rank { continue }
                best = label
            }
        }
        return best
    }

    static func label(of part: ShellPart, depth: Int) -> CommandLabel? {
        let command = ShellCommand(part)
        let own = command.flatMap { label(of: $0, depth: depth) }
        guard let output = part.output else { return own }
        if let own, let command, own.rank == .remote || networkClients.contains(command.program) { return own }
        let name = LabelText.name(of: output.target) ?? "a file"
        return CommandLabel(output.appends ? "Appending to \(name)" : "Writing \(name)", .fileSystem, .writing)
    }

    static func label(of command: ShellCommand, depth: Int) -> CommandLabel? {
        guard command.path != nil else { return .unknown }
        if let script = nestedScript(of: command), depth < nesting {
            if let inner = best(of: ShellLexer.stages(of: script), depth: depth + 1), inner.rank > .setting {
                return inner
            }
        }
        if let rule = ProgramTable.rules[command.program] { return rule.label(for: command, depth: depth) }
        return ProgramTable.other(command)
    }

    /// `sh -c "…"`, `eval "…"`: the script, where it is written out.
    private static func nestedScript(of command: ShellCommand) -> String? {
        if command.program == "eval" {
            return command.arguments.map(\.text).joined(separator: " ")
        }
        guard ProgramTable.shells.contains(command.program) else { return nil }
        let line = CommandLine(command.arguments, valued: ["-c", "-o", "-O"], stopsAtOperand: true)
        // `-lc 'script'`: the cluster's last letter takes the next word.
        guard let script = line.value("-c"), !(script.isOpaque && script.text.hasPrefix("$")) else { return nil }
        return script.text
    }

    static let networkClients = Set(words: "curl wget http https xh aria2c")
}
