import Ledger

/// A small gateway, for the explorer: it accepts, drops, stores, merges, answers, refuses and restarts as a release does. All numbers
/// are small on purpose, so that every order of events can be tried. A key is 10 × message + generation; a run with an id of the
/// gateway's own has 1,000 + the key that it answers.
struct SmallGateway: Hashable, Sendable {
    struct Profile: Hashable, Sendable {
        var name: String
        var traits: MessageTraits
        var dropsEqualWords = false
        var hasOwnIDs = false
        var refusesInOldSessions = false
        var carriesWords = false
        var hasCustody = false
        var hasBootID = false
        /// Says nothing of a message that waits, and ends it once under its own key, when the run with the other id has ended.
        var endsOnce = false
        var drain = Drain.none
        var pagesNameActiveRun = false

        var keysInRows: Bool { traits.keysInRows }
    }

    enum Drain: Hashable, Sendable {
        case none
        /// Takes no new message while it drains, and may lose or keep those that wait.
        case refuses
        /// Goes on until it is idle.
        case waits
    }

    struct Run: Hashable, Sendable {
        var id: Int
        var key: Int
        /// The messages in its prompt.
        var messages: [Int]
        var hasBegun = false
    }

    enum RowEnd: Hashable, Sendable { case none, answered, failed, stopped, injected }

    struct Row: Hashable, Sendable {
        /// 0 for a row without one.
        var key: Int
        var words: Character
        /// The messages that it stands for, which nobody sees.
        var messages: [Int]
        var end = RowEnd.none
        var run: Int
        var isGone = false
    }

    enum Remembered: Hashable, Sendable { case atWork, done, failed }

    enum Event: Hashable, Sendable {
        case acknowledged(key: Int, run: Int)
        case remembered(key: Int)
        case began(run: Int, row: Int)
        case answered(run: Int)
        case failed(run: Int)
        case stopped(run: Int)
        case injected(run: Int)
        case empty(run: Int)
        case nothingToStop(key: Int)
        case shutdown
    }

    static let ownID = 1_000

    var isUp = true
    var process = 0
    /// Counts the restarts inside the process.
    var life = 0
    var drains = false
    var memory: [Int: Remembered] = [:]
    var queue: [Run] = []
    var run: Run?
    var rows: [Row] = []
    /// Messages whose words go into the next prompt.
    var carried: [Int] = []
    var resumes: Resumable?
    /// 1: the next message runs, 2: messages are refused.
    var conflict = 0
    /// A stopped message that may run by itself.
    var late: [Late] = []
    var custody: [Int: Fact.Receipt] = [:]

    struct Resumable: Hashable, Sendable {
        var row: Int
        var run: Run
    }

    struct Late: Hashable, Sendable {
        var message: Int
        var key: Int
    }
}

extension SmallGateway.Profile {
    static let march = Self(
        name: "2026.3.1",
        traits: MessageTraits(
            keysInRows: false,
            earlyStop: .asksModel,
            queuedStop: .runsAllTheSame,
            resumesRuns: false,
            readsRefusedRows: false,
            readsStoppedRows: true
        ),
        hasOwnIDs: true,
        carriesWords: true,
        drain: .refuses
    )
    static let april = Self(
        name: "2026.4.26",
        traits: MessageTraits(
            keysInRows: false,
            earlyStop: .asksModel,
            queuedStop: .runsAllTheSame,
            resumesRuns: true,
            readsRefusedRows: true
        ),
        hasOwnIDs: true
    )
    static let june = Self(
        name: "2026.6.11",
        traits: MessageTraits(
            keysInRows: true,
            earlyStop: .leavesRow,
            queuedStop: .breaksTheRun,
            resumesRuns: true,
            readsRefusedRows: true
        ),
        dropsEqualWords: true,
        refusesInOldSessions: true,
        carriesWords: true,
        drain: .waits,
        pagesNameActiveRun: true
    )
    static let september = Self(
        name: "2026.9.7",
        traits: MessageTraits(
            keysInRows: true,
            earlyStop: .clean,
            queuedStop: .clean,
            resumesRuns: true,
            readsRefusedRows: true
        ),
        hasOwnIDs: true,
        hasCustody: true,
        hasBootID: true,
        pagesNameActiveRun: true
    )
    static let october = Self(
        name: "2026.10.2",
        traits: september.traits,
        hasOwnIDs: true,
        hasCustody: true,
        hasBootID: true,
        endsOnce: true,
        pagesNameActiveRun: true
    )
    static let all = [march, april, june, september, october]
}
