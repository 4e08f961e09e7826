package import Basics
package import JSONBytes
package import Ledger

/// One command on its way to the gateway, without its payload: ten thousand of these stay in memory.
package struct OutboxEntry: Sendable, Equatable {
    // Shown by the API.
    package var id: String
    package var kind: OutboxKind
    package var session: String
    /// Set when an entry is read to be shown; nil in the dispatcher's copies.
    package var text: String?
    package var state: OutboxState
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    package var attemptCount: Int
    package var nextAttemptAt: Timestamp?
    package var notBefore: Timestamp?
    package var expiresAt: Timestamp
    package var runID: String?
    /// The run at work that read the message, which has none of its own.
    package var joinedRun: String?
    package var proof: OutboxProof?
    package var fault: OutboxFault?
    package var version: Int64

    // For the rules only.
    /// The longest wait once the entry's time has come; starts again with every retry by hand.
    package var ttlMs: Int64
    /// The sender's wish for a busy session.
    package var mode: MessageMode
    /// Order of acceptance; the table assigns it.
    package var ordinal: Int64
    /// A slash command: the gateway executes it, so it is only repeated at a person's request.
    package var isSlashCommand: Bool
    /// Of several waiting entries with one coalescing key in a session, only the newest is sent.
    package var coalescingKey: String?
    package var upstreamKey: String
    package var keyGeneration: Int
    package var lastClass: AttemptClass?
    /// First dispatch under the present key; the gateway remembers a key for a limited time only.
    package var firstDispatchAt: Timestamp?
    /// An earlier dispatch under the present key may have arrived; the current attempt repeats it.
    package var isRepeatInDoubt: Bool
    /// The gateway's uptime at that dispatch, to recognize whether the same process still runs.
    package var dispatchUptimeMs: Int64?
    /// How far the gateway's clock was ahead of ours at that dispatch: the transcript's row has the time of that clock, even
    /// if either clock was set afterwards.
    package var dispatchSkewMs: Int64?
    /// The gateway said that the message waits. It is read from the disk after a restart of Ladle.
    package var deferral: Deferral?
    /// The sender's identity. A repeated request or a coalescing command of another sender never affects this entry.
    package var owner: String?
    package var payloadBytes: Int
    /// A run of the message was published before the entry was read from the disk.
    package var hadBegun = false

    /// A new command. Its id is its first upstream key.
    package init(
        id: String,
        kind: OutboxKind = .message,
        session: String,
        text: String? = nil,
        createdAt: Timestamp,
        expiresAt: Timestamp,
        notBefore: Timestamp? = nil,
        coalescingKey: String? = nil,
        owner: String? = nil,
        payloadBytes: Int = 0,
        mode: MessageMode = .own
    ) {
        self.id = id
        self.kind = kind
        self.session = session
        self.text = text
        self.state = .queued
        self.createdAt = createdAt
        self.updatedAt = createdAt
        self.attemptCount = 0
        self.nextAttemptAt = nil
        self.notBefore = notBefore
        self.expiresAt = expiresAt
        self.ttlMs = expiresAt.milliseconds - (notBefore ?? createdAt).milliseconds
        self.runID = nil
        self.joinedRun = nil
        self.mode = mode
        self.proof = nil
        self.fault = nil
        self.version = 1
        self.ordinal = 0
        self.isSlashCommand = kind == .message && (text?.drop(while: \.isWhitespace).hasPrefix("/") ?? false)
        self.coalescingKey = coalescingKey
        self.upstreamKey = id
        self.keyGeneration = 1
        self.lastClass = nil
        self.firstDispatchAt = nil
        self.dispatchUptimeMs = nil
        self.dispatchSkewMs = nil
        self.isRepeatInDoubt = false
        self.owner = owner
        self.payloadBytes = payloadBytes
    }

    /// The id of the entry to which a gateway key belongs. A key is the entry's id, or the id with `-r` and a generation, such as
    /// `ID-r2`; the transcript adds `:user`.
    package static func entryID(ofKey key: some StringProtocol) -> String {
        let bare = bareKey(key)
        guard let dash = bare.lastIndex(of: "-") else { return bare }
        let mark = bare[bare.index(after: dash)...]
        guard mark.first == "r", mark.count > 1, mark.dropFirst().utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return bare
        }
        return String(bare[..<dash])
    }

    /// The run that people are told: the entry's own, or the one at work that read the message; nil if there is none.
    package var toldRun: String? { runID ?? joinedRun }
    /// The run that answers the message: its own key, unless the gateway answered under another id.
    package var run: String { runID ?? upstreamKey }

    /// A key as the transcript shows it, without the role that newer gateways append.
    package static func bareKey(_ key: some StringProtocol) -> String {
        key.hasSuffix(":user") ? String(key.dropLast(5)) : String(key)
    }

    /// The coalescing key of an abort: of one sender's stops that wait for one run, the newest is sent.
    package static func abortKey(ofRun run: String) -> String { "abort \(run)" }

    /// The run that this abort stops; nil for an entry of another kind.
    package var stoppedRun: String? {
        kind == .abort ? (coalescingKey?.dropFirst(Self.abortKey(ofRun: "").count)).map(String.init) : nil
    }

    /// Whether the key, as the gateway shows it, is the entry's present one. An abandoned key was refused, so a row
    /// that the gateway left under it is not an accepted message.
    package func goes(by key: some StringProtocol) -> Bool { Self.bareKey(key) == upstreamKey }

    /// Whether a dispatch under the present key may have succeeded.
    var mayHaveArrived: Bool { runID != nil || firstDispatchAt != nil }

    /// Whether the entry was cancelled and no dispatch of it arrived: it was never sent, or the gateway did not have it.
    package var isCancelledUnsent: Bool { state == .cancelled && firstDispatchAt == nil }

    /// Whether the gateway accepted the message and then did not run it.
    package var wasRefused: Bool {
        state == .failed && [OutboxFault.sessionConflictCode, OutboxFault.notRunCode].contains(fault?.code)
    }

    /// Whether the transcript showed in the end that the model had a message which the gateway had refused to run. Its words may have
    /// been read with a later one.
    package var isDeliveredThoughRefused: Bool { state == .delivered && lastClass == .rejectedTerminal }

    /// Whether the session's transcript may show something of the message that is not known yet.
    var isLookedFor: Bool { [.accepted, .unconfirmed].contains(state) || wasRefused }

    /// Whether people were told that nothing shows what became of the message.
    var isUnknown: Bool { fault?.code == OutboxFault.unknownCode }

    /// The gateway acknowledged the message.
    var wasTaken: Bool { state == .accepted || lastClass == .accepted }

    /// Nothing shows what became of the message, so later ones of its session do not wait for it.
    package var letsOthersGo: Bool { state == .unconfirmed && isUnknown }

    /// The facts that the entry's row in the database records about its message at the gateway. The row does not tell the
    /// connections of an earlier process apart, so they count as one; what follows a call without an answer counts as another.
    var facts: [Fact] {
        guard firstDispatchAt != nil else { return [] }
        var facts: [Fact] = [.sent(key: keyGeneration, contact: 0)]
        if wasTaken { facts.append(.answered(key: keyGeneration, contact: 0, .taken)) }
        // An acknowledged message is in doubt because another process of the gateway came.
        if state == .unconfirmed { facts.append(.contact(1, wasTaken && !isUnknown ? .other : .same)) }
        if wasRefused { facts.append(.ended(.key(keyGeneration), .refused)) }
        if isUnknown { facts.append(.told(Statement(.unknown), number: 1)) }
        return facts
    }

    /// Whether, as far as known, no earlier dispatch under the present key reached the gateway.
    package var isFirstUnderKey: Bool { lastClass != .ambiguous && lastClass != .accepted }

    /// Takes a new key: the gateway may remember its refusal under the old key for minutes.
    mutating func renewKey() {
        keyGeneration += 1
        upstreamKey = "\(id)-r\(keyGeneration)"
        forgetDispatch()
    }

    /// Forgets the dispatch under the present key, which is known not to have arrived.
    mutating func forgetDispatch() {
        firstDispatchAt = nil
        dispatchUptimeMs = nil
        dispatchSkewMs = nil
        isRepeatInDoubt = false
    }
}

