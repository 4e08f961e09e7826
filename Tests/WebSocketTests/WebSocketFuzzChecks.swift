import WebSocket

/// Properties that hold for any bytes. Shared by the fuzz drivers and the tests that replay their findings.
enum WebSocketCheck {
    private struct Outcome {
        var actions: [WebSocketSession.Action] = []
        /// Depends on the cuts: a ping in one piece with a close frame gets no answer.
        var answered: [UInt8] = []
    }

    /// The first byte chooses the role and the cuts; the rest is the peer's input.
    static func problem(with bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let stream = Array(bytes.dropFirst())
        let role: WebSocketRole = first & 1 == 0 ? .client : .server
        let whole = run(stream, role, cuts: [])
        let cut = stream.isEmpty ? 0 : Int(first >> 1) % stream.count
        if run(stream, role, cuts: [cut]).actions != whole.actions { return "a cut at \(cut) changes the outcome" }
        if stream.count < 600, run(stream, role, cuts: Array(stream.indices)).actions != whole.actions {
            return "byte by byte differs"
        }
        for action in whole.actions {
            switch action {
            case .message(let message):
                if message.bytes.count > limits.messageBytes { return "a message above its limit" }
                if message.kind == .text, String(validating: message.bytes, as: UTF8.self) == nil {
                    return "text that is not UTF-8"
                }
            case .answerPing(let payload), .pong(let payload):
                if payload.count > WebSocketLimits.controlPayload { return "a control frame above its limit" }
            case .answerClose(let close):
                if close.code != WebSocketClose.noStatus, !WebSocketClose.mayAppear(close.code) {
                    return "a close code that may not appear"
                }
            case .finished, .failed: break
            }
        }
        return echoProblem(whole, role)
    }

    private static let limits = WebSocketLimits(frameBytes: 512, messageBytes: 1_024, fragments: 16)

    /// Answers as an owner would, so that the session's own frames are exercised too.
    private static func run(_ stream: [UInt8], _ role: WebSocketRole, cuts: [Int]) -> Outcome {
        var session = WebSocketSession(role: role, limits: limits)
        var outcome = Outcome()
        var start = 0
        for end in cuts + [stream.count] {
            for action in session.receive(stream.span.extracting(start..<end)) {
                outcome.actions.append(action)
                switch action {
                case .answerPing(let payload):
                    _ = session.send(.pong, payload.span, maskKey: 0x0102_0304, to: &outcome.answered)
                case .answerClose(let close):
                    outcome.actions += session.close(close, maskKey: 0x0506_0708, to: &outcome.answered)
                case .failed(let error):
                    let close = WebSocketClose(error.closeCode)
                    outcome.actions += session.close(close, maskKey: 0, to: &outcome.answered)
                default: break
                }
            }
            start = end
        }
        return outcome
    }

    /// Our answers must be readable by the other role.
    private static func echoProblem(_ outcome: Outcome, _ role: WebSocketRole) -> String? {
        var peer = WebSocketSession(role: role == .client ? .server : .client, limits: limits)
        for action in peer.receive(outcome.answered.span) {
            if case .failed(let error) = action { return "our own answer is refused: \(error)" }
        }
        return nil
    }
}

enum WebSocketHandshakeCheck {
    static func problem(with bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let stream = Array(bytes.dropFirst())
        let cut = stream.isEmpty ? 0 : Int(first) % stream.count
        let whole = head(stream, cuts: [])
        if head(stream, cuts: [cut]) != whole { return "a cut at \(cut) changes the outcome" }
        if case .success(let found?) = whole,
            found.contains(where: { $0.utf8.contains(0x0A) || $0.utf8.contains(0x0D) })
        {
            return "a line end inside a value"
        }
        return answerProblem(stream, cut)
    }

    /// Target, host and origin.
    private static func head(_ stream: [UInt8], cuts: [Int]) -> Result<[String]?, HandshakeError> {
        let reader = ServerHandshake.Reader()
        var start = 0
        do throws(HandshakeError) {
            for end in cuts + [stream.count] {
                if let found = try reader.receive(stream.span.extracting(start..<end))?.handshake {
                    return .success([found.target, found.host, found.origin ?? ""])
                }
                start = end
            }
        } catch {
            return .failure(error)
        }
        return .success(nil)
    }

    private static func answerProblem(_ stream: [UInt8], _ cut: Int) -> String? {
        var client = ClientHandshake(host: "h", userAgent: "u", nonce: [UInt8](repeating: 7, count: 16))
        guard let used = try? client.receive(stream.span) else { return nil }
        return used > stream.count ? "took more than there was" : nil
    }
}
