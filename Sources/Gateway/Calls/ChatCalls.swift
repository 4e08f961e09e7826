package import Basics
package import JSONBytes

/// Starts a run. The idempotency key becomes the run's id.
package struct ChatSend: GatewayCall {
    package struct Attachment: Sendable {
        package var type: String
        package var mimeType: String
        package var fileName: String?
        /// Standard base 64.
        package var content: String

        package init(type: String, mimeType: String, fileName: String? = nil, content: String) {
            self.type = type
            self.mimeType = mimeType
            self.fileName = fileName
            self.content = content
        }
    }

    package struct Output: Sendable {
        package enum Status: Sendable {
            /// The message was accepted by this call, or earlier with the same key.
            case started, inFlight
            /// The run of a repeated message is over, or the message was a stop word, which starts no run.
            case finished
        }

        package let status: Status
        package let runId: String?
        /// Why the message was given up before it ran: `rpc` and `stop` where somebody stopped it, `restart`, `timeout`.
        package let abortReason: String?

        package init(_ payload: JSONValue?) {
            status =
                switch payload?["status"]?.string {
                case "in_flight": .inFlight
                case "ok", "completed", "timeout", "error": .finished
                // The answer to a stop word is that of an abort.
                case nil where payload?["aborted"] != nil: .finished
                // A word that no known release says proves no more than that the message was taken.
                default: .started
                }
            runId = payload?["runId"]?.string
            let wasAborted = payload?["summary"]?.equals("aborted") == true && payload?["status"]?.equals("ok") == false
            abortReason = wasAborted ? payload?["stopReason"]?.string ?? "" : nil
        }
    }

    /// The treatment of the message where its session is busy.
    package enum QueueMode: String, Sendable {
        /// It gets a run of its own, after the one at work.
        case followup
        /// The run at work reads it, and it gets none of its own.
        case steer
    }

    package static let method = "chat.send"
    package var sessionKey: String
    package var message: String
    package var idempotencyKey: String
    package var thinking: String?
    package var queueMode: QueueMode?
    package var attachments: [Attachment]

    package init(
        sessionKey: String,
        message: String,
        idempotencyKey: String,
        thinking: String? = nil,
        queueMode: QueueMode? = nil,
        attachments: [Attachment] = []
    ) {
        self.sessionKey = sessionKey
        self.message = message
        self.idempotencyKey = idempotencyKey
        self.thinking = thinking
        self.queueMode = queueMode
        self.attachments = attachments
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("message", message)
        writer.member("idempotencyKey", idempotencyKey)
        writer.member("thinking", thinking)
        writer.member("queueMode", queueMode?.rawValue)
        guard !attachments.isEmpty else { return }
        writer.array("attachments") { writer in
            for attachment in attachments {
                writer.object { writer in
                    writer.member("type", attachment.type)
                    writer.member("mimeType", attachment.mimeType)
                    writer.member("fileName", attachment.fileName)
                    writer.member("content", attachment.content)
                }
            }
        }
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        Output(payload)
    }

    /// The run's id from an error with a run summary: a repeat with the key of a failed run gets such an error,
    /// although its message was accepted.
    package static func failedRun(_ payload: JSONValue?) -> String? {
        payload?["summary"] == nil ? nil : payload?["runId"]?.string
    }
}

