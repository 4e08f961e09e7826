import Basics

/// The payloads of `hello-ok` and `health`.
extension DemoHost {
    static let maximumPayload = 26_214_400
    static let maximumBuffered = 52_428_800

    func hello(_ connection: DemoConnection, auth: WireValue?, presence: [WireValue]) -> WireValue {
        let seesPaths = release == .march || connection.may("operator.admin")
        let isAutumn = release >= .autumn
        let snapshot: WireValue = [
            "presence": presence, "health": health,
            "stateVersion": wireObject([
                "presence": connections.presenceVersion, "health": connections.healthVersion,
            ]),
            "uptimeMs": clock.uptimeMs,
            "configPath": seesPaths ? "/home/demo/.openclaw/openclaw.json" : nil,
            "stateDir": seesPaths ? "/home/demo/.openclaw" : nil,
            "sessionDefaults": wireObject([
                "defaultAgentId": "main", "mainKey": options.mainKey, "mainSessionKey": sessions.mainSessionKey,
                "scope": "per-sender",
            ]),
            "suspension": pause.phase == "accepting" ? nil : wireObject(["phase": pause.phase]),
            "authMode": seesPaths ? (options.password == nil ? "token" : "password") : nil,
        ]
        // Derived from the start time, so that the model needs no random bytes for it.
        let bootID = "boot-\(clock.startedAt.wall.milliseconds)-\(clock.startedAt.monotonic)"
        return [
            "type": "hello-ok", "protocol": release.protocolVersion,
            "server": wireObject([
                "version": release.serverVersion, "bootId": isAutumn ? bootID : nil, "connId": connection.connID,
            ]),
            "features": wireObject([
                "methods": DemoMethod.listed(for: release), "events": eventNames,
                "capabilities": release.capabilities,
            ]),
            "snapshot": snapshot, "auth": auth,
            "policy": wireObject([
                "maxPayload": Self.maximumPayload, "maxBufferedBytes": Self.maximumBuffered,
                "tickIntervalMs": options.tickIntervalMs,
                "attachments": isAutumn
                    ? wireObject(["maxBytes": 20_971_520, "maxImageBytes": 6_291_456]) : nil,
            ]),
        ]
    }

    private var eventNames: [String] {
        let later = ["session.message", "session.tool", "sessions.changed"]
        return ["connect.challenge", "agent", "chat"] + (release.hasSubscriptions ? later : []) + [
            "presence", "tick", "shutdown", "health", "cron", "device.pair.requested", "device.pair.resolved",
            "exec.approval.requested", "exec.approval.resolved",
        ] + (release.hasQuestions ? ["question.requested", "question.resolved"] : [])
            + (release.hasPauses ? ["gateway.suspension"] : [])
    }

    var health: WireValue {
        let now = clock.wallMs
        let path = "/home/demo/.openclaw/agents/main/sessions/sessions.json"
        let recent = sessions.all.values.sorted { $0.updatedAt > $1.updatedAt }.prefix(5).map { session in
            wireObject(["key": session.key, "updatedAt": session.updatedAt, "age": now - session.updatedAt])
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
            "ok": true, "ts": now, "durationMs": 0, "eventLoop": release >= .june ? loop : nil,
            "modelPricing": release >= .june ? wireObject(["state": "ok", "sources": [String]()]) : nil,
            "channels": wireObject([:]), "channelOrder": [WireValue](),
            "channelLabels": wireObject([:]), "heartbeatSeconds": 0, "defaultAgentId": "main",
            "agents": agents.workspaces.map { agent in
                wireObject([
                    "agentId": agent.id, "name": agent.name, "isDefault": agent.id == "main", "heartbeat": heartbeat,
                    "sessions": listed,
                ])
            },
            "sessions": listed,
        ]
    }
}
