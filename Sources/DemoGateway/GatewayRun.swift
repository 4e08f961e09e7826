/// One run, from its acceptance to its end. The model owns it; nothing here sends.
final class GatewayRun {
    let id: String
    /// The key as the sender wrote it: March compares aborts with it and shows it in them.
    let rawKey: String
    let session: GatewaySession
    let message: String
    var timeline: RunTimeline
    var place = 0

    /// Connections that sent this message, or another of the same session while it ran: they get its tool events.
    var recipients: Set<ConnectionID>
    let ownerDevice: String?
    let acceptedAt: Int64
    var startedAt: Int64?

    /// The run's own counter, on agent and chat frames.
    var seq = 0
    /// Text of the assistant's message in progress, and of the run so far.
    var blockText = ""
    var wholeText = ""
    var thinking = ""
    var unsentAgent = ""
    var unsentChat = ""
    var hasSentChatText = false
    var lastFlush: UInt64?
    var usedTools = false
    var isSilent = false
    /// The user's row, until it is in the transcript.
    var userRow: TranscriptRow?
    var toolStarts: [String: Int64] = [:]
    var approvalID: String?
    var denied: Set<String> = []
    var burst: Burst?

    struct Burst {
        let count: Int
        let perSecond: Int
        let stream: DemoScript.BurstStream
        let startedAt: UInt64
        var sent = 0
    }

    init(
        id: String,
        rawKey: String,
        session: GatewaySession,
        message: String,
        timeline: RunTimeline,
        owner: ConnectionID,
        ownerDevice: String?,
        acceptedAt: Int64,
        userRow: TranscriptRow
    ) {
        self.id = id
        self.rawKey = rawKey
        self.session = session
        self.message = message
        self.timeline = timeline
        recipients = [owner]
        self.ownerDevice = ownerDevice
        self.acceptedAt = acceptedAt
        self.userRow = userRow
    }

    func nextSeq() -> Int {
        seq += 1
        return seq
    }
}

/// A message waiting for the session's active run to end.
struct QueuedMessage {
    var key: String
    var rawKey: String
    var message: String
    var userRow: TranscriptRow
    var owner: ConnectionID
    var ownerDevice: String?
    var acceptedAt: Int64
}
