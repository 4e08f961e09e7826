import Basics
import Gateway
import JSONBytes
import Ledger
import Observability
import WebSocket

/// The link as one state machine: events and the time go in, actions come out. It has no socket, clock or file, so that
/// a test can play any behaviour of a gateway.
///
/// After each input the owner performs the actions in order and arms one timer for `wakeAt`.
struct LinkMachine {
    private enum Phase: Equatable {
        /// Not started, or stopped until the next command.
        case idle
        case waiting(until: Int64)
        case opening(deadline: Int64)
        case upgrading(deadline: Int64)
        case handshaking(deadline: Int64)
        case online
    }

    /// State of the current connection; a new one starts empty.
    private struct Connection {
        var beganAt: Int64 = 0
        var handshake: HandshakeState?
        var deadlines: LinkDeadlines?
        var sequence: SequenceTracker?
    }

    private enum Limit {
        /// For each of the connection with TLS, the upgrade, and the handshake. A gateway may answer nothing in the
        /// first 16 seconds after its start; then it gives up on us after 10 or 15 seconds.
        static let answerMs: Int64 = 25_000
        /// Above this many unsent bytes, requests wait in our queue, where they still count as not sent.
        static let highWater = 1 << 20
    }

    private(set) var target: LinkTarget
    /// The last hello and what it shows of the release. They stay while the gateway is away.
    private(set) var hello: Hello?
    private(set) var profile: GatewayProfile?
    /// How long the connection of that hello took up to it.
    private(set) var openingMs: Int64?
    private(set) var counters = LinkCounters()
    /// Nil while frame logging is off.
    private(set) var log: FrameLog?

    private var phase = Phase.idle
    private var socket: ClientWebSocket
    private var connection = Connection()
    private var shown: StatusTracker
    private var credentials: DeviceCredentials
    private var requests: RequestQueue
    private var backoff = Backoff()
    /// Bytes that the kernel has not taken yet.
    private var unsentBytes = 0
    private var random: any RandomNumberGenerator

    init(
        target: LinkTarget,
        signer: any DeviceSigner,
        tokens: DeviceTokenStore = DeviceTokenStore(),
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(),
        log: FrameLog? = nil,
        now: LinkTime
    ) {
        self.target = target
        self.log = log
        credentials = DeviceCredentials(signer: signer, tokens: tokens)
        var random = random
        requests = RequestQueue(idPrefix: String(random.next() as UInt64, radix: 36))
        self.random = random
        socket = ClientWebSocket(random: random)
        shown = StatusTracker(now: now)
        hideSecrets()
    }

    var status: LinkStatus { shown.current }
    /// How far the gateway's clock is ahead of ours.
    func clockSkewMs(at now: LinkTime) -> Int64 { shown.clockSkewMs(at: now) }
    /// False also after the gateway has announced a shutdown, because a request sent then would be lost.
    var isOnline: Bool { phase == .online && !isShuttingDown }
    private var isShuttingDown: Bool { connection.deadlines?.isShuttingDown == true }
    var deviceId: String { credentials.deviceId }
    /// Whether the link waits until another gateway or other secrets are configured.
    var needsNewTarget: Bool { target == .notFound || status.state == .refused }

    var configuration: LinkConfiguration? {
        if case .gateway(let configuration) = target { configuration } else { nil }
    }

    /// The time of the next `wake`, on the monotonic clock.
    var wakeAt: Int64? {
        switch phase {
        case .idle: nil
        case .waiting(let time), .opening(let time), .upgrading(let time), .handshaking(let time): time
        case .online:
            [connection.deadlines?.next, requests.nextDeadline, shown.pauseEndsMs].compactMap(\.self).min()
        }
    }

    // MARK: Commands

    mutating func start(now: LinkTime) -> [LinkAction] {
        guard phase == .idle else { return [] }
        return connect(now)
    }

    /// Changes the gateway, the credentials, or the reason why there is no gateway.
    mutating func configure(_ target: LinkTarget, now: LinkTime) -> [LinkAction] {
        let actions = hangUp(WebSocketClose(WebSocketClose.normal, "configuration changed"), failing: .offline)
        self.target = target
        hideSecrets()
        backoff = Backoff()
        credentials.reset()
        return actions + connect(now)
    }

