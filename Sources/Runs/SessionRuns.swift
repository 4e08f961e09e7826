import Basics
import Ledger

/// The ids of one session's runs, in the order in which they became known, and how often the session's transcript was read.
struct SessionRuns: Sendable {
    var active: [String] = []
    var ended: [String] = []
    /// Our own sends that the gateway deferred because a run was active; later runs of the session answer them.
    var deferred: [String] = []
    /// Stopped runs whose messages the gateway keeps all the same, until it runs them or its process ends.
    private(set) var putAside: [String] = []
    /// Runs that the last restart of the gateway interrupted. A run that continues one of them has another id and does not name it.
    var interrupted: [String] = []
    /// Other clients' messages that the gateway put behind a run, and that it has not begun.
    private var othersDeferred = 0
    /// The words of other clients' messages that the gateway has not begun to run.
    private var othersWords: [Words] = []
    private(set) var touchedAt: Timestamp
    /// The transcript is known to be on disk. A new session of March and June has nothing there before its first answer
    /// is complete, whatever the gateway's events say.
    var hasTranscript = false
    /// The run of the transcript's last user's row, as long as no row can have been missed since.
    var lastTurn: String?
    /// How often the transcript was read since the link was opened.
    private(set) var looks = 0
    private(set) var lookedAt: Timestamp?
    private var failedLooks = 0

    init(now: Timestamp) { touchedAt = now }

    var all: [String] { ended + active }

    mutating func touch(at now: Timestamp) { touchedAt = max(touchedAt, now) }

    mutating func end(_ id: String) {
        guard let place = active.firstIndex(of: id) else { return }
        active.remove(at: place)
        deferred.removeAll { $0 == id }
        ended.append(id)
    }

    /// - Returns: false if the gateway has deferred it already.
    @discardableResult
    mutating func `defer`(_ id: String) -> Bool {
        guard !deferred.contains(id) else { return false }
        deferred.append(id)
        return true
    }

    /// - Returns: whether this is new.
    @discardableResult
    mutating func putAside(_ id: String) -> Bool {
        guard !putAside.contains(id) else { return false }
        putAside.append(id)
        return true
    }

    /// The process that kept the messages in its memory is gone.
    mutating func processGone() {
        (deferred, putAside) = ([], [])
        nothingWaits()
    }

    /// No message of another client waits.
    mutating func nothingWaits() {
        othersWords.removeAll()
        othersDeferred = 0
    }

    mutating func interrupt(_ id: String) {
        if !interrupted.contains(id) { interrupted.append(id) }
    }

    mutating func forget(_ id: String) {
        active.removeAll { $0 == id }
        ended.removeAll { $0 == id }
        deferred.removeAll { $0 == id }
        putAside.removeAll { $0 == id }
        interrupted.removeAll { $0 == id }
    }

    // MARK: Messages of other clients

    /// The most messages of other clients that are remembered: far more than wait at a gateway for one session at a time.
    private static let mostOthers = 64

    func haveOthersSaid(_ words: Words) -> Bool { others(saying: words) > 0 }

    /// How many messages with these words wait.
    func others(saying words: Words) -> Int { othersWords.count { $0.show(words) } }

    mutating func othersSaid(_ words: Words) {
        if othersWords.count == Self.mostOthers { othersWords.removeFirst() }
        othersWords.append(words)
    }

    mutating func othersBegan(_ words: Words) {
        if let place = othersWords.firstIndex(of: words) { othersWords.remove(at: place) }
    }

    mutating func othersWait() { othersDeferred = min(othersDeferred + 1, Self.mostOthers) }

    /// A run of the gateway's own begins.
    /// - Returns: whether it may be that of another client's message that waited.
    mutating func ownRunBegan() -> Bool {
        guard othersDeferred > 0 else { return false }
        othersDeferred -= 1
        return true
    }

    /// A run that is not followed was last seen at work: one of Ladle's own housekeeping, or one that began before the link opened.
    private var workedUnseenAt: Timestamp?

    mutating func workedUnseen(at time: Timestamp) { workedUnseenAt = max(workedUnseenAt ?? time, time) }

    func hasWorkedUnseen(since time: Timestamp) -> Bool { workedUnseenAt.map { $0 >= time } ?? false }

    // MARK: Pages

    mutating func look(at now: Timestamp) {
        looks += 1
        lookedAt = now
    }

    /// The page could not be read. A gateway that has just started may not answer yet; one that never answers is not asked for ever.
    mutating func lookFailed() {
        failedLooks += 1
        if failedLooks < Self.mostFailedLooks { looks = max(0, looks - 1) }
    }

    /// The pages begin anew, as after a break of the link.
    mutating func lookAgain() { (looks, failedLooks, lookedAt) = (0, 0, nil) }

    private static let mostFailedLooks = 30
}
