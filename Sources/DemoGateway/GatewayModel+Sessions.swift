import JSONBytes

/// `sessions.*` and the events subscribers get.
extension GatewayModel {
    private static let thinkingLevels = ["off", "minimal", "low", "medium", "high", "xhigh"]

    // MARK: - Events

    func subscribers(of sessionKey: String) -> [GatewayConnection] {
        connections.values.filter {
            $0.isOpen && ($0.subscribesToSessions || $0.subscribedKeys.contains(sessionKey)) && $0.may("operator.read")
        }
    }

    /// A row was written; results of tools are not announced.
    func sessionMessage(_ row: TranscriptRow, _ session: GatewaySession) {
        if case .toolResult = row.kind { return }
        guard release.hasSubscriptions else { return }
        let seq = session.rows.count
        send(
            "session.message",
            [
                "sessionKey": session.key, "agentId": session.agentID,
                "message": style.wire(row, seq: seq, isEvent: true), "messageId": row.id, "messageSeq": seq,
                "session": session.row(release: release, hasActiveRun: activeRuns[session.key] != nil),
            ],
            to: subscribers(of: session.key)
        )
    }

    func sessionChanged(_ session: GatewaySession, _ what: WireValue) {
        guard release.hasSubscriptions else { return }
        let head: WireValue = ["sessionKey": session.key, "agentId": session.agentID]
        let tail: WireValue = [
            "ts": wallMs, "session": session.row(release: release, hasActiveRun: activeRuns[session.key] != nil),
        ]
        send(
            "sessions.changed",
            head.adding(what).adding(tail),
            to: connections.values.filter { $0.subscribesToSessions && $0.may("operator.read") }
        )
    }

    func sessionsSubscribe(_ request: GatewayRequest) -> GatewayReply {
        request.connection.subscribesToSessions = true
        return .ok(["subscribed": true])
    }

    func sessionsUnsubscribe(_ request: GatewayRequest) -> GatewayReply {
        request.connection.subscribesToSessions = false
        return .ok(["subscribed": false])
    }

    func messagesSubscribe(_ request: GatewayRequest) -> GatewayReply {
        guard let key = request.string("key").flatMap({ canonical($0) }) else {
            return .invalid("malformed session key")
        }
        // One client's list stays as bounded as the sessions themselves.
        if request.connection.subscribedKeys.count < Self.sessionLimit { request.connection.subscribedKeys.insert(key) }
        return .ok(["subscribed": true, "key": key])
    }

    func messagesUnsubscribe(_ request: GatewayRequest) -> GatewayReply {
        guard let key = request.string("key").flatMap({ canonical($0) }) else {
            return .invalid("malformed session key")
        }
        request.connection.subscribedKeys.remove(key)
        return .ok(["subscribed": false, "key": key])
    }

    // MARK: - Reading

    var modelDefaults: WireValue {
        let base: WireValue = ["modelProvider": "demo", "model": "demo-1", "contextTokens": 200_000]
        return release >= .june ? base.adding(GatewaySession.thinkingChoices) : base
    }

    func sessionsList(_ request: GatewayRequest) -> GatewayReply {
        var found = sessions.values.sorted { ($0.updatedAt, $1.key) > ($1.updatedAt, $0.key) }
        if let agentID = request.string("agentId") { found = found.filter { $0.agentID == agentID } }
        if let label = request.string("label") { found = found.filter { $0.label == label } }
        if let minutes = request.int("activeMinutes") {
            let (span, isOver) = minutes.multipliedReportingOverflow(by: 60_000)
            found = found.filter { isOver || $0.updatedAt >= wallMs - min(span, wallMs) }
        }
        if let search = request.string("search")?.lowercased(), !search.isEmpty {
            found = found.filter { $0.key.contains(search) || $0.label?.lowercased().contains(search) == true }
        }
        let total = found.count
        let offset = min(Int(clamping: request.int("offset") ?? 0), total)
        let limit = Int(clamping: request.int("limit") ?? (release >= .june ? 100 : Int64(Self.sessionLimit)))
        let shown = found.dropFirst(offset).prefix(limit)
        let rows = shown.map { session -> WireValue in
            let row = session.row(release: release, hasActiveRun: activeRuns[session.key] != nil)
            let first = session.rows.first { $0.isUser }?.plainText
            let last = session.rows.last { $0.role == "assistant" }?.plainText
            return row.adding([
                "derivedTitle": request.bool("includeDerivedTitles") == true
                    ? first.map { String($0.prefix(60)) } : nil,
                "lastMessagePreview": request.bool("includeLastMessage") == true
                    ? last.map { String($0.prefix(200)) } : nil,
            ])
        }
        let end = offset + rows.count
        var result: WireValue = [
            "ts": wallMs, "path": "(multiple)", "count": rows.count,
            "defaults": modelDefaults,
            "sessions": rows,
        ]
        if release >= .june {
            let next = end < total ? WireValue.int(Int64(end)) : .null
            result = result.adding([
                "totalCount": total, "limitApplied": limit, "nextOffset": next, "hasMore": end < total,
            ])
        }
        return .ok(result)
    }

    func sessionsPreview(_ request: GatewayRequest) -> GatewayReply {
        let limit = Int(clamping: request.int("limit") ?? 12)
        let characters = Int(clamping: request.int("maxChars") ?? 240)
        let keys = (request.params?["keys"]?.elements.compactMap(\.string) ?? []).prefix(64)
        let previews = keys.map { key -> WireValue in
            guard let session = canonical(key).flatMap({ sessions[$0] }) else {
                return ["key": key, "status": "missing", "items": [WireValue]()]
            }
            let items = session.rows.suffix(limit).compactMap { row -> WireValue? in
                let text = row.plainText
                let role = row.role == "toolResult" ? "tool" : row.role
                return text.isEmpty ? nil : ["role": role, "text": String(text.prefix(characters))]
            }
            return ["key": key, "status": items.isEmpty ? "empty" : "ok", "items": items]
        }
        return .ok(["ts": wallMs, "previews": previews])
    }

