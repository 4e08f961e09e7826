package import Basics
package import Ledger

/// An input of the dispatcher.
package enum DispatcherInput: Sendable, Equatable {
    /// At the start: every saved entry that is not final, in order.
    case loaded([OutboxEntry])
    /// The saved entries could not be read; the owner tries again unasked.
    case loadFailed(detail: String)
    /// A new entry is durable.
    case enqueued(OutboxEntry)
    case link(LinkCondition)
    /// The change is on disk.
    case persisted(PersistID)
    case persistFailed(PersistID, PersistFailure)
    /// The one report of a dispatch.
    case outcome(AttemptID, AttemptOutcome)
    /// The phase of a run of any client. `active` may be reported any number of times.
    case run(session: String, run: String, phase: RunPhase)
    /// The gateway has the message with this key in memory.
    case taken(key: String)
    /// A row in the transcript shows the key, or the key's run has ended.
    /// `joined` is the run that read the message while it was at work on another one.
    case evidence(key: String, OutboxProof, joined: String? = nil)
    /// The gateway acknowledged the message with this key, and then refused to run it.
    case refusedByRun(key: String, OutboxFault)
    /// The gateway would acknowledge the session's next message and not run it, so messages wait.
    case refuses(session: String)
    /// The gateway runs the messages of all sessions again.
    case refusesNoMore
    /// The gateway refused a mode for the queue of a busy session, although its hello lets expect that it takes one.
    case refusesQueueModes
    /// The gateway says that it takes nothing for a while, and why.
    case paused(detail: String)
    case goesOn
    case searched(SearchID, SearchReport)
    /// The session leads to another conversation than when its waiting entries were accepted, for example after a reset. Nil stands
    /// for all sessions.
    case routeChanged(session: String?, detail: String)
    /// A person asked to stop the run. If the gateway lost the run's message, the message is not sent again.
    case stopped(run: String)
    /// Every stop of the run was taken back, so its message may be sent again.
    case mayRunAgain(run: String)
    /// The gateway answered a stop of this run: it has no such run.
    case nothingToStop(run: String)
    case cancel(id: String, force: Bool, expectedVersion: Int64? = nil, CommandToken)
    case retry(id: String, expectedVersion: Int64?, CommandToken)
    /// The armed timer has fired.
    case tick
}

/// The phase of a run. Only `continued` says anything about the transcript.
package enum RunPhase: Sendable, Equatable {
    case active
    /// The gateway's process that worked on the run is gone. The next process may go on with the run.
    case interrupted
    case ended
    /// The message was accepted during another run: the answer comes later, under a run id of the gateway's own
    /// (protocol 3).
    case deferred
    /// The transcript has the deferred message's row, and this run answers it.
    case continued(as: String)
}

package enum PersistFailure: Sendable, Equatable {
    case storage(StoreError)
    /// The row on disk has another version, or is gone.
    case moved(current: OutboxEntry?)
}

/// An order of the dispatcher. Orders are carried out one after the other.
package enum DispatcherAction: Sendable, Equatable {
    /// Read the saved entries again and report `loaded` or `loadFailed`.
    case load
    /// Write the change and its `outbox` event in one transaction, then report `persisted` or `persistFailed`.
    case persist(PersistID, OutboxChange)
    /// Write the command to the link and report its outcome once.
    case dispatch(DispatchOrder)
    /// Ask the gateway to drop a message that it keeps and does not run.
    case discard(OutboxEntry)
    /// Search the session's transcript and report with `searched`.
    case search(SearchOrder)
    /// The answer to `cancel` or `retry`; its change is already durable.
    case answer(CommandToken, Result<OutboxEntry, OutboxRefusal>)
    /// Send `tick` at this monotonic time; nil for no timer. Replaces the previous timer.
    case arm(atMs: Int64?)
}

package struct DispatchOrder: Sendable, Equatable {
    package var attempt: AttemptID
    package var entry: OutboxEntry
}

package struct SearchOrder: Sendable, Equatable {
    package var id: SearchID
    package var entry: OutboxEntry
    /// The time of the first dispatch; the search reads back past it.
    package var since: Timestamp
    /// Other entries of the session that may have rows there; set by the part that reads the texts.
    package var others: [OutboxEntry] = []
    /// When their runs started, by their ids.
    package var starts: [String: Timestamp] = [:]
    /// When the session's runs started of which no entry is known to be answered, by their ids; set like the others.
    package var strangers: [String: Timestamp] = [:]
    /// Messages that were on the stream before the first dispatch, by their ids there; set like the others.
    package var earlier: Set<String> = []
}

package struct PersistID: Sendable, Hashable {
    package var number: Int64
}

package struct SearchID: Sendable, Hashable {
    package var number: Int64
}

/// The caller's own number for a cancel or retry.
package struct CommandToken: Sendable, Hashable {
    package var number: Int64

    package init(_ number: Int64) {
        self.number = number
    }
}

/// An input of one entry's delivery.
enum DeliveryInput: Sendable, Equatable {
    case outcome(AttemptID, AttemptOutcome)
    case taken(key: String)
    case proof(key: String, OutboxProof, joined: String? = nil)
    case continued(key: String, as: String)
    case refusedByRun(key: String, OutboxFault)
    /// The entry must not go out again.
    case withdrawn(Withdrawal)
    /// No stop of its run stands any more.
    case mayRunAgain
    /// The gateway has no run with this key to stop.
    case nothingToStop(key: String)
    case linkOpened
    case command(OutboxCommand, expectedVersion: Int64?, CommandToken)

    /// The token of a command, to which the answer belongs.
    var token: CommandToken? {
        switch self {
        case .command(_, _, let token): token
        default: nil
        }
    }
}

/// The reason why an entry must not go out again, although its sender has not taken it back.
enum Withdrawal: Sendable, Equatable {
    /// Its session was reset or deleted since the dispatch. The detail is for people.
    case targetChanged(detail: String)
    /// Its run was to be stopped. If the gateway never had the message, it must not run after all.
    case stopped
}

/// The link as the outbox sees it.
package enum LinkCondition: Sendable, Equatable {
    case offline(detail: String)
    /// A connection attempt is in progress; entries wait for its end.
    case connecting
    /// The gateway refuses us until something changes: nothing is tried, and no attempt is counted.
    case blocked(reason: String)
    /// `earlier` is the newest process that an earlier process of Ladle saw.
    case online(GatewayProfile, GatewayProcess, earlier: GatewayProcess? = nil)

    package var profile: GatewayProfile? {
        if case .online(let profile, _, _) = self { profile } else { nil }
    }
}

/// The clocks at one moment: `wall` for stored and shown times, `monotonic` for waiting.
package struct Moment: Sendable, Equatable {
    package var wallMs: Int64
    package var monotonicMs: Int64
    /// How far the gateway's clock is ahead of `wall`.
    package var gatewaySkewMs: Int64

    package init(wallMs: Int64, monotonicMs: Int64, gatewaySkewMs: Int64 = 0) {
        self.wallMs = wallMs
        self.monotonicMs = monotonicMs
        self.gatewaySkewMs = gatewaySkewMs
    }
}
