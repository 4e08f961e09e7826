package import Basics
package import JSONBytes

/// A row was added to a session's transcript.
package struct SessionMessageEvent: Sendable {
    package let sessionKey: String?
    package let row: TranscriptRow?
    private let message: JSONValue?
    private let payload: JSONValue

    package init(_ payload: JSONValue) {
        self.payload = payload
        sessionKey = payload["sessionKey"]?.string
        message = payload["message"]
        row = message.flatMap { TranscriptRow($0) }
        isStored = payload["messageId"] != nil || row?.id != nil
    }

    /// False for the early notice of gateways of protocol 3, sent when a message is accepted: it has no id, and is
    /// followed by a second one with id and another time once the row is written.
    package let isStored: Bool
    /// The row is the first of its conversation, which may have replaced another one of the session.
    package var beginsConversation: Bool { payload["messageSeq"]?.int.map { $0 <= 1 } ?? false }
    package var session: SessionRow { SessionRow(payload["session"] ?? payload) }

    /// The idempotency key of the send that caused the row, as written.
    package var idempotencyKey: String? { message.flatMap { TranscriptRow.idempotencyKey(of: $0) } }
}

/// A session was added, changed or removed, or one of its runs began or ended.
package struct SessionsChangedEvent: RunEvent {
    package enum Phase: Sendable {
        case start, end, other
    }

    package let runId: String?
    private let payload: JSONValue

    package init(_ payload: JSONValue) {
        self.payload = payload
        runId = payload["runId"]?.string
    }

    package var sessionKey: String? {
        payload["sessionKey"]?.string ?? payload["key"]?.string ?? payload["session"]?["key"]?.string
    }

    package var isHeartbeat: Bool { payload["isHeartbeat"]?.bool ?? false }

    package var phase: Phase? {
        payload["phase"].map { $0.equals("start") ? .start : $0.equals("end") ? .end : .other }
    }

    /// `create`, `send`, `patch`, `reset`, `delete`, `compact`.
    package var reason: String? { payload["reason"]?.string }
    package var startedAt: Timestamp? { GatewayTime.read(payload["startedAt"]) ?? GatewayTime.read(payload["ts"]) }
    package var endedAt: Timestamp? { GatewayTime.read(payload["endedAt"]) ?? GatewayTime.read(payload["ts"]) }
    package var wasAborted: Bool { payload["abortedLastRun"]?.bool ?? false }
    package var session: SessionRow { SessionRow(payload["session"] ?? payload) }
    /// The conversation behind the key; a reset replaces it.
    package var conversation: String? { (payload["session"]?["sessionId"] ?? payload["sessionId"])?.identifier }
}