    /// All scopes that are configured, if the gateway grants fewer.
    var scopesToGain: [String]? { isOnline && shown.lacksScopes ? configuration?.scopes : nil }

    mutating func awaitsScopes(request: String) -> [LinkAction] { report(shown.awaitsScopes(request: request)) }

    /// Connects anew with the scopes that the gateway's owner granted.
    mutating func gainedScopes(_ token: DeviceToken?, now: LinkTime) -> [LinkAction] {
        guard phase == .online, let configuration else { return [] }
        var actions: [LinkAction] = []
        if let token, credentials.keep(token, from: configuration) {
            hideSecrets()
            actions.append(.storeTokens(credentials.tokens))
        }
        actions += hangUp(WebSocketClose(WebSocketClose.normal, "scopes changed"), failing: .offline)
        return actions + connect(now)
    }

    /// Tries now, without waiting for the backoff; for a user who has just changed something at the gateway.
    mutating func retryNow(now: LinkTime) -> [LinkAction] {
        switch phase {
        case .idle, .waiting: connect(now)
        default: []
        }
    }

    /// Pauses or resumes reading from the connection.
    mutating func holdInput(_ isHeld: Bool, now: LinkTime) {
        if isHeld, connection.deadlines?.isHeld == false { counters.holds += 1 }
        connection.deadlines?.hold(isHeld, now: now.milliseconds)
    }

    mutating func stop(now: LinkTime) -> [LinkAction] {
        let actions = hangUp(WebSocketClose(WebSocketClose.goingAway, "shutting down"), failing: .stopped)
        phase = .idle
        return actions + report(shown.stopped(now: now))
    }

    /// Sends a request, or reports at once why it cannot be sent. `params` is one JSON object.
    mutating func request(
        _ id: CallID,
        method: String,
        params: [UInt8],
        timeoutMs: Int64,
        now: LinkTime
    ) -> [LinkAction] {
        guard isOnline, let hello else { return [.outcome(id, .notDispatched(.offline))] }
        let refusal = requests.add(
            id,
            method: method,
            params: params,
            timeoutMs: timeoutMs,
            frameLimit: hello.policy.maxPayload,
            now: now.milliseconds
        )
        if let refusal { return [.outcome(id, .notDispatched(refusal))] }
        return sendRequests(now)
    }

    // MARK: Reports of the owner

    /// The time `wakeAt` has come.
    mutating func wake(now: LinkTime) -> [LinkAction] {
        let time = now.milliseconds
        switch phase {
        case .waiting(let until) where until <= time:
            return connect(now)
        case .opening(let deadline) where deadline <= time, .upgrading(let deadline) where deadline <= time,
            .handshaking(let deadline) where deadline <= time:
            return transportFailed(.timedOut, now: now)
        case .online:
            var actions = requests.expire(now: time).map { LinkAction.outcome($0, $1) }
            if let fault = connection.deadlines?.fault(now: time) {
                if case .silence = fault { counters.silences += 1 }
                return actions + end(fault.close, fault.rejection, now)
            }
            requests.repeatDue(now: time)
            actions += report(shown.pauseExpired(now: now))
            return actions + askWhetherItStalls(time) + sendRequests(now)
        default:
            return []
        }
    }

    private mutating func askWhetherItStalls(_ time: Int64) -> [LinkAction] {
        var actions: [LinkAction] = []
        if connection.deadlines?.wantsPing(now: time) == true, let bytes = socket.ping() { actions += write(bytes) }
        if connection.deadlines?.beginsToStall(now: time) == true { actions += report(shown.stalled()) }
        return actions
    }

    mutating func opened(now: LinkTime) -> [LinkAction] {
        guard case .opening = phase, let configuration else { return [] }
        phase = .upgrading(deadline: now.milliseconds + Limit.answerMs)
        return write(socket.connect(to: configuration.url, clientVersion: configuration.clientVersion))
    }

    /// The connection could not be opened, or ended without a close frame.
    mutating func transportFailed(_ failure: Rejection.TransportFailure, now: LinkTime) -> [LinkAction] {
        switch phase {
        case .idle, .waiting: return []
        case .online: return end(nil, isShuttingDown ? .restarting : .lost, now)
        case .opening, .upgrading, .handshaking:
            guard let url = configuration?.url else { return [] }
            return end(nil, Rejection(failure, url: url), now)
        }
    }