    func sessionsResolve(_ request: GatewayRequest) -> GatewayReply {
        let wanted = [request.string("key"), request.string("sessionId"), request.string("label")].compactMap(\.self)
        guard wanted.count == 1 else {
            return .invalid(
                wanted.isEmpty
                    ? "Either key, sessionId or label is required" : "Provide only one of key, sessionId, label"
            )
        }
        let found = sessions.values.first { session in
            if let key = request.string("key") { return session.key == canonical(key) }
            if let id = request.string("sessionId") { return session.sessionID == id }
            return session.label == request.string("label")
        }
        guard let found else { return .invalid("No session found: \(wanted[0])") }
        return .ok(["ok": true, "key": found.key])
    }

    // MARK: - Changing

    func sessionsPatch(_ request: GatewayRequest) -> GatewayReply {
        if request.connection.client.mode == "webchat" {
            return .invalid("webchat clients cannot patch sessions; use chat.send for session-scoped updates")
        }
        guard let key = request.string("key").flatMap({ canonical($0) }), let params = request.params else {
            return .invalid("malformed session key")
        }
        if let failure = patchFailure(params, key: key) { return .invalid(failure) }
        let session = session(key)
        for (name, value) in params.members {
            let text = value.string
            switch name {
            case "label": session.label = text
            case "thinkingLevel": session.thinkingLevel = text
            case "verboseLevel": session.verboseLevel = text
            case "reasoningLevel": session.reasoningLevel = text
            case "model": session.model = text.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
            default: break
            }
        }
        session.updatedAt = wallMs
        sessionChanged(session, ["reason": "patch"])
        return .ok([
            "ok": true, "path": "/home/demo/.openclaw/agents/\(session.agentID)/sessions/sessions.json", "key": key,
            "entry": session.entry(release: release),
            "resolved": wireObject([
                "modelProvider": "demo", "model": session.model ?? "demo-1",
                "agentRuntime": release >= .june ? GatewaySession.agentRuntime : nil,
            ]),
        ])
    }

    private func patchFailure(_ params: JSONValue, key: String) -> String? {
        if let level = params["verboseLevel"]?.string, !["off", "on", "full"].contains(level) {
            return "invalid verboseLevel (use \"on\"|\"off\"\(release >= .june ? "|\"full\"" : ""))"
        }
        if let level = params["reasoningLevel"]?.string, !["off", "on", "stream"].contains(level) {
            return "invalid reasoningLevel (use \"on\"|\"off\"|\"stream\")"
        }
        if let level = params["thinkingLevel"]?.string, !Self.thinkingLevels.contains(level) {
            return "invalid thinkingLevel (use \(Self.thinkingLevels.joined(separator: "|")))"
        }
        if let label = params["label"]?.string, sessions.values.contains(where: { $0.label == label && $0.key != key })
        {
            return "label already in use: \(label)"
        }
        if let model = params["model"]?.string,
            !["demo-1", "demo-2", "demo/demo-1", "demo/demo-2"].contains(model)
        {
            return "model not allowed: \(model)"
        }
        return nil
    }

    func sessionsReset(_ request: GatewayRequest) -> GatewayReply {
        guard let key = request.string("key").flatMap({ canonical($0) }) else {
            return .invalid("malformed session key")
        }
        stopRuns(of: key)
        let session = session(key)
        session.reset(sessionID: primitives.uuid(), now: wallMs)
        sessionChanged(session, ["reason": "reset"])
        return .ok(["ok": true, "key": key, "entry": session.entry(release: release)])
    }

    func sessionsDelete(_ request: GatewayRequest) -> GatewayReply {
        guard let key = request.string("key").flatMap({ canonical($0) }) else {
            return .invalid("malformed session key")
        }
        if key == mainSessionKey { return .invalid("Cannot delete the main session (\(key)).") }
        stopRuns(of: key)
        let removed = sessions.removeValue(forKey: key)
        if let removed { sessionChanged(removed, ["reason": "delete"]) }
        return .ok(["ok": true, "key": key, "deleted": removed != nil, "archived": [WireValue]()])
    }

    func sessionsCompact(_ request: GatewayRequest) -> GatewayReply {
        guard let key = request.string("key").flatMap({ canonical($0) }) else {
            return .invalid("malformed session key")
        }
        guard let session = sessions[key] else { return .ok(["ok": true, "key": key, "compacted": false]) }
        let keep = Int(clamping: request.int("maxLines") ?? 400)
        guard release >= .june || session.rows.count > keep else {
            return .ok(["ok": true, "key": key, "compacted": false, "kept": session.rows.count])
        }
        let kept = Array(session.rows.suffix(release >= .june ? min(keep, 4) : keep))
        guard kept.count < session.rows.count else {
            return .ok(["ok": true, "key": key, "compacted": false, "kept": session.rows.count])
        }
        session.rows = (release >= .june ? [row(.compaction, [])] : []) + kept
        sessionChanged(session, ["reason": "compact"])
        guard release >= .june else {
            return .ok(["ok": true, "key": key, "compacted": true, "kept": kept.count, "archived": "demo.jsonl.bak"])
        }
        return .ok([
            "ok": true, "key": key, "compacted": true,
            "result": wireObject([
                "summary": "The user tried the demo.", "firstKeptEntryId": kept.first?.id, "tokensBefore": 0,
            ]),
        ])
    }

    private func stopRuns(of key: String) {
        queues[key] = nil
        if let active = activeRuns[key], let run = runs[active] { abort(run, reason: "stop") }
    }
}
