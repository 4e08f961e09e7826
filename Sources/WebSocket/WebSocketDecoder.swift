/// Turns bytes, split anywhere, into whole messages and control frames (RFC 6455 §5).
///
/// The decoder holds at most one message and one control payload within `limits`. It never reserves memory for an
/// announced size before the bytes arrive. After an error it accepts no more input.
package struct WebSocketDecoder: Sendable {
    package let role: WebSocketRole
    /// May change between calls of `receive`; a change applies from the next frame header on.
    package var limits: WebSocketLimits

    private var header = WebSocketFrameHeader()
    /// Payload bytes of the current frame still to come; nil while its header is being read.
    private var payloadLeft: Int?
    private var payloadMask: WebSocketMask?
    private var control: [UInt8] = []
    private var message: [UInt8] = []
    /// The kind of the message being assembled; nil between messages.
    private var messageKind: WebSocketMessage.Kind?
    private var fragments = 0
    private var text = UTF8Check()
    private var failure: WebSocketError?

    package init(role: WebSocketRole, limits: WebSocketLimits) {
        self.role = role
        self.limits = limits
    }

    /// Appends the events that `bytes` complete to `events`; if it throws, `events` still holds the earlier ones.
    package mutating func receive(
        _ bytes: Span<UInt8>,
        into events: inout [WebSocketEvent]
    ) throws(WebSocketError) {
        if let failure { throw failure }
        do throws(WebSocketError) {
            var index = 0
            while index < bytes.count {
                if let left = payloadLeft {
                    let size = min(left, bytes.count - index)
                    try takePayload(bytes.extracting(index..<(index + size)))
                    index += size
                    payloadLeft = left - size
                } else {
                    let complete = try header.take(bytes[index], role: role)
                    index += 1
                    guard complete else { continue }
                    try beginPayload()
                }
                if payloadLeft == 0 { try endFrame(&events) }
            }
        } catch {
            failure = error
            message = []
            control = []
            throw error
        }
    }

    private mutating func beginPayload() throws(WebSocketError) {
        if !header.opcode.isControl {
            switch (header.opcode, messageKind) {
            case (.continuation, nil): throw .continuationWithoutStart
            case (.text, nil): messageKind = .text
            case (.binary, nil): messageKind = .binary
            case (.continuation, _): break
            default: throw .messageInsideMessage
            }
            guard header.length <= UInt64(limits.frameBytes) else {
                throw .frameTooBig(bytes: header.length, limit: limits.frameBytes)
            }
            // The sum cannot overflow: the message so far is within the limit, and the check above keeps the frame
            // within Int.
            guard message.count + Int(header.length) <= limits.messageBytes else {
                throw .messageTooBig(limit: limits.messageBytes)
            }
            fragments += 1
            guard fragments <= limits.fragments else { throw .tooManyFragments(limit: limits.fragments) }
        }
        payloadLeft = Int(header.length)
        payloadMask = header.mask
    }

    private mutating func takePayload(_ bytes: Span<UInt8>) throws(WebSocketError) {
        let mask = payloadMask ?? WebSocketMask(0)
        if header.opcode.isControl {
            mask.append(bytes, to: &control)
        } else {
            let start = message.count
            mask.append(bytes, to: &message)
            if messageKind == .text {
                var text = self.text
                guard text.accepts(message.span.extracting(start..<message.count)) else { throw .invalidUTF8 }
                self.text = text
            }
        }
        payloadMask = payloadMask?.advanced(by: bytes.count)
    }

    private mutating func endFrame(_ events: inout [WebSocketEvent]) throws(WebSocketError) {
        let finished = header
        header = WebSocketFrameHeader()
        payloadLeft = nil
        payloadMask = nil
        if finished.opcode.isControl {
            let payload = control
            control = []
            switch finished.opcode {
            case .ping: events.append(.ping(payload))
            case .pong: events.append(.pong(payload))
            default: events.append(.close(try Self.close(payload)))
            }
        } else if finished.isFinal, let kind = messageKind {
            guard kind == .binary || text.isComplete else { throw .invalidUTF8 }
            events.append(.message(WebSocketMessage(kind, message)))
            message = []
            messageKind = nil
            fragments = 0
            text = UTF8Check()
        }
    }

    private static func close(_ payload: [UInt8]) throws(WebSocketError) -> WebSocketClose {
        if payload.isEmpty { return WebSocketClose(WebSocketClose.noStatus) }
        guard payload.count >= 2 else { throw .closePayloadOfOneByte }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard WebSocketClose.mayAppear(code) else { throw .closeCodeNotAllowed(code) }
        guard let reason = String(validating: payload[2...], as: UTF8.self) else { throw .invalidUTF8 }
        return WebSocketClose(code, reason)
    }
}
