package import Basics

/// An input of the dispatcher.
package enum DispatcherInput: Sendable, Equatable {
    /// At the start: every entry of the file that is not final, in order.
    case loaded([OutboxEntry])
    /// It could not be read; it will be tried again without being asked for.
    case loadFailed(detail: String)
    /// A new entry, durable.
    case enqueued(OutboxEntry)
    case link(LinkCondition)
    /// The change is on disk.
    case persisted(PersistID)
    case persistFailed(PersistID, PersistFailure)
    /// The one report of a dispatch.
    case outcome(AttemptID, AttemptOutcome)
    /// Signs of life of a run, ours or not. `active` may repeat as often as convenient.
    case run(session: String, run: String, phase: RunPhase)
    /// A sign that the gateway has the message with this key in memory.
    case taken(key: String)
    /// A row that shows a key, as found there, or the end of its run.
    case evidence(key: String, OutboxProof)
    /// The gateway acknowledged the message with this key, and then refused to run it.
    case refusedByRun(key: String, OutboxFault, retryAfterMs: Int64)
    /// Entries that wait because of this fault are due now.
    case bringForward(faultCode: String)
    case scanned(ScanID, ScanReport)
    /// The session, or every one when nil, no longer means what it meant when entries were accepted.
    case routeChanged(session: String?, detail: String)
    case cancel(id: String, force: Bool, expectedVersion: Int64? = nil, CommandToken)
    case retry(id: String, expectedVersion: Int64?, CommandToken)
    /// The armed time has come.
    case tick
}

/// How a run stands. No phase but `continued` says anything about the transcript.
package enum RunPhase: Sendable, Equatable {
    case active
    case ended
    /// Taken while another run was at work: the answer comes later, under a run of the gateway's own (protocol 3).
    case deferred
    /// The transcript has a row of the deferred message, and this run answers it.
    case continued(as: String)
}

package enum PersistFailure: Sendable, Equatable {
    case storage(StoreError)
    /// The row on disk has another version, or is gone.
    case moved(current: OutboxEntry?)
}

/// An order of the dispatcher. Orders are carried out in sequence.
package enum DispatcherAction: Sendable, Equatable {
    /// Read the entries of the file anew and report `loaded` or `loadFailed`.
    case load
    /// Write the change and its `outbox` event in one transaction, then report `persisted` or `persistFailed`.
    case persist(PersistID, OutboxChange)
    /// Write the command to the link and report its outcome once.
    case dispatch(DispatchOrder)
    /// Look into the session's history and report with `scanned`.
    case scan(ScanOrder)
    /// The answer to `cancel` or `retry`, durable already.
    case answer(CommandToken, Result<OutboxEntry, OutboxRefusal>)
    /// Send `tick` at this monotonic time; nil: no timer. Replaces the one before.
    case arm(atMs: Int64?)
}

package struct DispatchOrder: Sendable, Equatable {
    package var attempt: AttemptID
    package var entry: OutboxEntry
    /// The same key goes out again, so that the gateway answers whether it has the message.
    package var isRepeat: Bool
}

package struct ScanOrder: Sendable, Equatable {
    package var id: ScanID
    package var entry: OutboxEntry
    package var depth: ScanDepth
    /// First dispatch; a complete scan reads back past it.
    package var since: Timestamp
    /// How many other entries may show the same text there; filled where the text is read.
    package var sameText = 0
    /// The same, with those whose runs may have been under way at the first dispatch.
    package var sameTextBefore = 0
}

package struct PersistID: Sendable, Hashable {
    package var number: Int64
}

package struct ScanID: Sendable, Hashable {
    package var number: Int64
}

/// The caller's own number for a cancel or retry.
package struct CommandToken: Sendable, Hashable {
    package var number: Int64

    package init(_ number: Int64) {
        self.number = number
    }
}