    mutating func received(_ bytes: Span<UInt8>, now: LinkTime) -> [LinkAction] {
        counters.bytesIn += UInt64(bytes.count)
        connection.deadlines?.heard(now: now.milliseconds)
        let answers = shown.isStalled ? report(shown.answers()) : []
        let wasOpen = socket.isOpen
        do throws(HandshakeError) {
            try socket.receive(bytes)
        } catch {
            return transportFailed(.handshake(error), now: now)
        }
        if !wasOpen, socket.isOpen {
            let scopes = configuration?.scopes ?? []
            connection.handshake = HandshakeState(requestId: requests.newId(), requestedScopes: scopes)
            phase = .handshaking(deadline: now.milliseconds + Limit.answerMs)
        }
        return answers + readMessages(now)
    }

    /// A large message was parsed; `document` is nil if it is no JSON.
    mutating func parsed(_ number: UInt64, _ document: JSONDocument?, size: Int, now: LinkTime) -> [LinkAction] {
        guard socket.parsed(number, document, size: size) else { return [] }
        connection.deadlines?.parsing(false, now: now.milliseconds)
        return readMessages(now)
    }

    /// The state of the output after each write, before each `wake`, and whenever the kernel has taken all bytes.
    mutating func output(unsent: Int, taken: UInt64, now: LinkTime) -> [LinkAction] {
        unsentBytes = unsent
        connection.deadlines?.output(unsent: unsent, taken: taken, now: now.milliseconds)
        return sendRequests(now)
    }

    // MARK: Start and end of a connection

    private mutating func connect(_ now: LinkTime) -> [LinkAction] {
        switch target {
        case .none(let rejection, let url):
            phase = .idle
            return report(shown.unconfigured(rejection, url: url, now: now))
        case .gateway(let configuration):
            counters.attempts += 1
            connection.beganAt = now.milliseconds
            phase = .opening(deadline: now.milliseconds + Limit.answerMs)
            return report(shown.connecting(to: configuration, deviceId: deviceId, now: now)) + [
                .open(configuration.url)
            ]
        }
    }

    /// Ends the current connection and schedules the next step.
    private mutating func end(_ close: WebSocketClose?, _ rejection: Rejection, _ now: LinkTime) -> [LinkAction] {
        hangUp(close, failing: .offline) + retry(rejection, now)
    }

    /// Ends the current connection, if any, and completes the requests sent on it.
    private mutating func hangUp(_ close: WebSocketClose?, failing reason: CallOutcome.NotDispatched) -> [LinkAction] {
        switch phase {
        case .idle, .waiting: return []
        case .online: counters.drops += 1
        case .opening, .upgrading, .handshaking: break
        }
        var actions: [LinkAction] = []
        if let close, let bytes = socket.close(close) { actions += write(bytes) }
        actions.append(.close)
        actions += requests.failAll(reason).map { .outcome($0, $1) }
        socket.drop()
        connection = Connection()
        unsentBytes = 0
        phase = .idle
        return actions
    }

    private mutating func retry(_ rejection: Rejection, _ now: LinkTime) -> [LinkAction] {
        let hasChanged = configuration.map { credentials.prepare(for: rejection.next, with: $0) } ?? false
        let actions: [LinkAction] = hasChanged ? [.storeTokens(credentials.tokens)] : []
        guard let delay = backoff.delay(after: rejection.next, now: now.milliseconds, random: random.next()) else {
            phase = .idle
            return actions + report(shown.failed(rejection, retryAt: nil, now: now))
        }
        phase = .waiting(until: now.milliseconds + delay)
        var rejection = rejection
        if rejection.state == .connecting {
            // An attempt with other secrets follows at once; users see only how that one ends.
            if delay == Backoff.otherSecretsMs { return actions }
            rejection.state = .offline
        }
        let retryAt = now.wall.adding(milliseconds: delay)
        return actions + report(shown.failed(rejection, retryAt: retryAt, now: now))
    }

    // MARK: Frames from the gateway

