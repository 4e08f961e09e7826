import JSONBytes

/// `sessions.patch`, `sessions.create`, `sessions.delete` and `sessions.compact`.
extension DemoSessions {
    private static let models = ["demo-1", "demo-2"]
    private static let levels = ["off", "minimal", "low", "medium", "high"]

    /// Patches a session. In every release an unknown key creates one.
    func patch(_ request: DemoRequest) -> DemoReply {
        guard let key = request.string("key").flatMap({ canonical($0) }) else {
            return .invalid("malformed session key")
        }
        if let expected = request.string("expectedSessionId"), expected != self[key]?.sessionID {
            return .invalid("expectedSessionId does not match the session")
        }
        let change = Change(request)
        if let refusal = refusal(of: change, for: key) { return .invalid(refusal) }
        let session = make(key)
        apply(change, to: session)
        announceChange(of: session, reason: "patch")
        let answer: WireValue = [
            "ok": true, "path": "/home/demo/.openclaw/agents/main/sessions/sessions.json", "key": key,
            "entry": entry(of: session),
            "resolved": wireObject(["modelProvider": "demo", "model": session.model ?? "demo-1"]),
        ]
        return .ok(answer)
    }

    func create(_ request: DemoRequest, agents: DemoAgents) -> DemoReply {
        let agent = request.string("agentId") ?? "main"
        guard agents[agent] != nil else { return .invalid("unknown agent id \"\(agent)\"") }
        let written = request.string("key") ?? "agent:\(agent):dashboard:\(newID())"
        guard let key = canonical(written) else { return .invalid("malformed session key") }
        let change = Change(request)
        if let refusal = refusal(of: change, for: key) { return .invalid(refusal) }
        let session = make(key)
        apply(change, to: session)
        announceChange(of: session, reason: "create")
        let answer: WireValue = [
            "ok": true, "key": key, "sessionId": session.sessionID, "entry": entry(of: session), "runStarted": false,
        ]
        return .ok(answer)
    }

    func compact(_ request: DemoRequest) -> DemoReply {
        guard let key = request.string("key").flatMap({ canonical($0) }) else {
            return .invalid("malformed session key")
        }
        guard let session = self[key] else {
            return .ok(["ok": true, "key": key, "compacted": false, "reason": "no sessionId"])
        }
        guard cutsLines else {
            announceChange(of: session, reason: "compact")
            let result: WireValue = ["summary": "A demonstration.", "tokensBefore": session.inputTokens]
            return .later(
                ms: compactionMs,
                .ok(["ok": true, "key": key, "compacted": true, "result": result])
            )
        }
        return .ok(["ok": true, "key": key, "compacted": false, "kept": session.rows.count])
    }

    private struct Change {
        let request: DemoRequest

        init(_ request: DemoRequest) { self.request = request }

        /// `.some(nil)` resets the setting.
        func text(_ name: String) -> String?? {
            guard let value = request.params?[name] else { return nil }
            return .some(value.string)
        }
    }

    private func refusal(of change: Change, for key: String) -> String? {
        if case .some(let label?) = change.text("label"),
            all.values.contains(where: { $0.key != key && $0.label == label })
        {
            return "label already in use: \(label)"
        }
        if case .some(let model?) = change.text("model"), !Self.models.contains(bare(model)) {
            return "model not allowed: \(model)"
        }
        if case .some(let level?) = change.text("thinkingLevel"), !Self.levels.contains(level) {
            return "invalid thinkingLevel (use \(Self.levels.joined(separator: "|")))"
        }
        let verbose = cutsLines ? ["on", "off"] : ["on", "off", "full"]
        if case .some(let level?) = change.text("verboseLevel"), !verbose.contains(level) {
            return "invalid verboseLevel (use \(verbose.map { "\"\($0)\"" }.joined(separator: "|")))"
        }
        return nil
    }

    private func bare(_ model: String) -> String {
        model.hasPrefix("demo/") ? String(model.dropFirst(5)) : model
    }

    private func apply(_ change: Change, to session: DemoSession) {
        if let label = change.text("label") { session.label = label }
        if let level = change.text("thinkingLevel") { session.thinkingLevel = level }
        if let level = change.text("verboseLevel") { session.verboseLevel = level }
        if let level = change.text("reasoningLevel") { session.reasoningLevel = level }
        if let model = change.text("model") {
            session.model = model.map(bare)
            // The second model does not think, which later releases record.
            if session.model == "demo-2", !cutsLines { session.thinkingLevel = "off" }
        }
        if let flag = change.request.bool("archived") { session.isArchived = flag }
        if let flag = change.request.bool("pinned") { session.isPinned = flag }
        if let flag = change.request.bool("unread") { session.isUnread = flag }
    }

    /// The session's entry. A real one is some hundred times as long: prompts, skills, files of the host.
    private func entry(of session: DemoSession) -> WireValue {
        [
            "sessionId": session.sessionID, "updatedAt": session.updatedAt, "label": session.label,
            "sessionFile": "/home/demo/.openclaw/agents/main/sessions/\(session.sessionID).jsonl",
            "skillsSnapshot": wireObject(["prompt": "The following skills are there: none."]),
        ]
    }
}
