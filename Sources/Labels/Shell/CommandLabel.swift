/// The label of one command and how much it says about the whole line.
struct CommandLabel: Sendable, Equatable {
    var text: String
    var category: ActivityCategory
    var rank: Rank

    init(_ text: String, _ category: ActivityCategory, _ rank: Rank) {
        self.text = text
        self.category = category
        self.rank = rank
    }

    /// Which command of a line names the step: the highest, the first of equals.
    enum Rank: Int, Sendable, Comparable {
        /// `cd`, `set`, `export`, `source`, test syntax: says nothing.
        case setting = 0
        case printing = 1
        case checking = 3
        case reading = 4
        case searching = 5
        case managing = 7
        /// Scripts, services, programs that are not known.
        case running = 8
        /// Network reads, changes to a working copy.
        case fetching = 9
        /// Installing, building, testing.
        case building = 10
        case writing = 11
        /// What is seen elsewhere: pushes, logins, uploads.
        case remote = 12

        static func < (left: Rank, right: Rank) -> Bool { left.rawValue < right.rawValue }
    }

    static let unknown = CommandLabel("Running a command", .terminal, .running)
}
