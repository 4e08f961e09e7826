import Basics
import JSONBytes

/// What the control surface answers: a status, a JSON body, and what is to be done on the connections.
package struct ControlAnswer {
    package var status: Int
    package var contentType = "application/json"
    package var body: [UInt8]
    package var actions: [GatewayAction] = []
}

/// `/demo/...`: faults, restarts, pairing and the record, by plain HTTP on loopback.
extension GatewayModel {
    package func control(
        method: String,
        path: String,
        query: [(name: String, value: String)],
        body: [UInt8],
        now: GatewayInstant
    ) -> ControlAnswer {
        self.now = now
        func value(_ name: String) -> String? { query.last { $0.name == name }?.value }
        func isOn(_ name: String) -> Bool { ["true", "1", "on", "yes", ""].contains(value(name) ?? "false") }
        switch (method, path) {
        case ("GET", "/health"), ("GET", "/healthz"): return answer(200, ["ok": true, "status": "live"])
        case ("GET", "/ready"), ("GET", "/readyz"): return answer(200, ["ready": true])
        case ("GET", "/demo/state"): return answer(200, controlState)
        case ("GET", "/demo/faults"): return answer(200, faults.described)
        case ("POST", "/demo/faults"), ("PATCH", "/demo/faults"): return setFaults(query, body)
        case ("DELETE", "/demo/faults"):
            faults = GatewayFaults()
            return answer(200, faults.described)
        case ("POST", "/demo/restart"):
            let down = min(max(Int(value("down") ?? "0") ?? 0, 0), 3_600_000)
            let actions = restart(keepsTranscripts: isOn("keep"), crashes: isOn("crash"), downMs: down, now: now)
            return answer(200, ["restarted": true], actions)
        case ("POST", "/demo/drop"):
            let actions = dropAll(now: now)
            return answer(200, ["dropped": actions.count], actions)
        case ("POST", "/demo/tick"):
            broadcast("tick", ["ts": wallMs])
            return answer(200, ["sent": true], takeActions())
        case ("POST", "/demo/garbage"):
            for connection in openConnections {
                if isOn("raw") {
                    emitRaw([0xff, 0xfe, 0x00, 0x81, 0x7f], to: connection)
                } else {
                    emit(Array((value("text") ?? "]]garbage[[").utf8), to: connection)
                }
            }
            return answer(200, ["sent": openConnections.count], takeActions())
        case ("POST", "/demo/oversized"):
            let bytes = min(max(Int(value("bytes") ?? "27000000") ?? 27_000_000, 1), 64 << 20)
            let padding = String(repeating: "x", count: bytes)
            for connection in openConnections {
                emit(frame(event: "demo.padding", payload: ["padding": padding]), to: connection)
            }
            return answer(200, ["sent": openConnections.count], takeActions())
        case ("GET", "/demo/record"):
            return ControlAnswer(
                status: 200,
                contentType: "application/x-ndjson",
                body: recorded.lines.flatMap { $0 + [0x0a] }
            )
        case ("POST", "/demo/say"): return say(value("session") ?? mainSessionKey, value("text") ?? text(body))
        case ("GET", "/demo/file"), ("PUT", "/demo/file"), ("DELETE", "/demo/file"):
            return file(method, agentID: value("agent") ?? "main", name: value("name") ?? "IDENTITY.md", body)
        default: return pairingControl(method, path, value)
        }
    }

    private func pairingControl(_ method: String, _ path: String, _ value: (String) -> String?) -> ControlAnswer {
        switch (method, path) {
        case ("GET", "/demo/pairing"):
            devices.expire(now: wallMs)
            return answer(
                200,
                [
                    "pending": devices.pending.map(\.described),
                    "paired": devices.devices.values.sorted { $0.id < $1.id }.map(\.described),
                ]
            )
        case ("POST", "/demo/pairing/approve"):
            guard let approved = approvePairing(value("id")) else { return missing("no such pairing request") }
            return answer(200, ["approved": approved.requestID, "deviceId": approved.device.id], takeActions())
        case ("POST", "/demo/pairing/reject"):
            guard let rejected = rejectPairing(value("id")) else { return missing("no such pairing request") }
            return answer(200, ["rejected": rejected.requestID, "deviceId": rejected.deviceID], takeActions())
        case ("POST", "/demo/pairing/revoke"), ("POST", "/demo/pairing/rotate"), ("POST", "/demo/pairing/remove"):
            guard let id = value("device") ?? devices.devices.keys.min(), var device = devices.devices[id] else {
                return missing("no such device")
            }
            for role in device.tokens.keys {
                if path.hasSuffix("revoke") { device.tokens[role]?.isRevoked = true }
                if path.hasSuffix("rotate") { device.tokens[role]?.value = newToken() }
            }
            devices.devices[id] = path.hasSuffix("remove") ? nil : device
            closeConnections(of: id)
            return answer(200, ["deviceId": id], takeActions())
        default: return missing("no such control; try GET /demo/state")
        }
    }

