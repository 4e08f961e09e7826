import Basics

/// The hello and everything it shows.
extension GatewayModel {
    func open(
        _ connection: GatewayConnection,
        _ id: String,
        _ handshake: Handshake,
        scopes: [String],
        token: DeviceRegistry.Token?,
        byDeviceToken: Bool
    ) {
        connection.isOpen = true
        connection.connectedAt = wallMs
        connection.deviceID = handshake.deviceID
        let granted = handshake.role == "operator" ? scopes : []
        connection.scopes = Set(granted).subtracting(faults.strippedScopes)
        if connection.client.mode != "cli" {
            presence[connection.key] = presenceEntry(connection, reason: "connect")
            presenceVersion += 1
        }
        var auth: WireValue?
        if let token {
            let shown: WireValue = [
                "deviceToken": token.value, "role": handshake.role, "scopes": token.scopes,
                "issuedAtMs": token.issuedAt,
            ]
            auth = shown
        } else if release >= .june {
            auth = ["role": handshake.role, "scopes": granted]
        }
        if release == .autumn {
            let method = byDeviceToken ? "device-token" : options.password == nil ? "token" : "password"
            auth = auth?.adding(["method": method])
        }
        emit(response(id, ok: hello(connection, auth: auth)), to: connection)
        afterHello(connection)
    }

    private func afterHello(_ connection: GatewayConnection) {
        if faults.oversizedBytes > 0 {
            let padding = String(repeating: "x", count: faults.oversizedBytes)
            emit(frame(event: "demo.padding", payload: ["padding": padding]), to: connection)
        }
        if GatewayFaults.strikes(&faults.garbage) {
            emit(Array("\u{7b}\"type\":\"event\",,,".utf8), to: connection)
        }
        healthVersion += 1
        broadcast("health", healthPayload, withState: true)
    }

    private func hello(_ connection: GatewayConnection, auth: WireValue?) -> WireValue {
        let seesPaths = release == .march || connection.may("operator.admin")
        let snapshot: WireValue = [
            "presence": presenceList, "health": healthPayload,
            "stateVersion": wireObject(["presence": presenceVersion, "health": healthVersion]), "uptimeMs": uptimeMs,
            "configPath": seesPaths ? "/home/demo/.openclaw/openclaw.json" : nil,
            "stateDir": seesPaths ? "/home/demo/.openclaw" : nil,
            "sessionDefaults": wireObject([
                "defaultAgentId": "main", "mainKey": options.mainKey, "mainSessionKey": mainSessionKey,
                "scope": "per-sender",
            ]),
            "authMode": seesPaths ? (options.password == nil ? "token" : "password") : nil,
        ]
        let isAutumn = release == .autumn
        return [
            "type": "hello-ok", "protocol": release.protocolVersion,
            "server": wireObject([
                "version": release.serverVersion, "bootId": isAutumn ? bootID : nil, "connId": connection.connID,
            ]),
            "features": wireObject([
                "methods": GatewayMethod.listed(for: release), "events": eventNames,
            ]),
            "snapshot": snapshot, "auth": auth,
            "policy": wireObject([
                "maxPayload": Self.maximumPayload, "maxBufferedBytes": 52_428_800,
                "tickIntervalMs": options.tickIntervalMs,
                "attachments": isAutumn
                    ? wireObject(["maxBytes": 20_971_520, "maxImageBytes": 6_291_456]) : nil,
            ]),
        ]
    }

    var uptimeMs: Int64 { Int64((now.monotonic &- startedAt.monotonic) / 1_000_000) }

    /// Changes with each start; derived, so that the model needs no random bytes for it.
    private var bootID: String { "boot-\(startedAt.wall.milliseconds)-\(startedAt.monotonic)" }

    private var eventNames: [String] {
        let later = ["session.message", "session.tool", "sessions.changed"]
        return ["connect.challenge", "agent", "chat"] + (release.hasSubscriptions ? later : []) + [
            "presence", "tick", "shutdown", "health", "heartbeat", "device.pair.requested", "device.pair.resolved",
            "exec.approval.requested", "exec.approval.resolved",
        ]
    }

    // MARK: - Presence and health

    var presenceList: [WireValue] {
        let own: WireValue = [
            "host": "demo", "version": release.version, "platform": "linux", "deviceFamily": "Linux", "mode": "gateway",
            "reason": "self", "text": "Gateway: demo · app \(release.version) · mode gateway · reason self",
            "ts": wallMs,
        ]
        return [own] + presence.sorted { $0.key < $1.key }.map(\.value)
    }

    func presenceEntry(_ connection: GatewayConnection, reason: String) -> WireValue {
        let client = connection.client
        return [
            "host": client.displayName ?? client.id, "version": client.version, "platform": client.platform,
            "deviceFamily": client.deviceFamily, "mode": client.mode, "deviceId": connection.deviceID,
            "roles": [connection.role], "scopes": connection.scopes.sorted(), "instanceId": connection.key,
            "reason": reason, "ts": wallMs, "text": "Node: \(client.displayName ?? client.id) · mode \(client.mode)",
        ]
    }

    func announcePresence() {
        presenceVersion += 1
        // A list that grew over days would be no presence: the oldest entries go.
        while presence.count > 100, let first = presence.keys.min() { presence[first] = nil }
        broadcast(
            "presence",
            ["presence": presenceList],
            scope: release == .autumn ? "operator.read" : nil,
            withState: true
        )
    }

    var healthPayload: WireValue {
        let path = "/home/demo/.openclaw/agents/main/sessions/sessions.json"
        let recent = sessions.values.sorted { $0.updatedAt > $1.updatedAt }.prefix(5).map { session in
            wireObject(["key": session.key, "updatedAt": session.updatedAt, "age": wallMs - session.updatedAt])
        }
        let listed: WireValue = ["path": path, "count": sessions.count, "recent": Array(recent)]
        let heartbeat: WireValue = [
            "enabled": false, "every": "0m", "everyMs": WireValue.null, "prompt": "demo", "target": "none",
            "ackMaxChars": 300,
        ]
        let loop: WireValue = [
            "degraded": false, "reasons": [String](), "intervalMs": 15_000, "delayP99Ms": 1, "delayMaxMs": 1,
            "utilization": 0.1, "cpuCoreRatio": 0.1,
        ]
        return [
            "ok": true, "ts": wallMs, "durationMs": 0, "eventLoop": release >= .june ? loop : nil,
            "modelPricing": release >= .june ? wireObject(["state": "ok", "sources": [String]()]) : nil,
            "channels": wireObject([:]), "channelOrder": [WireValue](),
            "channelLabels": wireObject([:]), "heartbeatSeconds": 0, "defaultAgentId": "main",
            "agents": agents.map { agent in
                wireObject([
                    "agentId": agent.id, "name": agent.name, "isDefault": agent.id == "main", "heartbeat": heartbeat,
                    "sessions": listed,
                ])
            },
            "sessions": listed,
        ]
    }
}
