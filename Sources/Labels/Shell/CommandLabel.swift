/// The label of one command, with its rank among the commands of a line.
struct CommandLabel: Sendable, Equatable {
    var text: String
    var category: ActivityCategory
    var rank: Rank

    /// Decides which command of a line names the step: the highest rank, and among equals the first.
    enum Rank: Int, Sendable, Comparable {
        /// `cd`, `set`, `export`, `source`, test syntax: preparation, which never names a line.
        case setting
        case printing
        case checking
        case reading
        case searching
        case managing
        /// Scripts, services, unknown programs.
        case running
        /// Network reads, changes to a working copy.
        case fetching
        /// Installing, building, testing.
        case building
        case writing
        /// Visible to others: pushes, logins, uploads.
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