    private mutating func readMessages(_ now: LinkTime) -> [LinkAction] {
        var actions: [LinkAction] = []
        while let input = socket.next() {
            switch input {
            case .message(let document, let size):
                actions += received(document, size: size, now)
            case .parse(let number, let bytes):
                connection.deadlines?.parsing(true, now: now.milliseconds)
                actions.append(.parse(number, bytes))
            case .ping(let payload):
                // No pongs for a peer that pings without reading: unread answers would pile up.
                if unsentBytes <= Limit.highWater, let bytes = socket.pong(payload) { actions += write(bytes) }
            case .closed(let close):
                if close.code == WebSocketClose.serviceRestart { backoff.announceRestart(now: now.milliseconds) }
                let rejection = Rejection(close, online: phase == .online)
                actions += end(close, isShuttingDown ? .restarting : rejection, now)
            case .broken(let error):
                counters.protocolErrors += 1
                actions += end(WebSocketClose(error.closeCode), .brokenFrames, now)
            case .finished:
                actions += transportFailed(.dropped, now: now)
            }
        }
        return actions
    }

    private mutating func received(_ document: JSONDocument?, size: Int, _ now: LinkTime) -> [LinkAction] {
        counters.framesIn += 1
        connection.deadlines?.readMessage(now: now.milliseconds)
        let entry = logged(.inbound, document, size: size, now)
        guard let document else {
            counters.unreadableFrames += 1
            return entry
        }
        let frame = GatewayFrame(document)
        return entry + (phase == .online ? online(frame, now) : handshaking(frame, now))
    }

