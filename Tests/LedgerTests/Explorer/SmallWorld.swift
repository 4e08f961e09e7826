import Ledger

/// A gateway, the frames on their way, a Ladle that dies anywhere, a person who stops messages, and another client. The verdicts are those
/// of the real fold, and every step that Ladle takes is one that the real table asks for.
struct SmallWorld: Hashable, Sendable {
    typealias Gateway = SmallGateway

    /// Faults that may still happen.
    struct Budget: Hashable, Sendable {
        var crashes = 0
        var restartsInside = 0
        var ladleCrashes = 0
        var lostFrames = 0
        var stops = 0
        var otherClients = 0
    }

    enum Link: Hashable, Sendable {
        case down, up
        /// Closed by the gateway; Ladle still reads what is in the pipe.
        case closing
    }

    /// An event, with the contact over which an answer came.
    struct Heard: Hashable, Sendable {
        var event: Gateway.Event
        var contact = 0
    }

    struct Sent: Hashable, Sendable {
        var key: Int
        var contact: Int
        /// The rows that were there before.
        var base: Int
    }

    struct Page: Hashable, Sendable {
        struct Row: Hashable, Sendable {
            var place: Int
            var key: Int
            var words: Character
            var end: Gateway.RowEnd
        }

        var contact: Int
        var rows: [Row]
        /// 0 for none, nil if the release does not say.
        var activeRun: Int?
        var custody: [Int: Fact.Receipt]
        var known: Set<Heard>
    }

    /// One message as Ladle's disk has it.
    struct Message: Hashable, Sendable {
        var sent: Set<Sent> = []
        var isStopped = false
        var stopsSent: Set<Sent> = []
        var waited: Set<Int> = []
        var told: Statement?
    }

    var gateway = Gateway()
    var pipe: [Gateway.Event] = []
    var link = Link.up
    /// How each contact compares with the one before.
    var contacts: [Continuity] = [.other]
    var identity: [Int] = []
    var heard: Set<Heard> = []
    var page: Page?
    var messages: [Message] = []
    /// How often each message reached the model and was answered, which nobody sees.
    var executed: [UInt8] = [0, 0, 0]
    var answered: [UInt8] = [0, 0, 0]
    var budget = Budget()

    var contact: Int { contacts.count - 1 }
    /// Whether a frame can reach the gateway.
    var isReachable: Bool { link == .up && gateway.isUp }

    mutating func emit(_ events: Gateway.Event...) {
        if link == .up { pipe += events }
    }

    mutating func execute(_ list: [Int]) {
        for message in list { executed[message] = min(3, executed[message] + 1) }
    }
}
