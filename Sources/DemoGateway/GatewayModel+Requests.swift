import JSONBytes

/// Frames on an open connection: envelope, role, scope, parameters, method, response.
extension GatewayModel {
    /// Wrong-role calls in a row before the connection is closed.
    private static let wrongRoleLimit = 10

    func handleRequest(_ bytes: [UInt8], from connection: GatewayConnection) {
        if bytes.count > Self.maximumPayload { return close(connection, 1009, "") }
        guard let document = try? JSONDocument(parsing: bytes, limits: .gateway) else {
            return emit(response("invalid", error: .invalid("invalid request frame: must be object")), to: connection)
        }
        let frame = document.root
        if let failure = envelopeFailure(frame) {
            let id = frame["id"].flatMap { $0.string ?? $0.int.map(String.init) } ?? "invalid"
            return emit(response(id, error: .invalid("invalid request frame: \(failure)")), to: connection)
        }
        let request = GatewayRequest(
            connection: connection,
            id: frame["id"]?.string ?? "invalid",
            method: frame["method"]?.string ?? "",
            params: frame["params"]
        )
        switch reply(to: request) {
        case .ok(let payload): emit(response(request.id, ok: payload), to: connection)
        case .failed(let error, let payload): emit(response(request.id, error: error, payload: payload), to: connection)
        case .handled: break
        }
        if connection.wrongRoleCalls > Self.wrongRoleLimit { close(connection, 1008, "repeated unauthorized calls") }
    }

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

    private func reply(to request: GatewayRequest) -> GatewayReply {
        let connection = request.connection
        if request.method == "connect" { return .invalid("connect is only valid as the first request") }
        let isNodeMethod = GatewayMethod.nodeOnly.contains(request.method)
        guard isNodeMethod == (connection.role == "node") else {
            connection.wrongRoleCalls += 1
            return .invalid("unauthorized role: \(connection.role)")
        }
        connection.wrongRoleCalls = 0
        guard !isNodeMethod else { return .ok(["ok": true]) }
        let method = GatewayMethod.named(request.method, release: release)
        // What is not known is nobody's but the administrator's.
        let scope = method == nil ? "operator.admin" : method?.scope
        if let scope, !connection.may(scope) { return missingScope(scope) }
        guard let method else { return .invalid("unknown method: \(request.method)") }
        if let rules = method.rules,
            let failure = ParamsRule.failure(in: request.params, against: rules, release: release)
        {
            return .invalid("invalid \(method.name) params: \(failure)")
        }
        return method.run(self)(request)
    }

    /// Both wire forms: a code and details of its own, or `INVALID_REQUEST` with the scope in the text.
    private func missingScope(_ scope: String) -> GatewayReply {
        let message = "missing scope: \(scope)"
        guard release.hasForbiddenCode else { return .invalid(message) }
        return .failed(
            GatewayError(
                "FORBIDDEN",
                message,
                details: ["code": "MISSING_SCOPE", "missingScope": scope, "requiredScopes": [scope]]
            )
        )
    }

    func response(_ id: String, ok payload: WireValue) -> [UInt8] {
        wireObject(["type": "res", "id": id, "ok": true, "payload": payload]).bytes
    }

    func response(_ id: String, error: GatewayError, payload: WireValue? = nil) -> [UInt8] {
        wireObject(["type": "res", "id": id, "ok": false, "payload": payload, "error": error.wire]).bytes
    }

    // MARK: - Sessions by key

    /// The session of a canonical key; made when it is not there yet.
    func session(_ canonical: String) -> GatewaySession {
        if let found = sessions[canonical] { return found }
        if sessions.count >= Self.sessionLimit {
            let idle = sessions.values.filter { activeRuns[$0.key] == nil && $0.key != mainSessionKey }
            if let oldest = idle.min(by: { $0.updatedAt < $1.updatedAt }) { sessions[oldest.key] = nil }
        }
        let made = GatewaySession(key: canonical, sessionID: primitives.uuid(), now: wallMs)
        sessions[canonical] = made
        return made
    }

    func canonical(_ key: String) -> String? { SessionKey.canonical(key, mainKey: options.mainKey) }

    func agent(_ id: String) -> AgentWorkspace? { agents.first { $0.id == id } }
}
