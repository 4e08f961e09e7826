package import Basics
package import JSONBytes

/// A row was added to a session's transcript.
package struct SessionMessageEvent: Sendable {
    package let sessionKey: String?
    package let row: HistoryRow?
    private let message: JSONValue?
    private let payload: JSONValue

    package init(_ payload: JSONValue) {
        self.payload = payload
        sessionKey = payload["sessionKey"]?.string
        message = payload["message"]
        row = message.flatMap { HistoryRow($0) }
        isStored = payload["messageId"] != nil || row?.id != nil
    }

    /// False of a notice that gateways of protocol 3 send for a message that they have only taken: without an id, and again,
    /// with an id and another time, once it is written.
    package let isStored: Bool
    package var session: SessionRow { SessionRow(payload["session"] ?? payload) }

    /// The idempotency key of the send that the row belongs to, as written.
    package var idempotencyKey: String? { message.flatMap { HistoryRow.idempotencyKey(of: $0) } }
}

/// A session changed, began or ended a run, came or went.
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
    /// The conversation that the key stands for now; a reset replaces it.
    package var conversation: String? { (payload["session"]?["sessionId"] ?? payload["sessionId"])?.string }
}