    private func setFaults(_ query: [(name: String, value: String)], _ body: [UInt8]) -> ControlAnswer {
        var pairs = query.map { ($0.name, $0.value) }
        if !body.isEmpty {
            guard let document = try? JSONDocument(parsing: body), document.root.kind == .object else {
                return answer(400, ["error": "the body has to be a JSON object of faults"])
            }
            for (name, value) in document.root.members {
                let texts = value.elements.compactMap(\.string)
                pairs.append(
                    (name, value.kind == .array ? texts.joined(separator: ",") : value.string ?? text(Array(value.raw)))
                )
            }
        }
        var changed = faults
        for (name, value) in pairs {
            do throws(DemoGatewayOptionError) {
                try changed.set(name, to: value)
            } catch {
                return answer(400, ["error": error.description, "known": GatewayFaults.names])
            }
        }
        faults = changed
        return answer(200, faults.described)
    }

    /// A run that nobody on this gateway's sockets started, as from another channel.
    private func say(_ key: String, _ text: String) -> ControlAnswer {
        guard let canonical = canonical(key), !text.isEmpty else {
            return answer(400, ["error": "session and text are needed"])
        }
        guard activeRuns[canonical] == nil else { return answer(409, ["error": "the session is busy"]) }
        let id = primitives.uuid()
        let message = QueuedMessage(
            key: id,
            rawKey: canonical,
            message: text,
            userRow: row(.user(key: nil), [.text(text)]),
            owner: ConnectionID(0),
            ownerDevice: nil,
            acceptedAt: wallMs
        )
        start(message, id: id, in: session(canonical))
        return answer(200, ["runId": id, "sessionKey": canonical], takeActions())
    }

    /// The workspace as somebody with an editor on the host would see it.
    private func file(_ method: String, agentID: String, name: String, _ body: [UInt8]) -> ControlAnswer {
        guard let place = agents.firstIndex(where: { $0.id == agentID }), AgentWorkspace.isAllowed(name) else {
            return missing("no such agent or file")
        }
        if method == "PUT" { agents[place].files[name] = .init(content: body, updatedAt: wallMs) }
        if method == "DELETE", agents[place].files.removeValue(forKey: name) != nil {
            return answer(200, ["removed": name])
        }
        guard let file = agents[place].files[name] else { return missing("the file does not exist") }
        return ControlAnswer(status: 200, contentType: "text/markdown; charset=utf-8", body: file.content)
    }

    private var openConnections: [GatewayConnection] {
        connections.values.filter(\.isOpen).sorted { $0.id < $1.id }
    }

    private var controlState: WireValue {
        [
            "release": release.rawValue, "protocol": release.protocolVersion, "version": release.version,
            "connections": connections.count, "open": openConnections.count, "sessions": sessions.count,
            "activeRuns": runs.keys.sorted(), "accepted": accepted, "uptimeMs": uptimeMs,
            "pendingApprovals": approvals.map(\.id), "faults": faults.described,
            "lastClose": lastClose.map { (close: (code: UInt16, reason: String)) -> WireValue in
                ["code": Int(close.code), "reason": close.reason]
            },
        ]
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    private func answer(_ status: Int, _ body: WireValue, _ actions: [GatewayAction] = []) -> ControlAnswer {
        ControlAnswer(status: status, body: body.bytes + [0x0a], actions: actions)
    }

    private func missing(_ text: String) -> ControlAnswer { answer(404, ["error": text]) }
}