/// The effect of a command at the gateway. Stored as a string, so that a row of an unknown kind is kept and fails
/// visibly instead of being dropped.
package struct OutboxKind: RawRepresentable, Sendable, Hashable {
    package var rawValue: String

    package init(rawValue: String) {
        self.rawValue = rawValue
    }

    package static let message = OutboxKind(rawValue: "message")
    package static let abort = OutboxKind(rawValue: "abort")

    package var isKnown: Bool { self == .message || self == .abort }

    /// Whether the kind uses the control queue: aborts overtake the session's waiting messages.
    package var usesControlQueue: Bool { self == .abort }

    /// Only a message starts a run; for the others the gateway's answer is the whole result.
    package var startsRun: Bool { self == .message }

    /// Whether repeating the command is harmless, so that an unanswered one is repeated without a search in the transcript.
    var isIdempotent: Bool { self != .message }
}

/// The sender's wish for a message whose session is busy. Stored as this string.
package enum MessageMode: String, Sendable, CaseIterable {
    /// The message gets a run of its own, after the one at work.
    case own
    /// The run at work reads it. On gateways that cannot do that, and where no run is at work, it is a message like any other.
    case sayNow = "say-now"
}

/// The state of a command. `delivered` and `cancelled` are final; `failed` and `expired` end the work but wait for a
/// person to retry or dismiss them.
package enum OutboxState: String, Sendable, CaseIterable {
    case queued, sending, retrying, accepted, unconfirmed, delivered, failed, cancelled, expired

    package var hasEnded: Bool {
        switch self {
        case .delivered, .failed, .cancelled, .expired: true
        case .queued, .sending, .retrying, .accepted, .unconfirmed: false
        }
    }

    /// Whether nothing but retention can change the entry any more.
    package var hasEndedForGood: Bool { self == .delivered || self == .cancelled }

    /// Whether the entry is not dispatched at this moment, so that it can safely be cancelled.
    package var isWaiting: Bool { self == .queued || self == .retrying }
}

