import JSONBytes

/// The demo gateway without sockets and clocks: connections, frames and the time come in, actions come out.
///
/// One event loop (or one test) owns it; it is deliberately not Sendable.
package final class DemoGatewayModel: DemoGatewayCore {
    /// The number of calls in a row to another role's methods after which the connection is closed.
    private static let wrongRoleLimit = 10
    private static let healthIntervalMs = 60_000

    package let options: DemoGatewayOptions
    private let host: DemoHost
    private let dispatcher: DemoDispatcher
    private let chat: DemoChat
    private let presence: DemoPresence
    private let usage: DemoUsage
    private let jobs: DemoJobs
    private let nodes: DemoNodes
    private let media: DemoMedia
    private var admission: DemoAdmission
    private var hasStopped = false

    private var release: DemoRelease { options.release }
    private var connections: DemoConnections { host.connections }
    private var clock: DemoClock { host.clock }

    package init(
        options: DemoGatewayOptions,
        primitives: DemoPrimitives,
        now: DemoInstant,
        disk: DemoDisk? = nil
    ) {
        self.options = options
        host = DemoHost(options, primitives, now, disk)
        dispatcher = DemoDispatcher(host)
        chat = DemoChat(host, dispatcher)
        presence = DemoPresence(host)
        usage = DemoUsage(host)
        jobs = DemoJobs(host, dispatcher)
        nodes = DemoNodes(host)
        media = DemoMedia(host)
        admission = DemoAdmission(options, primitives, devices: disk?.devices)
        tickLater()
        announceHealthLater()
        if let disk { dispatcher.recover(afterCrash: disk.isAfterCrash) }
    }

    // MARK: - Inputs

    package var nextDeadline: UInt64? { clock.nextDeadline }

    package func advance(to now: DemoInstant) -> [DemoAction] {
        clock.set(now)
        clock.runDueWork()
        return connections.takeActions()
    }

    package func connected(_ id: DemoConnectionID, peer: DemoPeer, now: DemoInstant) -> [DemoAction] {
        clock.set(now)
        let connection = DemoConnection(
            id: id,
            peer: peer,
            nonce: host.primitives.uuid(),
            connID: host.primitives.uuid()
        )
        connections.add(connection)
        let challenge: WireValue = ["nonce": connection.nonce, "ts": clock.wallMs]
        connections.emit(DemoFrame.event("connect.challenge", challenge), to: connection)
        clock.after(ms: release.handshakeTimeoutMs) { [weak self] in
            guard let self, let connection = connections[id], !connection.isOpen else { return }
            close(connection, 1000, "")
        }
        return connections.takeActions()
    }

    package func received(_ message: [UInt8], from id: DemoConnectionID, now: DemoInstant) -> [DemoAction] {
        clock.set(now)
        if let connection = connections[id] {
            if connection.isOpen {
                receiveRequest(message, from: connection)
            } else {
                receiveConnect(message, from: connection)
            }
        }
        return connections.takeActions()
    }

    package func closed(_ id: DemoConnectionID, _ close: DemoClose?, now: DemoInstant) -> [DemoAction] {
        clock.set(now)
        forget(id)
        return connections.takeActions()
    }

    package func stop(now: DemoInstant) -> [DemoAction] { stop(restartingAfterMs: nil, now: now) }

    /// Announces the stop and closes every connection. A restart is announced with its expected length.
    package func stop(restartingAfterMs delay: Int?, now: DemoInstant) -> [DemoAction] {
        clock.set(now)
        hasStopped = true
        let expected = delay.map { WireValue.int(Int64($0)) } ?? .null
        let reason = delay == nil ? "gateway stopping" : "gateway restarting"
        connections.broadcast("shutdown", ["reason": reason, "restartExpectedMs": expected])
        for connection in connections.all { close(connection, 1012, "service restart") }
        return connections.takeActions()
    }

    // MARK: - Connections

    private func close(_ connection: DemoConnection, _ code: UInt16, _ reason: String) {
        connections.close(connection, code, reason)
        forget(connection.id)
    }

    private func forget(_ id: DemoConnectionID) {
        guard let connection = connections.remove(id), connection.isOpen else { return }
        presence.left(connection)
    }

    private func receiveConnect(_ bytes: [UInt8], from connection: DemoConnection) {
        if let limit = release.preAuthFrameLimit, bytes.count > limit {
            return close(connection, 1009, "preauth payload too large")
        }
        guard let document = try? JSONDocument(parsing: bytes, limits: .gateway) else {
            return close(connection, 1000, "")
        }
        let frame = document.root
        guard frame.kind == .object, frame["type"]?.string == "req", let id = frame["id"]?.string, !id.isEmpty,
            let method = frame["method"]?.string
        else {
            return close(connection, 1008, "invalid request frame")
        }
        guard method == "connect" else {
            let message = "invalid handshake: first request must be connect"
            connections.emit(DemoFrame.response(id, error: .invalid(message)), to: connection)
            return close(connection, 1008, message)
        }
        switch admission.decide(frame["params"], for: connection, now: clock.wallMs) {
        case .admitted(let admitted): open(connection, id, admitted)
        case .refused(let rejection):
            if let request = rejection.newRequest {
                connections.broadcast("device.pair.requested", request.wire, scope: "operator.pairing")
            }
            connections.emit(DemoFrame.response(id, error: rejection.error), to: connection)
            close(connection, rejection.close.code, rejection.close.reason)
        }
    }

    private func open(_ connection: DemoConnection, _ id: String, _ admitted: DemoAdmission.Admitted) {
        connection.open(admitted)
        presence.joined(connection)
        let hello = host.hello(connection, auth: admitted.auth, presence: presence.list)
        connections.emit(DemoFrame.response(id, ok: hello), to: connection)
        announceHealth()
    }

    // MARK: - Clocks

    private func tickLater() {
        clock.after(ms: options.tickIntervalMs) { [weak self] in
            guard let self else { return }
            connections.broadcast("tick", ["ts": clock.wallMs])
            tickLater()
        }
    }

    private func announceHealthLater() {
        clock.after(ms: Self.healthIntervalMs) { [weak self] in
            self?.announceHealth()
            self?.announceHealthLater()
        }
    }

    private func announceHealth() {
        connections.healthVersion += 1
        connections.broadcast("health", host.health, withVersions: true)
    }

    // MARK: - Requests

    private func receiveRequest(_ bytes: [UInt8], from connection: DemoConnection) {
        if bytes.count > DemoHost.maximumPayload { return close(connection, 1009, "") }
        guard let document = try? JSONDocument(parsing: bytes, limits: .gateway) else {
            let error = DemoError.invalid("invalid request frame: must be object")
            return connections.emit(DemoFrame.response("invalid", error: error), to: connection)
        }
        let frame = document.root
        if let failure = envelopeFailure(frame) {
            let id = frame["id"].flatMap { $0.string ?? $0.int.map(String.init) } ?? "invalid"
            let error = DemoError.invalid("invalid request frame: \(failure)")
            return connections.emit(DemoFrame.response(id, error: error), to: connection)
        }
        let request = DemoRequest(
            connection: connection,
            id: frame["id"]?.string ?? "invalid",
            method: frame["method"]?.string ?? "",
            params: frame["params"]
        )
        guard let wait = startupWait else { return answer(request) }
        clock.after(ms: wait) { [weak self] in self?.answer(request) }
    }

    private func answer(_ request: DemoRequest) {
        answer(request, reply(to: request))
        let connection = request.connection
        if connection.wrongRoleCalls > Self.wrongRoleLimit { close(connection, 1008, "repeated unauthorized calls") }
    }

    private func answer(_ request: DemoRequest, _ reply: DemoReply) {
        switch reply {
        case .ok(let payload):
            connections.emit(DemoFrame.response(request.id, ok: payload), to: request.connection)
        case .failed(let error, let payload):
            connections.emit(DemoFrame.response(request.id, error: error, payload: payload), to: request.connection)
        case .later(let delay, let reply):
            clock.after(ms: delay) { [weak self] in self?.answer(request, reply) }
        case .awaited(let begin): begin { [weak self] in self?.answer(request, $0) }
        }
    }

    // MARK: - Startup

    /// Methods that a starting process of a later release refuses.
    private static let lateMethods: Set<String> = ["chat.history", "sessions.list"]

    /// The remaining time for which answers wait for the end of a slow start.
    private var startupWait: Int? {
        guard host.isRestarted, case .slow(let whole) = host.shape.startup else { return nil }
        let rest = clock.paced(whole) - Int(clock.uptimeMs)
        return rest > 0 ? rest : nil
    }

    private func refusalAtStartup(_ method: String) -> DemoReply? {
        if host.isRestarted, case .initializing(let whole) = host.shape.startup, method == "chat.history",
            clock.uptimeMs < Int64(clock.paced(whole))
        {
            return .failed(
                .later(250, "session rows are initializing; reload the conversation", details: ["method": method])
            )
        }
        guard host.isRestarted, case .refusing(let whole) = host.shape.startup, Self.lateMethods.contains(method),
            clock.uptimeMs < Int64(clock.paced(whole))
        else { return nil }
        return .failed(
            .later(
                500,
                "\(method) unavailable during gateway startup",
                details: ["reason": "startup-sidecars", "method": method]
            )
        )
    }

    // MARK: - Checks

    private func envelopeFailure(_ frame: JSONValue) -> String? {
        guard frame.kind == .object else { return "must be object" }
        var failures: [String] = []
        for name in ["type", "id", "method"] where frame[name] == nil {
            if release.reportsAllFailures || failures.isEmpty {
                failures.append("must have required property '\(name)'")
            }
        }
        if let type = frame["type"], type.string != "req" { failures.append("at /type: must be equal to constant") }
        let rules: [ParamsRule] = [
            .open("type"), .text("id"), .text("method"), .open("params"),
            .text("traceparent", atMost: 128).since(.autumn),
            .text("expectedProfileId", atLeast: 0).since(.autumn),
        ]
        if let more = ParamsRule.failure(in: frame, against: rules, release: release) { failures.append(more) }
        return failures.isEmpty ? nil : failures.joined(separator: "; ")
    }

    private func reply(to request: DemoRequest) -> DemoReply {
        let connection = request.connection
        if request.method == "connect" { return .invalid("connect is only valid as the first request") }
        let isNodeMethod = DemoMethod.nodeOnly.contains(request.method)
        guard isNodeMethod == (connection.role == "node") else {
            connection.wrongRoleCalls += 1
            return .invalid("unauthorized role: \(connection.role)")
        }
        connection.wrongRoleCalls = 0
        guard !isNodeMethod else { return .ok(["ok": true]) }
        let method = DemoMethod.named(request.method, release: release)
        // The scope is checked first: only an administrator learns that a method is unknown.
        let scope = method == nil ? "operator.admin" : method?.scope
        let isEnough = method?.narrowScope(release).map(connection.may) ?? false
        if let scope, !isEnough, !connection.may(scope) { return missingScope(scope) }
        guard let method else { return .invalid("unknown method: \(request.method)") }
        if let rules = method.rules,
            let failure = ParamsRule.failure(in: request.params, against: rules, release: release)
        {
            return .invalid("invalid \(method.name) params: \(failure)")
        }
        if let refusal = host.pause.refusal(of: method.name) { return .failed(refusal) }
        return refusalAtStartup(method.name) ?? perform(request)
    }

    private func perform(_ request: DemoRequest) -> DemoReply {
        switch request.method {
        case "agents.files.get": host.agents.getFile(request)
        case "agents.files.set": host.agents.setFile(request)
        case "agent.wait": chat.wait(request)
        case "artifacts.download": media.download(request)
        case "artifacts.list": media.list(request)
        case "agents.list": .ok(host.agents.list(mainKey: options.mainKey))
        case "chat.abort": chat.abort(request)
        case "chat.history": chat.history(request)
        case "chat.message.get": chat.message(request)
        case "chat.send": chat.send(request)
        case "cron.list": jobs.list(request)
        case "cron.run": jobs.run(request)
        case "cron.runs": jobs.runs(request)
        case "cron.update": jobs.update(request)
        case "wake": jobs.wake(request)
        case "node.list": nodes.list()
        case "device.pair.list": devicePairList
        case "node.pair.list": .ok(["pending": [WireValue](), "paired": [WireValue]()])
        case "node.describe": nodes.describe(request)
        case "node.invoke": nodes.invoke(request)
        case "exec.approval.get": host.approvals.get(request)
        case "exec.approval.grants.list": host.approvals.grants(request)
        case "exec.approval.grants.revoke": host.approvals.revoke(request)
        case "exec.approval.list": host.approvals.list(request)
        case "exec.approval.resolve": host.approvals.resolve(request)
        case "health": .ok(host.health)
        case "models.list": usage.models(request)
        case "plugin.approval.list": .ok(.array([]))
        case "approval.history": host.approvals.history(request)
        case "approval.resolve": host.approvals.resolveAny(request)
        case "sessions.compact": host.sessions.compact(request)
        case "sessions.create": host.sessions.create(request, agents: host.agents)
        case "sessions.delete": dispatcher.delete(request)
        case "sessions.patch": host.sessions.patch(request)
        case "question.get": host.questions.get(request)
        case "question.list": host.questions.list(request)
        case "question.resolve": host.questions.resolve(request)
        case "sessions.reset": dispatcher.reset(request)
        case "sessions.list": host.sessions.list(request)
        case "sessions.status": host.sessions.status(request)
        case "sessions.subscribe": host.sessions.subscribe(request)
        case "tts.speak": media.speak(request)
        case "sessions.usage": usage.sessions(request)
        case "usage.cost": usage.cost(request)
        case "usage.status": usage.status(request)
        default: .invalid("unknown method: \(request.method)")
        }
    }

    private var devicePairList: DemoReply {
        let waiting = admission.devices.waiting(now: clock.wallMs).map(\.wire)
        return .ok(["pending": waiting + nodes.pending, "paired": [WireValue]()])
    }

    /// The refusal for a missing scope. Later releases have a code and details for it; earlier ones name the scope in
    /// the message.
    private func missingScope(_ scope: String) -> DemoReply {
        let message = "missing scope: \(scope)"
        guard release.hasForbiddenCode else { return .invalid(message) }
        return .failed(
            DemoError(
                "FORBIDDEN",
                message,
                details: ["code": "MISSING_SCOPE", "missingScope": scope, "requiredScopes": [scope]]
            )
        )
    }

    // MARK: - The host, as its administrator sees it

    /// Starts a run without a client's request, as a message from another channel does. nil: the session has an active
    /// run.
    package func startRun(_ text: String, in session: String, now: DemoInstant) -> String? {
        clock.set(now)
        return dispatcher.startRun(text, in: session)
    }

    package var activeRuns: [String] { dispatcher.activeRuns }

    package func fileContent(_ name: String, agent: String) -> [UInt8]? { host.agents[agent]?.files[name]?.content }

    /// Replaces a file of an agent's workspace, or removes it with nil; false if the agent or the name is unknown.
    package func setFile(_ name: String, agent: String, to content: [UInt8]?, now: DemoInstant) -> Bool {
        clock.set(now)
        return host.agents.write(content, to: name, agent: agent)
    }

    /// Approves the newest pairing request, or the one with this id; false if there is none.
    package func approvePairing(_ requestID: String?, now: DemoInstant) -> (approved: Bool, actions: [DemoAction]) {
        clock.set(now)
        guard let request = admission.approve(requestID, now: clock.wallMs) else { return (false, []) }
        connections.broadcast(
            "device.pair.resolved",
            ["requestId": request.id, "deviceId": request.device.id, "decision": "approved", "ts": clock.wallMs],
            scope: "operator.pairing"
        )
        return (true, connections.takeActions())
    }

    /// Connects or disconnects the node whose name contains the text; false if there is none.
    package func setNode(_ name: String, isConnected: Bool) -> Bool { nodes.connect(name, isConnected) }

    /// The commands that reached a node.
    package var nodeCalls: WireValue {
        .array(
            nodes.calls.map {
                ["node": $0.node, "command": $0.command, "key": $0.key, "params": $0.params]
            }
        )
    }

    /// Begins or ends a pause, as the gateway's host does. Releases before 2026.9.7 have none.
    package func pause(_ pause: DemoPause, now: DemoInstant) -> [DemoAction] {
        clock.set(now)
        host.enter(pause)
        return connections.takeActions()
    }

    /// Removes scopes from an open connection, as a change of its token does.
    package func withdraw(_ scopes: Set<String>, from id: DemoConnectionID) { connections[id]?.scopes.subtract(scopes) }

    /// Forgets the keys of finished sends.
    package func forgetFinishedKeys() { dispatcher.forgetFinishedKeys() }

    /// The rows of all sessions as stored on disk, by canonical key.
    package var transcripts: WireValue {
        let style = host.sessions.style
        return .object(
            host.sessions.all.sorted { $0.key < $1.key }.map { key, session in
                let rows = session.rows.enumerated().map { style.wire($0.element, seq: $0.offset + 1) }
                return WireValue.Member(name: key, value: .array(rows))
            }
        )
    }

    /// Adds a user's message to a transcript without a run or an event.
    package func restoreMessage(_ text: String, key: String, session: String, at time: Int64) {
        let row = host.sessions.row(.user(key: key), [.text(text)], at: time)
        host.sessions.restore(row, to: host.sessions.make(session))
    }

    /// The state that survives a restart; active runs and waiting messages do not. The model must not be used
    /// afterwards.
    package func disk(withTranscripts: Bool) -> DemoDisk {
        var sessions = withTranscripts ? host.sessions.all : [:]
        for session in sessions.values { session.loseMemory() }
        // A session without a run has not reached the disk yet.
        for (key, session) in sessions where session.status == nil && session.rows.isEmpty { sessions[key] = nil }
        return DemoDisk(
            devices: admission.devices,
            workspaces: host.agents.workspaces,
            sessions: sessions,
            isAfterCrash: !hasStopped
        )
    }
}
