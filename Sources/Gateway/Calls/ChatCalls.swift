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

        package init(_ payload: JSONValue?) {
            status =
                switch payload?["status"]?.string {
                case "in_flight": .inFlight
                case "ok", "timeout", "error": .finished
                // The answer to a stop word is that of an abort.
                case nil where payload?["aborted"] != nil: .finished
                // A word that no known release says proves no more than that the message was taken.
                default: .started
                }
            runId = payload?["runId"]?.string
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
    }

    package struct Output: Sendable {
        package let rows: [HistoryRow]
        /// The number of messages in the answer, including those that are not rows.
        package let messageCount: Int
        /// The size of the whole answer.
        package let byteCount: Int
        /// The conversation of the rows; a reset starts another one.
        package let conversation: String?
        /// Newer gateways: whether older messages are left.
        package let hasMore: Bool?
        /// Newer gateways: the current run, and its text so far.
        package let inFlightRunId: String?
        package let inFlightText: String?
        /// Nil if the gateway says nothing about a run in progress.
        package let hasInFlightRun: Bool?
        package let hasActiveRun: Bool?
        /// Newer gateways: the outcome of the session's last run; nil while one is active, or if it was interrupted.
        package let lastRunEnd: RunEnd?
        /// Newer gateways: the start of the session's last run. For a message that it refused to run, 2026.6.11 writes the time of
        /// the message itself.
        package let lastRunStart: Timestamp?

        package init(_ payload: JSONValue) {
            let messages = payload["messages"]
            rows = HistoryRow.list(messages)
            messageCount = messages?.count ?? 0
            byteCount = payload.raw.count
            conversation = payload["sessionId"]?.identifier
            hasMore = payload["hasMore"]?.bool
            let run = payload["inFlightRun"]
            inFlightRunId = run?["runId"]?.string
            inFlightText = run?["text"]?.string
            hasInFlightRun = run.map { !$0.isNull }
            let session = payload["sessionInfo"]
            hasActiveRun = session?["hasActiveRun"]?.bool
            lastRunStart = GatewayTime.read(session?["startedAt"])
            lastRunEnd =
                switch session?["status"]?.string {
                case "done": .completed
                case "killed": .aborted
                case "failed", "timeout": .failed
                default: nil
                }
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

    package init(sessionKey: String, limit: Int? = nil, maxChars: Int? = nil) {
        self.sessionKey = sessionKey
        self.limit = limit.map { min(max($0, Self.limits.lowerBound), Self.limits.upperBound) }
        self.maxChars = maxChars
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("limit", limit)
        writer.member("maxChars", maxChars)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        guard let messages = payload["messages"], messages.kind == .array else {
            throw GatewayShapeError(method: method, missing: "messages")
        }
        return Output(payload)
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

    package init(sessionKey: String, runId: String?) {
        self.sessionKey = sessionKey
        self.runId = runId
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("runId", runId)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        Output(payload)
    }
}