/// Evidence that the gateway's transcript holds a message, or that its run has ended. An acknowledgement and a run's
/// events show only that the gateway has the message in memory, which is lost with its process.
package enum OutboxProof: String, Sendable, CaseIterable {
    /// The terminal event of the run that has the command's key.
    case runEnd = "run-end"
    /// A stored row with the key, in a `session.message` event.
    case messageEvent = "message-event"
    /// A row of the transcript with the key.
    case history
    /// A row with the same text at a matching time, on gateways whose transcripts show no keys.
    case textMatch = "text-match"
    /// The gateway answered the first dispatch with `ok`: the message is a stop word and starts no run.
    case gatewayReceipt = "gateway-receipt"
    /// The answer itself, for a command that starts no run.
    case answer
}

/// How one attempt to send an entry ended, as it is stored with the attempt and counted in the metrics.
package enum AttemptClass: String, Sendable, CaseIterable {
    case accepted
    case notDispatched = "not_dispatched"
    case rejectedTransient = "rejected_transient"
    case rejectedTerminal = "rejected_terminal"
    case ambiguous
    case routeChanged = "route_changed"
}

/// A change of one entry that must become durable before its consequences follow.
package struct OutboxChange: Sendable, Equatable {
    /// The version that the change starts from: a compare-and-set.
    package var expectedVersion: Int64
    package var entry: OutboxEntry
    package var attempt: OutboxAttempt?
    /// A person sends the message again, and so takes back every stop of its run.
    package var liftsStops = false

    package init(expectedVersion: Int64, entry: OutboxEntry, attempt: OutboxAttempt? = nil) {
        self.expectedVersion = expectedVersion
        self.entry = entry
        self.attempt = attempt
    }

    /// The next version of an entry.
    init(of entry: OutboxEntry, now: Timestamp, attempt: OutboxAttempt? = nil, _ edit: (inout OutboxEntry) -> Void) {
        var next = entry
        edit(&next)
        next.version = entry.version + 1
        // The times of one entry never go back, even if the wall clock does.
        next.updatedAt = max(now, entry.updatedAt)
        self.init(expectedVersion: entry.version, entry: next, attempt: attempt)
    }
}

/// The reason why a person's command on an entry was refused.
package enum OutboxRefusal: Error, Sendable, Equatable {
    case notFound
    /// The entry changed since the caller saw it (`If-Match`).
    case staleVersion(current: Int64)
    /// The gateway has the message; only aborting the run helps.
    case alreadyDispatched(OutboxState)
    /// The message may have arrived, so the command requires force.
    case needsForce
    case notRetryable(OutboxState)
    case storage(StoreError)
}

/// The numbers that people look for first. An expired entry needs attention like a failed one.
package struct OutboxCounts: Sendable, Equatable {
    package var pending = 0
    package var unconfirmed = 0
    package var failed = 0

    package init(pending: Int = 0, unconfirmed: Int = 0, failed: Int = 0) {
        self.pending = pending
        self.unconfirmed = unconfirmed
        self.failed = failed
    }

    package mutating func add(_ other: OutboxCounts) {
        pending += other.pending
        unconfirmed += other.unconfirmed
        failed += other.failed
    }

    package mutating func count(_ state: OutboxState, _ entries: Int) {
        switch state {
        case .queued, .sending, .retrying, .accepted: pending += entries
        case .unconfirmed: unconfirmed += entries
        case .failed, .expired: failed += entries
        case .delivered, .cancelled: break
        }
    }
}

extension OutboxEntry {
    /// The entry as the API shows it. `blockedReason` is the same for all waiting entries of a session, so it is not stored;
    /// `attempts` is only included for a single entry.
    package func write(
        to writer: inout JSONWriter,
        blockedReason: String? = nil,
        attempts: [OutboxAttempt]? = nil
    ) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("kind", kind.rawValue)
            writer.member("session", session)
            writer.member("text", text)
            writer.member("state", state.rawValue)
            writer.member("createdAt", createdAt)
            writer.member("updatedAt", updatedAt)
            writer.member("attemptCount", attemptCount)
            writer.member("nextAttemptAt", nextAttemptAt)
            writer.member("notBefore", notBefore)
            writer.member("expiresAt", expiresAt)
            writer.member("runId", runID)
            if mode == .sayNow { writer.member("mode", mode.rawValue) }
            writer.member("joinedRun", joinedRun)
            writer.member("proof", proof?.rawValue)
            if state.isWaiting { writer.member("blockedReason", blockedReason) }
            writer.member("error", fault)
            if fault?.mayReturn == true { writer.member("mayReturn", true) }
            writer.member("version", version)
            if let attempts { writer.array("attempts", of: attempts) }
        }
    }
}

extension OutboxEntry: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        write(to: &writer, blockedReason: nil, attempts: nil)
    }
}
