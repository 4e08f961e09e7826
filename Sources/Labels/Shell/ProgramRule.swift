/// How a program's label is made.
enum ProgramRule: Sendable {
    case fixed(String, ActivityCategory, CommandLabel.Rank)
    case names(NamesRule)
    case custom(@Sendable (_ command: ShellCommand, _ depth: Int) -> CommandLabel?)

    func label(for command: ShellCommand, depth: Int) -> CommandLabel? {
        switch self {
        case .fixed(let text, let category, let rank): CommandLabel(text, category, rank)
        case .names(let rule): rule.label(for: CommandLine(command.arguments, valued: rule.valued).operands)
        case .custom(let make): make(command, depth)
        }
    }
}

/// `VERB F and N more`, for programs whose operands are files.
struct NamesRule: Sendable {
    var verb: String
    /// Without any operand.
    var none: String
    /// With operands of which no name is known.
    var unknown: String
    var category: ActivityCategory
    var rank: CommandLabel.Rank
    var valued: Set<String> = []

    func label(for operands: some Collection<ShellWord>) -> CommandLabel {
        guard !operands.isEmpty else { return CommandLabel(none, category, rank) }
        let text = LabelText.list(operands.compactMap { LabelText.name(of: $0) }).map { "\(verb) \($0)" } ?? unknown
        return CommandLabel(text, category, rank)
    }
}
