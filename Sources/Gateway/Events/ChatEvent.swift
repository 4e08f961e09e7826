package import Basics
package import JSONBytes

/// A piece of a run's text, or its end.
package struct ChatEvent: RunEvent {
    package enum State: Sendable {
        case delta, final, aborted, error, other
    }

    package let runId: String?
    /// Nil if the event names no state.
    package let state: State?
    /// Nil also if the gateway sends null.
    package let message: ChatEventMessage?
    private let payload: JSONValue

    package init(_ payload: JSONValue) {
        self.payload = payload
        runId = payload["runId"]?.string
        state = payload["state"].map { Self.state($0) }
        message = payload["message"].flatMap { $0.isNull ? nil : ChatEventMessage($0) }
    }

    package var sessionKey: String? { payload["sessionKey"]?.string ?? payload["session"]?["key"]?.string }
    package var isHeartbeat: Bool { payload["isHeartbeat"]?.bool ?? false }
    /// The number of the event within the run, counted together with its agent events.
    package var sequence: Int64 { payload["seq"]?.int ?? 0 }
    package var time: Timestamp? { message?.time ?? GatewayTime.read(payload["ts"]) }
    /// The part to append if there is no message, or with `replaces` the whole text.
    package var deltaText: ArraySlice<UInt8>? { payload["deltaText"]?.utf8 }
    package var replaces: Bool { payload["replace"]?.bool ?? false }
    /// The newest gateways: the agent has handed its work over, and goes on with it outside of this run.
    package var isHandedOver: Bool { payload["yielded"]?.bool ?? false }
    /// The run is over. An end without a message may be that of a message which only waits.
    package var isEnd: Bool {
        switch state {
        case .final: message != nil
        case .aborted, .error: true
        case .delta, .other, nil: false
        }
    }
    package var errorMessage: String? { payload["errorMessage"]?.string }
    package var usage: TokenUsage? { TokenUsage(payload["usage"]) ?? message?.usage }

    package var isSessionConflict: Bool { GatewayError.isSessionConflict(errorMessage) }

    private static func state(_ name: JSONValue) -> State {
        if name.equals("delta") { return .delta }
        if name.equals("final") { return .final }
        if name.equals("aborted") { return .aborted }
        if name.equals("error") { return .error }
        return .other
    }
}

/// The message of a chat event.
package struct ChatEventMessage: Sendable {
    private let value: JSONValue

    init(_ value: JSONValue) { self.value = value }

    var time: Timestamp? { GatewayTime.read(value["timestamp"]) }
    var usage: TokenUsage? { TokenUsage(value["usage"]) }

    /// The gateway says it, and not the model.
    package var isByGateway: Bool { value["model"]?.equals(TranscriptRow.gatewayModel) == true }

    /// Why the run failed before the model was called, if the message says so in the place of an answer.
    package var failure: String? { TranscriptRow.failure(value, text) }

    /// The text of a message with a single block, the usual form, without making a `String`.
    package var onlyText: ArraySlice<UInt8>? {
        guard let content = value["content"], content.count == 1 else { return nil }
        return content[0]?["text"]?.utf8
    }

    /// Text parts joined by new lines; nil if there are none.
    package var text: String? {
        if let text = value.string { return text }
        guard let content = value["content"] else { return value["text"]?.string }
        let parts = TranscriptBlock.list(content).compactMap(\.text)
        return parts.isEmpty ? nil : parts.joined(separator: "\n")
    }
}
