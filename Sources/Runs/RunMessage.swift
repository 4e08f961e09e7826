import Basics
import Ledger

/// The message that a run answers: its words if we sent it, and what shows that the gateway has it.
struct RunMessage: Sendable {
    /// The words of our message; nil for a run that we did not start.
    var words: Words?
    /// The words of a message that another client sent, as its row showed them.
    private(set) var strangersWords: Words?
    /// Whether a row with these words shows our message.
    func isShown(as row: Words) -> Bool { words.map { row.show($0) } ?? false }
    /// How far the gateway's clock was ahead of ours when the message was sent; nil if unknown.
    var clockSkewMs: Int64?
    /// Messages that an earlier process of Ladle told before ours was sent.
    private(set) var earlier: Set<String> = []
    /// The run began while a message of another client waited, so it may be that one's.
    var mayBeStrangers = false
    /// How many messages of other clients with its words the gateway had taken, and not begun, when ours was sent.
    var equalsBefore = 0
    /// The gateway said that our message waits.
    private(set) var deferral: Deferral?
    /// The start of a run with its words that may be the one behind which it waits.
    private(set) var mayWaitBehind: Timestamp?
    /// That run is over, and the pages of the next seconds decide which run answers the message.
    private(set) var asksAgain = false
    /// The run continues one that a restart interrupted, so the gateway itself wrote its prompt.
    private(set) var isResumption = false
    /// The words of the message, whoever sent it; nil if they are not known.
    var anyonesWords: Words? { words ?? strangersWords }
    /// Another client sent the message, and no row of it was seen.
    var isUnknown: Bool { anyonesWords == nil && !isResumption }
    /// The outbox has no proof that the gateway has the message, and may send it again.
    var awaitsDelivery = false
    /// The transcript was seen to hold the message's row.
    private(set) var isStored = false
    /// Sent over this connection, which has lost no frame since: nothing that began since was missed.
    private(set) var hasMissedNothing = false
    /// Sent over this connection: March sends tool events to the sender alone.
    private(set) var isSenderHere = false
    /// The gateway announced that it took the message, as April does for every client's.
    private(set) var isAnnounced = false
    /// An event of the run came since the entry's last change and since the link was opened, so the outbox already knows that the
    /// gateway has the message.
    private var isHeard = false
    /// The gateway had refused to run the message, so that only an answer of its own shows a run of it.
    private(set) var wasRefused = false
    /// The agent was seen at work on the message.
    private(set) var wasSeenAtWork = false
    /// The message's row, seen while the gateway could still refuse the message. It becomes proof of delivery once the agent is
    /// seen at work.
    private var seenRow: RunProof?

    /// The transcript holds the message, although perhaps no page has shown it: its row may have come as an event. A gateway that goes
    /// on with the run replaces that row.
    var isInTranscript: Bool { isStored || strangersWords != nil || (words != nil && !awaitsDelivery) }

    /// June releases acknowledge a message before its run begins. They may still refuse the message, and they write a row even for
    /// a refused message.
    var mayBeRefused: Bool { words != nil && awaitsDelivery && !wasSeenAtWork }

    mutating func follow(_ known: KnownRun.Message?) {
        words = known.map { Words($0.text) }
        clockSkewMs = known?.clockSkewMs ?? clockSkewMs
        awaitsDelivery = known.map { $0.delivery == .open || $0.delivery == .lost } ?? false
        wasRefused = known?.delivery == .refused
        earlier = known?.earlier ?? []
        deferral = known?.deferral ?? deferral
        equalsBefore = deferral?.equalsBefore ?? equalsBefore
    }

    /// Whether the message of another client has the words of ours.
    func isSaid(by other: RunMessage) -> Bool { other.strangersWords.map { isShown(as: $0) } ?? false }

    mutating func refused() { (awaitsDelivery, wasRefused) = (false, true) }
    mutating func sent() { (awaitsDelivery, isSenderHere, isAnnounced, hasMissedNothing) = (true, true, false, true) }
    mutating func framesLost() { hasMissedNothing = false }
    /// The gateway said that the message waits, or it was found out behind which run.
    /// - Returns: what is known of the waiting now, if that is more than before.
    mutating func waits(_ news: Deferral) -> Deferral? {
        var known = deferral ?? news
        known.behind = [known.behind, news.behind].compactMap(\.self).max()
        guard known != deferral else { return nil }
        deferral = known
        return known
    }
    /// A run that began then may be the one in the way.
    mutating func wait(behind start: Timestamp?, asksAgain: Bool = false) {
        (mayWaitBehind, self.asksAgain) = (start, asksAgain)
    }
    /// A new page decides anew which run is in the way.
    mutating func decide() { wait(behind: nil) }
    /// The start of the run behind which it waits, as far as that is known or likely.
    var startBefore: Timestamp? { [deferral?.behind, mayWaitBehind].compactMap(\.self).max() }
    mutating func announced() { isAnnounced = true }
    /// A message that was announced to another connection is not announced again.
    mutating func connectionChanged() {
        (isSenderHere, isAnnounced, isHeard, hasMissedNothing) = (false, true, false, false)
    }
    mutating func entryChanged() { isHeard = false }

    /// Records an event of the run.
    /// - Returns: whether it is the first one since the entry's last change, so that the outbox has to be told.
    mutating func heard() -> Bool {
        defer { isHeard = true }
        return !isHeard
    }
    mutating func stored() { (isStored, isAnnounced) = (true, true) }
    mutating func seenAtWork() { (wasSeenAtWork, isAnnounced) = (true, true) }

    /// The user's row of the run was seen. A prompt of the gateway's own is not the message.
    mutating func shown(as row: @autoclosure () -> Words, isPrompt: Bool) {
        if isPrompt { isResumption = true } else if words == nil { strangersWords = row() }
    }

    /// The run goes on with another one, and so with its message.
    mutating func goesOn(with other: RunMessage) { (words, strangersWords) = (other.words, other.strangersWords) }

    /// The words of the run's message are those of another client's, too, and it is that one's.
    mutating func isStrangers() { (words, strangersWords) = (nil, words) }

    /// The run begins again, and its next try has shown nothing yet.
    mutating func beginAgain() { (wasSeenAtWork, seenRow) = (false, nil) }

    /// The message was sent again, so its row is still to come.
    /// - Parameter equals: how many equal messages of other clients wait now.
    mutating func sentAgain(equalsBefore equals: Int) {
        (isStored, deferral, equalsBefore) = (false, nil, equals)
        decide()
    }

    // MARK: Proof

    /// The message's row was seen. The gateway may have refused the message all the same, and written rows of another run after it.
    /// - Parameter mayBeOfRefused: this release writes rows of refused messages.
    /// - Returns: whether the row proves delivery, for the first time.
    mutating func prove(byRow proof: RunProof, mayBeOfRefused: Bool) -> Bool {
        guard !mayBeOfRefused || !mayBeRefused else {
            seenRow = proof
            return false
        }
        return prove()
    }

    /// The row that was seen before, if the agent has been seen at work since.
    mutating func proveBySeenRow() -> RunProof? {
        guard let proof = seenRow, !mayBeRefused else { return nil }
        seenRow = nil
        return prove() ? proof : nil
    }

    private mutating func prove() -> Bool {
        defer { awaitsDelivery = false }
        return awaitsDelivery
    }
}
