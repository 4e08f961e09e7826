package import Basics
import Ledger

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
    package var proof: OutboxProof?
    package var fault: OutboxFault?
    package var version: Int64

    // For the rules only.
    /// The longest wait once the entry's time has come; starts again with every retry by hand.
    package var ttlMs: Int64
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
    /// The identity of the sender: nobody else's repeat or command has to do with the entry.
    package var owner: String?
    package var payloadBytes: Int

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
        payloadBytes: Int = 0
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

    /// The entry a gateway key belongs to: keys are an id, or an id with `-r` and a generation. History adds `:user`.
    package static func entryID(ofKey key: some StringProtocol) -> String {
        let bare = bareKey(key)
        guard let dash = bare.lastIndex(of: "-") else { return bare }
        let mark = bare[bare.index(after: dash)...]
        guard mark.first == "r", mark.count > 1, mark.dropFirst().utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
            return bare
        }
        return String(bare[..<dash])
    }

    /// The run that answers the message: its own key, unless the gateway answered under another id.
    package var run: String { runID ?? upstreamKey }

    /// A key as history shows it, without the role that newer gateways append.
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

    /// Whether the gateway accepted the message and then refused to run it.
    package var wasRefused: Bool { state == .failed && fault?.code == OutboxFault.sessionConflictCode }

    /// Whether the session's transcript may show something of the message that is not known yet.
    var isLookedFor: Bool { [.accepted, .unconfirmed].contains(state) || wasRefused }

    /// The facts about the message at the gateway that its row stands for. Connections of an earlier process count as one.
    var facts: [Fact] {
        guard firstDispatchAt != nil else { return [] }
        var facts: [Fact] = [.sent(key: keyGeneration, contact: 0)]
        if state == .accepted || lastClass == .accepted {
            facts.append(.answered(key: keyGeneration, contact: 0, .taken))
        }
        if fault?.code == OutboxFault.unknownCode { facts.append(.told(Statement(.unknown), number: 1)) }
        return facts
    }

    /// Whether, as far as known, no earlier dispatch under the present key reached the gateway.
    var isFirstUnderKey: Bool { lastClass != .ambiguous && lastClass != .accepted }

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
