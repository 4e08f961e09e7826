/// One row of the program table: programs or sub-commands, and the rule that names their calls.
struct ProgramRule: Sendable {
    typealias Naming = @Sendable (_ call: ProgramCall, _ line: ParsedArguments) -> CommandLabel

    /// The names in the form of `OptionTable.names`.
    let names: String
    private let naming: Naming?
    private let fixed: CommandLabel

    private init(_ names: String, fixed: CommandLabel = .unknown, naming: Naming? = nil) {
        self.names = names
        self.fixed = fixed
        self.naming = naming
    }

    /// `line` is called only if the label depends on the arguments.
    func label(for call: ProgramCall, _ line: () -> ParsedArguments) -> CommandLabel {
        naming.map { $0(call, line()) } ?? fixed
    }

    /// The same label for any arguments.
    static func fixed(_ names: String, _ label: CommandLabel) -> ProgramRule { ProgramRule(names, fixed: label) }

    static func code(_ names: String, _ naming: @escaping Naming) -> ProgramRule { ProgramRule(names, naming: naming) }

    /// `VERB F and N more` for programs whose operands are files; `VERB THING` if no name is known.
    static func files(
        _ names: String,
        _ verb: String,
        or thing: String = "files",
        none: String? = nil,
        _ rank: CommandLabel.Rank,
        ignoring isIgnored: @escaping @Sendable (ShellWord) -> Bool = { _ in false }
    ) -> ProgramRule {
        code(names) { _, line in
            let files = line.operands.filter { !isIgnored($0) }
            if let names = files.listed { return .files("\(verb) \(names)", rank) }
            return .files("\(verb.prefix { $0 != " " }) \((files.isEmpty ? none : nil) ?? thing)", rank)
        }
    }

    /// `VERB F` for programs whose first operand is enough.
    static func firstFile(_ names: String, _ verb: String, _ rank: CommandLabel.Rank) -> ProgramRule {
        code(names) { _, line in .files("\(verb) \(line.operands.first?.name ?? "files")", rank) }
    }

    /// Programs that run scripts of a language; the value of an `inline` option is a program text.
    static func script(_ names: String, _ language: String, inline: String) -> ProgramRule {
        let inline = Set(words: inline)
        return code(names) { call, line in
            ScriptCommands.run(call, line, language, inline: line.options.contains { inline.contains($0.name) })
        }
    }

    /// Programs whose first operand is a sub-command. The row `GROUP > SUB` names it; `otherwise` names those without a row.
    static func group(
        _ names: String,
        _ group: String? = nil,
        otherwise: @escaping Naming = { call, line in running(call, line) }
    ) -> ProgramRule {
        code(names) { call, line in
            let group = group ?? call.program
            guard let sub = line.operands.first, !sub.isOpaque, let rule = ProgramTable.rules[group]?[sub.text] else {
                return otherwise(call, line)
            }
            // If the program's own options end at the sub-command, the sub-command parses the rest.
            let words = line.stopped ? line.operands.dropFirst() : call.arguments(behind: sub.text)[...]
            return rule.label(for: call.calling(call.program, words)) {
                guard line.stopped else { return line.withoutFirstOperand }
                return ParsedArguments(words, OptionTable.options(sub.text, in: group))
            }
        }
    }

    /// `Running PROGRAM SUB` for a sub-command that no row names.
    static func running(
        _ call: ProgramCall,
        _ line: ParsedArguments,
        _ rank: CommandLabel.Rank = .running
    ) -> CommandLabel {
        guard let sub = line.operands.first, !sub.isOpaque else {
            return .terminal("Running \(call.program)", .running)
        }
        let name = ProgramTable.runningName(sub.text).map { " \($0)" } ?? ""
        return .terminal("Running \(call.program)\(name)", rank)
    }
}
