import Basics
import Gateway
import JSONBytes
import WebSocket

extension LinkMachine {
    mutating func upgraded(_ bytes: Span<UInt8>, _ now: LinkTime) -> [Action] {
        let used: Int?
        do throws(HandshakeError) {
            used = try upgrade?.receive(bytes)
        } catch {
            return transportFailed(.handshake(error), now: now)
        }
        guard let used, let configuration else { return [] }
        upgrade = nil
        session = WebSocketSession(role: .client, limits: WebSocketLimits(messageBytes: Limit.beforeConnect))
        handshake = HandshakeState(requestId: newWireId(), requestedScopes: configuration.scopes)
        phase = .handshaking(deadline: now.milliseconds + Limit.handshakeMs)
        guard used < bytes.count else { return [] }
        return received(bytes.extracting(used..<bytes.count), now: now)
    }

    mutating func perform(_ action: WebSocketSession.Action, _ now: LinkTime) -> [Action] {
        switch action {
        case .message(let message):
            return received(message, now)
        case .answerPing(let payload):
            // No pongs for a peer that pings without reading: unread answers would pile up.
            guard unsentBytes <= Limit.highWater else { return [] }
            var output: [UInt8] = []
            let key = maskKey()
            _ = session?.send(.pong, payload.span, maskKey: key, to: &output)
            return output.isEmpty ? [] : write(output)
        case .pong:
            return []
        case .answerClose(let close):
            let online = phase == .online
            if close.code == WebSocketClose.serviceRestart { announceRestart(now) }
            let rejection = Rejection(close, online: online)
            return hangUp(close, failing: .offline) + retry(rejection, now)
        case .failed(let error):
            counters.protocolErrors += 1
            let detail = "The gateway sent broken WebSocket frames."
            return hangUp(WebSocketClose(error.closeCode), failing: .offline)
                + retry(Rejection(.offline, "PROTOCOL_ERROR", detail, next: .retry), now)
        case .finished:
            return transportFailed(.dropped, now: now)
        }
    }

    private mutating func received(_ message: WebSocketMessage, _ now: LinkTime) -> [Action] {
        counters.framesIn += 1
        guard message.kind == .text, let document = try? JSONDocument(parsing: message.bytes, limits: .gateway) else {
            counters.unreadableFrames += 1
            return logged(.inbound, nil, size: message.bytes.count, at: now)
        }
        let entry = logged(.inbound, document, size: message.bytes.count, at: now)
        let frame = GatewayFrame(document)
        return entry + (phase == .online ? online(frame, now) : handshaking(frame, now))
    }

    private mutating func online(_ frame: GatewayFrame, _ now: LinkTime) -> [Action] {
        switch frame {
        case .response(let response):
            if response.id == subscribeId {
                subscribeId = nil
                return []
            }
            switch calls.receive(response) {
            case .outcome(let id, let outcome):
                guard case .failed(let error, _) = outcome, let scope = error.missingScope else {
                    return [.outcome(id, outcome)]
                }
                return lacks(scope) + [.outcome(id, outcome)]
            case .late(let id, let outcome):
                counters.lateAnswers += 1
                return [.late(id, outcome)]
            case .unknown:
                counters.unknownAnswers += 1
                return []
            }
        case .event(let event):
            return received(event, now)
        case .unknown:
            counters.unknownFrames += 1
            return []
        }
    }

    private mutating func received(_ event: GatewayEvent, _ now: LinkTime) -> [Action] {
        var actions: [Action] = []
        switch sequence?.receive(event.seq) {
        case .gap(let expected, let received, let isLoss):
            if isLoss {
                counters.lostEvents &+= UInt64(received - expected)
                actions.append(.gap(expected: expected, received: received))
            } else {
                counters.harmlessGaps += 1
            }
        case .behind, .inOrder, nil: break
        }
        switch event.payload {
        case .tick, .challenge:
            return actions
        case .shutdown(let restartExpectedMs):
            announceRestart(now, expectedMs: restartExpectedMs)
            isShuttingDown = true
        default: break
        }
        actions.append(.event(event))
        return actions
    }

