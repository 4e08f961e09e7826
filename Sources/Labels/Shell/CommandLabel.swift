/// The label of one command, with its rank among the commands of a line.
struct CommandLabel: Sendable, Equatable {
    var text: String
    var category: ActivityCategory
    var rank: Rank

    /// Which command of a line names the step: the highest, the first of equals.
    enum Rank: Int, Sendable, Comparable {
        /// `cd`, `set`, `export`, `source`, test syntax: they prepare and never name a line.
        case setting
        case printing
        case checking
        case reading
        case searching
        case managing
        /// Scripts, services, programs that are not known.
        case running
        /// Network reads, changes to a working copy.
        case fetching
        /// Installing, building, testing.
        case building
        case writing
        /// Others see it: pushes, logins, uploads.
        case remote

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    static func terminal(_ text: String, _ rank: Rank) -> CommandLabel {
        CommandLabel(text: text, category: .terminal, rank: rank)
    }

    static func files(_ text: String, _ rank: Rank) -> CommandLabel {
        CommandLabel(text: text, category: .fileSystem, rank: rank)
    }

    static func network(_ text: String, _ rank: Rank) -> CommandLabel {
        CommandLabel(text: text, category: .network, rank: rank)
    }

    static func search(_ text: String) -> CommandLabel {
        CommandLabel(text: text, category: .search, rank: .searching)
    }

    static let unknown = terminal("Running a command", .running)
    static let tests = terminal("Running tests", .building)
    static let building = terminal("Building", .building)
    static let codeStyle = terminal("Checking code style", .building)
}

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

    /// Redirected output of these is a download.
    private static let networkClients = Set(words: "curl wget http https xh aria2c")
}
