import Basics

/// Agents, their files, nodes, models, usage: what the demo host consists of.
extension GatewayModel {
    func agentsList(_ request: GatewayRequest) -> GatewayReply {
        let choices: WireValue = release >= .june ? GatewaySession.thinkingChoices : [:]
        let listed = agents.map { agent -> WireValue in
            let name = agent.identityField("name")
            let emoji = agent.identityField("emoji") ?? agent.emoji
            let identity: WireValue = ["name": name, "theme": agent.theme, "emoji": emoji]
            let hasIdentity = name != nil || emoji != nil
            let base: WireValue = [
                "id": agent.id, "name": agent.name, "identity": hasIdentity ? identity : nil,
                "workspace": release >= .june ? agent.path : nil,
                "model": release >= .june ? wireObject(["primary": "demo/demo-1"]) : nil,
                "agentRuntime": release >= .june ? GatewaySession.agentRuntime : nil,
            ]
            return base.adding(choices)
        }
        return .ok(["defaultId": "main", "mainKey": options.mainKey, "scope": "per-sender", "agents": listed])
    }

    func agentIdentity(_ request: GatewayRequest) -> GatewayReply {
        let fromKey = request.string("sessionKey").flatMap { canonical($0) }.map { SessionKey.agent(of: $0) }
        let id = request.string("agentId") ?? fromKey ?? "main"
        guard let agent = agent(id) else { return .invalid("unknown agent id \"\(id)\"") }
        let avatar = agent.identityField("avatar")
        return .ok([
            "agentId": id, "name": agent.identityField("name") ?? (id == "main" ? "Assistant" : agent.name),
            "avatar": avatar ?? "A", "avatarStatus": release >= .june ? (avatar == nil ? "none" : "remote") : nil,
            "avatarReason": release >= .june && avatar == nil ? "missing" : nil,
            "emoji": agent.identityField("emoji") ?? agent.emoji,
        ])
    }

    // MARK: - Files

    private func fileEntry(_ agent: AgentWorkspace, _ name: String, withContent: Bool) -> WireValue {
        let path = "\(agent.path)/\(name)"
        guard let file = agent.files[name] else { return ["name": name, "path": path, "missing": true] }
        return [
            "name": name, "path": path, "missing": false, "size": file.content.count, "updatedAtMs": file.updatedAt,
            "hash": release.hasHashGuards ? Hex.encode(primitives.sha256(file.content)) : nil,
            "content": withContent ? String(decoding: file.content, as: UTF8.self) : nil,
        ]
    }

    private func workspace(_ request: GatewayRequest) -> AgentWorkspace? {
        request.string("agentId").flatMap { agent($0) }
    }

    func filesList(_ request: GatewayRequest) -> GatewayReply {
        guard let agent = workspace(request) else { return .invalid("unknown agent id") }
        var names = AgentWorkspace.fileNames
        if agent.files[AgentWorkspace.alternateName] != nil { names.append(AgentWorkspace.alternateName) }
        return .ok([
            "agentId": agent.id, "workspace": agent.path,
            "files": names.map { fileEntry(agent, $0, withContent: false) },
        ])
    }

    func filesGet(_ request: GatewayRequest) -> GatewayReply {
        guard let agent = workspace(request) else { return .invalid("unknown agent id") }
        let name = request.string("name") ?? ""
        guard AgentWorkspace.isAllowed(name) else { return .invalid("unsupported file \"\(name)\"") }
        defer { editAfterRead(agent.id, name) }
        return .ok([
            "agentId": agent.id, "workspace": agent.path, "file": fileEntry(agent, name, withContent: true),
        ])
    }

    private func editAfterRead(_ id: String, _ name: String) {
        guard let place = agents.firstIndex(where: { $0.id == id }), agents[place].files[name] != nil,
            GatewayFaults.strikes(&faults.editAfterRead)
        else { return }
        agents[place].files[name]?.content += Array("\nAdded by someone else at \(wallMs).\n".utf8)
        agents[place].files[name]?.updatedAt = wallMs
    }

    func filesSet(_ request: GatewayRequest) -> GatewayReply {
        guard let id = request.string("agentId"), let place = agents.firstIndex(where: { $0.id == id }) else {
            return .invalid("unknown agent id")
        }
        let name = request.string("name") ?? ""
        guard AgentWorkspace.isAllowed(name) else { return .invalid("unsupported file \"\(name)\"") }
        let old = agents[place].files[name]
        if let workspace = request.string("expectedWorkspace"), workspace != agents[place].path {
            return conflict("workspace changed", old)
        }
        if let hash = request.string("expectedHash"), hash != old.map({ Hex.encode(primitives.sha256($0.content)) }) {
            return conflict("file changed since it was read", old)
        }
        if request.bool("expectedMissing") == true, old != nil { return conflict("file exists", old) }
        let content = Array((request.string("content") ?? "").utf8)
        agents[place].files[name] = .init(content: content, updatedAt: wallMs)
        return .ok([
            "ok": true, "agentId": id, "workspace": agents[place].path,
            "file": fileEntry(agents[place], name, withContent: true),
        ])
    }

    private func conflict(_ message: String, _ file: AgentWorkspace.File?) -> GatewayReply {
        let hash = file.map { Hex.encode(primitives.sha256($0.content)) }
        return .failed(
            GatewayError("INVALID_REQUEST", message, details: ["code": "FILE_CONFLICT", "currentHash": hash])
        )
    }