    private mutating func handshaking(_ frame: GatewayFrame, _ now: LinkTime) -> [Action] {
        guard let action = handshake?.receive(frame, wallClockMs: now.wall.milliseconds) else { return [] }
        switch action {
        case .connect(let challenge): return sendConnect(challenge, now)
        case .accepted(let hello): return accepted(hello, now)
        case .rejected(let error):
            let rejection = Rejection(error, rejectionContext)
            return hangUp(WebSocketClose(WebSocketClose.normal), failing: .offline) + retry(rejection, now)
        case .unusable(let reason):
            let rejection = Rejection(
                .offline,
                "NOT_A_GATEWAY",
                "What answers at \(urlText ?? "the address") is no gateway that Ladle understands: \(reason).",
                hint: configuration.map { Rejection.probeHint($0.url) },
                next: .retryAfter(milliseconds: 30_000)
            )
            return hangUp(WebSocketClose(WebSocketClose.protocolError), failing: .offline) + retry(rejection, now)
        case .ignored:
            // Events may arrive before the hello; the snapshot in the hello includes their changes.
            switch frame {
            case .event: break
            case .response: counters.unknownAnswers += 1
            case .unknown: counters.unknownFrames += 1
            }
            return []
        }
    }

    private mutating func sendConnect(_ challenge: Challenge, _ now: LinkTime) -> [Action] {
        guard let configuration, let id = handshake?.requestId else { return [] }
        // A time before 1970 or after the year 9999 is invalid and could overflow the arithmetic below, so it is
        // clamped.
        clockSkewMs = min(max(challenge.timestampMs, 0), 253_402_300_799_999) - now.wall.milliseconds
        var credentials = ConnectRequest.Credentials(token: configuration.token, password: configuration.password)
        let stored = tokenKey.flatMap { tokens[$0] }?.token
        if credentials.isEmpty || sendsDeviceTokenToo { credentials.deviceToken = stored }
        sentDeviceToken = credentials.deviceToken != nil
        sendsDeviceTokenToo = false
        let request = ConnectRequest(
            clientVersion: configuration.clientVersion,
            displayName: configuration.displayName,
            scopes: configuration.scopes,
            credentials: credentials
        )
        guard let params = request.params(challenge: challenge, signer: signer) else {
            let detail = "This device's key could not sign the gateway's challenge."
            let rejection = Rejection(
                .refused,
                "DEVICE_KEY_UNUSABLE",
                detail,
                hint: Rejection.Hint.newKey,
                next: .stop
            )
            return hangUp(WebSocketClose(WebSocketClose.normal), failing: .offline) + retry(rejection, now)
        }
        session?.limits = WebSocketLimits(messageBytes: Limit.hello)
        return writeFrame(GatewayRequest.frame(id: id, method: "connect", params: params), at: now)
    }

    private mutating func accepted(_ hello: Hello, _ now: LinkTime) -> [Action] {
        counters.hellos += 1
        self.hello = hello
        handshake = nil
        phase = .online
        onlineSince = now.milliseconds
        isShuttingDown = false
        triedDeviceToken = false
        droppedDeviceToken = false
        backoff.reset()
        watchdog = TickWatchdog(intervalMs: hello.policy.tickIntervalMs, now: now.milliseconds)
        sequence = SequenceTracker(protocolVersion: hello.protocolVersion)
        session?.limits = WebSocketLimits(messageBytes: max(Limit.inbound, hello.policy.maxPayload))
        var actions: [Action] = []
        if let token = hello.deviceToken, let key = tokenKey, tokens[key] != token {
            tokens[key] = token
            protectSecrets()
            actions.append(.keepDeviceToken(token, key))
        }
        // The subscription goes out before any snapshot request: otherwise changes between the two would be missed.
        if configuration?.subscribesToSessions == true { actions += subscribe(now) }
        actions += show(onlineStatus(hello, now))
        actions.append(.hello(hello))
        return actions
    }

    /// The answer is ignored: a release without this method reports an error and still sends the broadcasts.
    private mutating func subscribe(_ now: LinkTime) -> [Action] {
        let id = newWireId()
        subscribeId = id
        let call = SessionsSubscribe()
        return writeFrame(GatewayRequest.frame(id: id, method: SessionsSubscribe.method, params: call.params), at: now)
    }

    private mutating func maskKey() -> UInt32 { UInt32(truncatingIfNeeded: random.next() as UInt64) }
}