/// The newest messages of a session, oldest first; none for an unknown session.
package struct ChatHistory: GatewayCall {
    package enum RunEnd: Sendable {
        case completed, failed, aborted

        /// Nil unless the session's last run has ended.
        init?(status: String?) {
            switch status {
            case "done": self = .completed
            case "killed": self = .aborted
            case "failed", "timeout": self = .failed
            default: return nil
            }
        }
    }

    /// The state of a message at a gateway that keeps messages on its disk before it runs them.
    package enum Receipt: Sendable, Hashable {
        /// It waits in the gateway's process, or is about to begin.
        case queued
        /// The process that had it is gone. It does not run by itself.
        case interrupted
        /// It was withdrawn at the gateway.
        case cancelled
        /// A row of the transcript has it, perhaps together with other messages.
        case consumed
    }

    package struct Output: Sendable {
        package let rows: [TranscriptRow]
        /// The number of messages in the answer, including those that are not rows.
        package let messageCount: Int
        /// The size of the whole answer.
        package let byteCount: Int
        /// The conversation of the rows; a reset starts another one.
        package let conversation: String?
        /// The newest gateways: what they keep of the messages that were asked for, by key.
        package let receipts: [String: Receipt]
        /// Newer gateways: whether older messages are left.
        package let hasMore: Bool?
        /// Newer gateways: the current run, and its text so far.
        package let inFlightRunId: String?
        package let inFlightText: String?
        /// Nil if the gateway says nothing about a run in progress.
        package let hasInFlightRun: Bool?
        package let hasActiveRun: Bool?
        /// The newest gateways: the runs under way, where they know which.
        package let activeRuns: Set<String>?
        /// Newer gateways: the outcome of the session's last run; nil while one is active, or if it was interrupted.
        package let lastRunEnd: RunEnd?
        /// Newer gateways: the start of the session's last run. For a message that it refused to run, 2026.6.11 writes the time of
        /// the message itself.
        package let lastRunStart: Timestamp?

        package init(_ payload: JSONValue) {
            let messages = payload["messages"]
            let joined = Self.joinedKeys(payload)
            rows = TranscriptRow.list(messages).map { row in
                guard row.role == .user, let keys = row.id.flatMap({ joined[$0] }) else { return row }
                var row = row
                row.joinedKeys = keys
                return row
            }
            messageCount = messages?.count ?? 0
            byteCount = payload.raw.count
            conversation = payload["sessionId"]?.identifier
            receipts = Self.receipts(payload)
            hasMore = payload["hasMore"]?.bool
            let run = payload["inFlightRun"]
            inFlightRunId = run?["runId"]?.string
            inFlightText = run?["text"]?.string
            hasInFlightRun = run.map { !$0.isNull }
            let session = payload["sessionInfo"]
            activeRuns = session.flatMap { SessionRow($0).activeRuns }
            // The whole set of a page counts more than the gateway's summary of it.
            hasActiveRun = activeRuns.map { !$0.isEmpty } ?? session?["hasActiveRun"]?.bool
            lastRunStart = GatewayTime.read(session?["startedAt"])
            lastRunEnd = RunEnd(status: session?["status"]?.string)
        }

        /// Keys of messages by the row that has them, where a gateway has joined several into one.
        private static func joinedKeys(_ payload: JSONValue) -> [String: [String]] {
            var keys: [String: [String]] = [:]
            for list in [payload["inputReceipts"], payload["inputConsumptions"]].compactMap(\.self) {
                for receipt in list.elements.prefix(GatewayLimits.historyRows) {
                    guard let row = receipt["consumedByEventId"]?.identifier, let key = receipt["runId"]?.identifier,
                        keys[row]?.contains(key) != true
                    else { continue }
                    keys[row, default: []].append(key)
                }
            }
            return keys
        }

        /// A message that waits no more keeps its receipt; its item in the list says what became of it.
        private static func receipts(_ payload: JSONValue) -> [String: Receipt] {
            guard let listed = payload["inputReceipts"] else { return [:] }
            var states: [String: String] = [:]
            if let waiting = payload["pendingInputs"]?["items"] {
                for item in waiting.elements {
                    if let run = item["runId"]?.string { states[run] = item["state"]?.string }
                }
            }
            var receipts: [String: Receipt] = [:]
            for receipt in listed.elements {
                guard let run = receipt["runId"]?.string else { continue }
                switch receipt["state"]?.string {
                case "consumed": receipts[run] = .consumed
                case "pending":
                    let isCancelled = receipt["cancelled"]?.bool == true || states[run] == "cancelled"
                    let isWaiting = receipt["queued"]?.bool == true || states[run] != "interrupted"
                    receipts[run] = isCancelled ? .cancelled : isWaiting ? .queued : .interrupted
                default: break
                }
            }
            return receipts
        }
    }

    /// The numbers of rows that a gateway can return at once.
    package static let limits = 1...1_000
    /// The requested length for long texts, in characters; without a request gateways show 8,000 or 12,000. They omit a
    /// row of more than 128 KiB, and a character takes up to three bytes.
    package static let longText = 40_000
    /// Gateways drop old rows from an answer above 6 MiB, so a smaller one is complete.
    package static let wholeBytes = 4 << 20

    package static let method = "chat.history"
    package var sessionKey: String
    package var limit: Int?
    /// The longest text to return. The oldest supported release refuses this member.
    package var maxChars: Int?
    /// Keys of messages of which the newest gateways say what they keep. Earlier ones refuse this member.
    package var inputRunIds: [String]
    private static let mostInputs = 50

    package init(sessionKey: String, limit: Int? = nil, maxChars: Int? = nil, inputRunIds: [String] = []) {
        self.inputRunIds = Array(inputRunIds.prefix(Self.mostInputs))
        self.sessionKey = sessionKey
        self.limit = limit.map { min(max($0, Self.limits.lowerBound), Self.limits.upperBound) }
        self.maxChars = maxChars
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("limit", limit)
        writer.member("maxChars", maxChars)
        guard !inputRunIds.isEmpty else { return }
        writer.array("inputRunIds") { writer in for id in inputRunIds { writer.string(id) } }
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        guard let messages = payload["messages"], messages.kind == .array else {
            throw GatewayShapeError(method: method, missing: "messages")
        }
        return Output(payload)
    }
}

/// Reads one message, of which a page shows only the beginning or nothing. 2026.6.11 lists it. Pages leave out rows
/// above 128 KiB.
package struct ChatMessageGet: GatewayCall {
    package static let method = "chat.message.get"
    package var sessionKey: String
    package var id: String

    package init(sessionKey: String, id: String) {
        self.sessionKey = sessionKey
        self.id = id
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("messageId", id)
        writer.member("maxChars", GatewayLimits.eventText)
    }

    /// Nil if the gateway does not give it: it is too large, gone or hidden.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> TranscriptRow? {
        guard payload["ok"]?.bool != false else { return nil }
        return payload["message"].flatMap { TranscriptRow($0) }
    }
}

/// Stops a run. Always name the run: without it, releases disagree about the spelling of the session key.
package struct ChatAbort: GatewayCall {
    package struct Output: Sendable {
        package let aborted: Bool
        package let runIds: [String]

        package init(_ payload: JSONValue?) {
            aborted = payload?["aborted"]?.bool ?? false
            runIds = payload?["runIds"]?.elements.compactMap(\.string) ?? []
        }
    }

    package static let method = "chat.abort"
    package var sessionKey: String
    package var runId: String?
    /// Also drop the message if the gateway only keeps it. Gateways that keep none refuse this member.
    package var discardsInput: Bool

    package init(sessionKey: String, runId: String?, discardsInput: Bool = false) {
        self.sessionKey = sessionKey
        self.runId = runId
        self.discardsInput = discardsInput
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("runId", runId)
        if discardsInput { writer.member("discardPendingInput", true) }
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        Output(payload)
    }
}