    // MARK: - Nodes

    private static let nodeID = "demo-phone"
    private static let nodeCommands = [
        "canvas.eval", "canvas.hide", "canvas.navigate", "canvas.present", "canvas.snapshot", "device.info",
        "location.get",
        "system.notify",
    ]

    private var node: WireValue {
        [
            "nodeId": Self.nodeID, "displayName": "Demo phone", "platform": "iOS 26.0", "version": "1.0.0",
            "deviceFamily": "iPhone", "caps": ["canvas", "location"], "commands": Self.nodeCommands, "paired": true,
            "connected": true, "connectedAtMs": startedAt.wall.milliseconds,
        ]
    }

    func nodeList(_ request: GatewayRequest) -> GatewayReply { .ok(["ts": wallMs, "nodes": [node]]) }

    func nodeDescribe(_ request: GatewayRequest) -> GatewayReply {
        guard request.string("nodeId") == Self.nodeID else { return .invalid("unknown nodeId") }
        return .ok(wireObject(["ts": wallMs]).adding(node))
    }

    func nodeInvoke(_ request: GatewayRequest) -> GatewayReply {
        guard let command = request.string("command"), let nodeID = request.string("nodeId") else {
            return .invalid("invalid node.invoke params")
        }
        guard nodeID == Self.nodeID else {
            return .failed(GatewayError("UNAVAILABLE", "node not connected", details: ["code": "NOT_CONNECTED"]))
        }
        guard Self.nodeCommands.contains(command) else {
            return .failed(
                GatewayError(
                    "INVALID_REQUEST",
                    "node command not allowed: \(command)",
                    details: ["reason": "command not allowlisted", "command": command]
                )
            )
        }
        if command == "canvas.eval" {
            let nested: WireValue = ["code": "NODE_BACKGROUND_UNAVAILABLE", "message": "node is in the background"]
            var error = GatewayError(
                "UNAVAILABLE",
                "node is in the background",
                details: ["code": "QUEUED_UNTIL_FOREGROUND", "nodeError": nested]
            )
            error.isRetryable = true
            error.retryAfterMs = 5_000
            return .failed(error)
        }
        let payload: WireValue =
            switch command {
            case "location.get": ["lat": 52.52, "lon": 13.405, "accuracyMeters": 25]
            case "device.info": ["model": "demo", "battery": 0.8]
            case "canvas.snapshot": ["format": "png", "base64": Self.onePixel]
            default: ["done": true]
            }
        return .ok([
            "ok": true, "nodeId": nodeID, "command": command, "payload": payload,
            "payloadJSON": String(decoding: payload.bytes, as: UTF8.self),
        ])
    }

    /// The smallest transparent PNG.
    private static let onePixel =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

    // MARK: - Status

    func health(_ request: GatewayRequest) -> GatewayReply { .ok(healthPayload) }

    func status(_ request: GatewayRequest) -> GatewayReply {
        .ok([
            "runtimeVersion": release >= .june ? release.version : nil, "channelSummary": [WireValue](),
            "queuedSystemEvents": [WireValue](), "heartbeat": wireObject(["defaultAgentId": "main"]),
            "sessions": wireObject(["count": sessions.count]),
        ])
    }

    func systemPresence(_ request: GatewayRequest) -> GatewayReply { .ok(.array(presenceList)) }

    func gatewayIdentity(_ request: GatewayRequest) -> GatewayReply {
        let key = primitives.sha256(Array("demo gateway".utf8))
        return .ok(["deviceId": Hex.encode(primitives.sha256(key)), "publicKey": Base64.encode(key, as: .url)])
    }

    func modelsList(_ request: GatewayRequest) -> GatewayReply {
        let models = [("demo-1", "Demo One", true), ("demo-2", "Demo Two", false)].map {
            id,
            name,
            reasons -> WireValue in
            [
                "id": id, "name": name, "provider": "demo", "available": release >= .june ? true : nil,
                "contextWindow": 200_000, "reasoning": reasons,
            ]
        }
        return .ok(["models": models])
    }

    func usageStatus(_ request: GatewayRequest) -> GatewayReply {
        let windows: [WireValue] = [
            ["label": "5h", "usedPercent": 12, "resetAt": wallMs + 9_000_000],
            ["label": "Week", "usedPercent": 34.5, "resetAt": wallMs + 400_000_000],
        ]
        return .ok([
            "updatedAt": wallMs,
            "providers": [wireObject(["provider": "demo", "displayName": "Demo", "windows": windows, "plan": "Demo"])],
        ])
    }

    func usageCost(_ request: GatewayRequest) -> GatewayReply {
        let input = sessions.values.reduce(0) { $0 + $1.inputTokens }
        let output = sessions.values.reduce(0) { $0 + $1.outputTokens }
        let cost = Double(input) / 1_000_000 + Double(output) / 500_000
        let totals: WireValue = [
            "input": input, "output": output, "cacheRead": 0, "cacheWrite": 0, "totalTokens": input + output,
            "totalCost": cost, "inputCost": Double(input) / 1_000_000, "outputCost": Double(output) / 500_000,
            "cacheReadCost": 0, "cacheWriteCost": 0, "missingCostEntries": 0,
        ]
        let day = wireObject(["date": String(now.wall.rfc3339.prefix(10))]).adding(totals)
        return .ok(["updatedAt": wallMs, "days": 30, "daily": [day], "totals": totals])
    }
}
