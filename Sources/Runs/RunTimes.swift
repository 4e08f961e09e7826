import Basics
import Gateway
import Ledger

/// When one run started, was last seen and ended, out of reports that come in any order.
struct RunTimes: Sendable {
    /// When the run became known, by our clock.
    private let createdAt: Timestamp
    private var startedAt: Timestamp?
    /// All known starts: the gateway may try a run again. The user's row in the transcript has the time of one of them.
    private(set) var starts: [Timestamp] = []
    private(set) var firstEvent: Timestamp?
    private var endedAt: (sequence: Int64, time: Timestamp)?
    private var chatEndedAt: Timestamp?
    private var lastEvent: Timestamp
    /// A start or some work was reported since the message was sent last.
    private(set) var hasTryBegun = false

    private static let mostStarts = 8

    init(createdAt now: Timestamp) {
        createdAt = now
        lastEvent = now
    }

    // MARK: Reading

    var knownAt: Timestamp { createdAt }
    var hasBegun: Bool { startedAt != nil || firstEvent != nil }
    var start: Timestamp { startedAt ?? firstEvent ?? createdAt }
    /// The first reported start, else the time at which the run became known.
    var sentAt: Timestamp { starts.first ?? createdAt }
    /// The run's end, or its last event if no end was reported.
    var lastSeen: Timestamp { endedAt?.time ?? chatEndedAt ?? lastEvent }

    /// The time of a row; some rows have none of their own.
    func time(of row: TranscriptRow) -> Timestamp { row.time ?? startedAt ?? createdAt }

    /// Whether the run started before this process of the gateway. Ladle's earlier process may have seen the gateway restart.
    func began(before process: Timestamp?) -> Bool {
        guard let process, let start = starts.first else { return false }
        return GatewayProcess.began(process, after: start)
    }

    // MARK: Reports

    mutating func began(at time: Timestamp) {
        hasTryBegun = true
        firstEvent = firstEvent.map { min($0, time) } ?? time
    }

    mutating func started(at start: Timestamp) {
        hasTryBegun = true
        startedAt = startedAt.map { min($0, start) } ?? start
        foundStart(at: start)
    }

    mutating func foundStart(at time: Timestamp) {
        if starts.count < Self.mostStarts, !starts.contains(time) { starts.append(time) }
    }

    mutating func seen(at time: Timestamp) { lastEvent = max(lastEvent, time) }

    mutating func ended(at time: Timestamp, sequence: Int64) {
        if endedAt.map({ sequence >= $0.sequence }) ?? true { endedAt = (sequence, time) }
    }

    mutating func chatEnded(at time: Timestamp) { chatEndedAt = chatEndedAt.map { min($0, time) } ?? time }

    /// The message is sent again, so the start of its next try is still to come.
    mutating func beginAgain() {
        hasTryBegun = false
        forgetEnd()
    }

    /// The run is tried again, so its end is still to come.
    mutating func forgetEnd() { (endedAt, chatEndedAt) = (nil, nil) }

    // MARK: From the database

    /// Takes the times of a published run. The newest step of a run in progress is the last news of it: it may have ended while
    /// Ladle was away.
    mutating func resume(_ run: Run) {
        hasTryBegun = true
        (startedAt, starts, lastEvent) = (run.startedAt, [run.startedAt], run.endedAt ?? run.startedAt)
        for step in run.steps { seen(at: step.endedAt ?? step.startedAt) }
    }
}
