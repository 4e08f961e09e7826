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
        /// `started`, `in_flight`, `ok`, `timeout`; for a stop word there is none and the runs it aborted are listed.
        package let status: String?
        package let runId: String?
        package let abortedRunIds: [String]
    }

    package static let method = "chat.send"
    package var sessionKey: String
    package var message: String
    package var idempotencyKey: String
    package var thinking: String?
    package var attachments: [Attachment]

    package init(
        sessionKey: String,
        message: String,
        idempotencyKey: String,
        thinking: String? = nil,
        attachments: [Attachment] = []
    ) {
        self.sessionKey = sessionKey
        self.message = message
        self.idempotencyKey = idempotencyKey
        self.thinking = thinking
        self.attachments = attachments
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("message", message)
        writer.member("idempotencyKey", idempotencyKey)
        writer.member("thinking", thinking)
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
        Output(
            status: payload["status"]?.string,
            runId: payload["runId"]?.string,
            abortedRunIds: payload["runIds"]?.elements.compactMap(\.string) ?? []
        )
    }
}

/// The newest messages of a session, oldest first; an unknown session gives none.
package struct ChatHistory: GatewayCall {
    package struct Output: Sendable {
        package let sessionKey: String?
        package let sessionId: String?
        package let messages: [JSONValue]
        package let thinkingLevel: String?
        package let verboseLevel: String?
        /// Newer gateways: the run going on now, and its text so far.
        package let inFlightRunId: String?
        package let inFlightText: String?
        package let whole: JSONValue
    }

    /// What the gateway accepts.
    package static let limits = 1...1_000

    package static let method = "chat.history"
    package var sessionKey: String
    package var limit: Int?

    package init(sessionKey: String, limit: Int? = nil) {
        self.sessionKey = sessionKey
        self.limit = limit.map { min(max($0, Self.limits.lowerBound), Self.limits.upperBound) }
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("sessionKey", sessionKey)
        writer.member("limit", limit)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        guard let messages = payload["messages"], messages.kind == .array else {
            throw GatewayShapeError(method: method, missing: "messages")
        }
        let run = payload["inFlightRun"]
        return Output(
            sessionKey: payload["sessionKey"]?.string,
            sessionId: payload["sessionId"]?.string,
            messages: Array(messages.elements),
            thinkingLevel: payload["thinkingLevel"]?.string,
            verboseLevel: payload["verboseLevel"]?.string,
            inFlightRunId: run?["runId"]?.string,
            inFlightText: run?["text"]?.string,
            whole: payload
        )
    }
}

/// Stops a run. Always name the run: without it releases disagree about which spelling of the key they match.
package struct ChatAbort: GatewayCall {
    package struct Output: Sendable {
        package let aborted: Bool
        package let runIds: [String]
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
        Output(
            aborted: payload["aborted"]?.bool ?? false,
            runIds: payload["runIds"]?.elements.compactMap(\.string) ?? []
        )
    }
}
