/// One open WebSocket without its socket: decoder, replies to control frames and the closing handshake (RFC 6455 §5.5
/// and §7.1).
///
/// The owner performs the returned actions in order and passes a fresh mask key for each outgoing frame; servers ignore
/// it.
package struct WebSocketSession: Sendable {
    package enum Action: Sendable, Equatable {
        case message(WebSocketMessage)
        /// Answer with `send(.pong, payload)`; only the newest ping needs an answer (§5.5.3).
        case answerPing([UInt8])
        case pong([UInt8])
        /// Send this close frame with `close`.
        case answerClose(WebSocketClose)
        /// No more input will come: close the transport. `clean` when both sides sent a close frame.
        case finished(WebSocketClose, clean: Bool)
        /// The peer broke the protocol: call `close` with the error's code, which returns `finished`.
        case failed(WebSocketError)
    }

    private enum State: Sendable {
        case open
        case closeSent
        /// The peer broke the protocol; only our close frame is left to send.
        case failed(WebSocketError)
        case finished
    }

    package let role: WebSocketRole
    private var decoder: WebSocketDecoder
    private var state = State.open
    private var peerClose: WebSocketClose?

    package init(role: WebSocketRole, limits: WebSocketLimits) {
        self.role = role
        decoder = WebSocketDecoder(role: role, limits: limits)
    }

    package var limits: WebSocketLimits {
        get { decoder.limits }
        set { decoder.limits = newValue }
    }

    /// Whether data may still be sent.
    package var isOpen: Bool {
        if case .open = state { return peerClose == nil }
        return false
    }

    package mutating func receive(_ bytes: Span<UInt8>) -> [Action] {
        switch state {
        case .open, .closeSent: break
        case .failed, .finished: return []
        }
        var events: [WebSocketEvent] = []
        var failure: WebSocketError?
        do throws(WebSocketError) {
            try decoder.receive(bytes, into: &events)
        } catch {
            failure = error
        }
        var actions: [Action] = []
        for event in events {
            guard peerClose == nil else { break }  // Nothing after a close frame counts (§5.5.1).
            switch event {
            case .message(let message): actions.append(.message(message))
            case .ping(let payload): if case .open = state { actions.append(.answerPing(payload)) }
            case .pong(let payload): actions.append(.pong(payload))
            case .close(let close): actions += receivedClose(close)
            }
        }
        if let failure, peerClose == nil {
            if case .open = state {
                state = .failed(failure)
                actions.append(.failed(failure))
            } else {
                state = .finished
                actions.append(.finished(WebSocketClose(failure.closeCode), clean: false))
            }
        }
        return actions
    }

    /// Appends one whole message or a ping or pong; false when the closing handshake forbids it.
    package mutating func send(
        _ opcode: WebSocketOpcode,
        _ payload: Span<UInt8>,
        maskKey: UInt32,
        to output: inout [UInt8]
    ) -> Bool {
        guard isOpen, opcode != .close, opcode != .continuation else { return false }
        WebSocketEncoder.append(opcode, payload, mask: mask(maskKey), to: &output)
        return true
    }

    /// Appends a close frame, once. The session is finished when the peer's close frame has arrived as well.
    package mutating func close(_ close: WebSocketClose, maskKey: UInt32, to output: inout [UInt8]) -> [Action] {
        switch state {
        case .open:
            WebSocketEncoder.append(.close, close.payload, mask: mask(maskKey), to: &output)
            guard let peerClose else {
                state = .closeSent
                return []
            }
            state = .finished
            return [.finished(peerClose, clean: true)]
        case .failed:
            WebSocketEncoder.append(.close, close.payload, mask: mask(maskKey), to: &output)
            state = .finished
            return [.finished(close, clean: false)]
        case .closeSent, .finished:
            return []
        }
    }

    private mutating func receivedClose(_ close: WebSocketClose) -> [Action] {
        peerClose = close
        switch state {
        case .open:
            return [.answerClose(close)]
        case .closeSent:
            state = .finished
            return [.finished(close, clean: true)]
        case .failed, .finished:
            return []
        }
    }

    private func mask(_ key: UInt32) -> WebSocketMask? {
        role == .client ? WebSocketMask(key) : nil
    }
}