    private mutating func handshaking(_ frame: GatewayFrame, _ now: LinkTime) -> [LinkAction] {
        guard let configuration, let step = connection.handshake?.receive(frame, now: now.wall) else { return [] }
        switch step {
        case .connect(let challenge, let id): return answer(challenge, id: id, now)
        case .accepted(let hello): return accepted(hello, configuration, now)
        case .rejected(let error):
            let rejection = Rejection(error, credentials.context(for: configuration))
            return end(WebSocketClose(WebSocketClose.normal), rejection, now)
        case .unusable(let reason):
            let rejection = Rejection.notAGateway(configuration.url, reason)
            return end(WebSocketClose(WebSocketClose.protocolError), rejection, now)
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

    private mutating func answer(_ challenge: Challenge, id: String, _ now: LinkTime) -> [LinkAction] {
        shown.measured(gatewayMs: challenge.timestampMs, now: now)
        guard let configuration, let params = credentials.answer(challenge, for: configuration) else {
            return end(WebSocketClose(WebSocketClose.normal), .unusableKey, now)
        }
        socket.allow(.hello)
        return writeFrame(GatewayRequest.frame(id: id, method: "connect", params: params), now)
    }

    private mutating func accepted(
        _ hello: Hello,
        _ configuration: LinkConfiguration,
        _ now: LinkTime
    ) -> [LinkAction] {
        counters.hellos += 1
        let profile = GatewayProfile(hello)
        (self.hello, self.profile) = (hello, profile)
        openingMs = now.milliseconds - connection.beganAt
        phase = .online
        backoff.opened(now: now.milliseconds)
        credentials.reset()
        connection.handshake = nil
        connection.deadlines = LinkDeadlines(tickIntervalMs: hello.policy.tickIntervalMs, now: now.milliseconds)
        connection.sequence = SequenceTracker(isOwnCount: profile.countsEventsPerConnection)
        socket.allow(.anyFrame(hello.policy.maxPayload))
        var actions: [LinkAction] = []
        if let token = hello.deviceToken, credentials.keep(token, from: configuration) {
            hideSecrets()
            actions.append(.storeTokens(credentials.tokens))
        }
        // The subscription goes out before any snapshot request: otherwise changes between the two would be lost.
        if configuration.subscribesToSessions { actions += subscribe(now) }
        actions += report(shown.online(hello, profile, now: now))
        if let phase = hello.suspension { actions += report(shown.suspension(phase, now: now)) }
        actions.append(.hello(hello))
        return actions
    }

    /// The answer is ignored: a release without this method reports an error and still sends the broadcasts.
    private mutating func subscribe(_ now: LinkTime) -> [LinkAction] {
        let call = SessionsSubscribe()
        let id = requests.newOwnId()
        return writeFrame(GatewayRequest.frame(id: id, method: SessionsSubscribe.method, params: call.params), now)
    }

    private mutating func online(_ frame: GatewayFrame, _ now: LinkTime) -> [LinkAction] {
        switch frame {
        case .response(let response): return received(response, now)
        case .event(let event): return received(event, now)
        case .unknown: counters.unknownFrames += 1
        }
        return []
    }

    private mutating func received(_ response: GatewayResponse, _ now: LinkTime) -> [LinkAction] {
        switch requests.receive(response, now: now.milliseconds) {
        case .outcome(let id, .failed(let error, let payload)):
            let news = error.missingScope.flatMap { shown.lacks($0) } ?? shown.refused(error, now: now)
            return report(news) + [.outcome(id, .failed(error, payload: payload))]
        case .outcome(let id, let outcome): return report(shown.carriedOut()) + [.outcome(id, outcome)]
        case .late(let id, let outcome):
            counters.lateAnswers += 1
            return [.late(id, outcome)]
        case .own, .repeated: break
        case .unknown: counters.unknownAnswers += 1
        }
        return []
    }

    private mutating func received(_ event: GatewayEvent, _ now: LinkTime) -> [LinkAction] {
        var actions: [LinkAction] = []
        switch connection.sequence?.receive(event.seq) {
        case .gap(let expected, let received, isLoss: true):
            counters.lostEvents &+= UInt64(received - expected)
            shown.eventsLost()
            actions.append(.gap(expected: expected, received: received))
        case .gap: counters.harmlessGaps += 1
        case .behind, .inOrder, nil: break
        }
        switch event.payload {
        case .tick(let time):
            if let time { shown.ticked(gatewayMs: time, now: now) }
            return actions
        case .challenge:
            return actions
        case .shutdown(let restartExpectedMs):
            backoff.announceRestart(now: now.milliseconds, expectedMs: restartExpectedMs)
            let wait = connection.deadlines?.shutDown(expectedMs: restartExpectedMs, now: now.milliseconds) ?? 0
            let retryAt = now.wall.adding(milliseconds: wait)
            // The event comes first: no events were missed before it.
            actions.append(.event(event))
            return actions + report(shown.failed(.restarting, retryAt: retryAt, now: now))
        case .suspension(let phase): actions += report(shown.suspension(phase, now: now))
        default: break
        }
        actions.append(.event(event))
        return actions
    }

    // MARK: Writing

    /// Moves requests from the queue to the connection until the connection takes no more.
    private mutating func sendRequests(_ now: LinkTime) -> [LinkAction] {
        var actions: [LinkAction] = []
        while unsentBytes <= Limit.highWater, let frame = requests.next() {
            let written = writeFrame(frame.bytes, now)
            guard !written.isEmpty else { continue }
            requests.wrote(frame)
            connection.deadlines?.asked(now: now.milliseconds)
            actions += written
        }
        return actions
    }

    private mutating func writeFrame(_ json: [UInt8], _ now: LinkTime) -> [LinkAction] {
        guard let bytes = socket.message(json) else { return [] }
        counters.framesOut += 1
        let document = log == nil ? nil : try? JSONDocument(parsing: json, limits: .gateway)
        return logged(.outbound, document, size: json.count, now) + write(bytes)
    }

    private mutating func write(_ bytes: [UInt8]) -> [LinkAction] {
        unsentBytes += bytes.count
        counters.bytesOut += UInt64(bytes.count)
        return [.write(bytes)]
    }

    private mutating func logged(
        _ direction: LoggedFrame.Direction,
        _ document: JSONDocument?,
        size: Int,
        _ now: LinkTime
    ) -> [LinkAction] {
        guard let entry = log?.add(direction, document, size: size, at: now.wall) else { return [] }
        return [.logged(entry)]
    }

    /// Tells the frame log the secrets in use, so that it hides them wherever they stand in a frame.
    private mutating func hideSecrets() {
        let secrets = credentials.secrets(with: configuration)
        log?.redaction = FrameRedaction(secrets: secrets)
    }

    private func report(_ change: LinkStatus?) -> [LinkAction] {
        change.map { [.status($0)] } ?? []
    }
}
