import Basics
import JSONBytes

/// `chat.*`: messages are accepted, become runs one after another in each session, and can be read and aborted.
final class DemoChat {
    private let host: DemoHost
    private var runs: [String: DemoRun] = [:]
    private var finishedKeys = FinishedKeys()

    private var release: DemoRelease { host.release }
    private var clock: DemoClock { host.clock }
    private var sessions: DemoSessions { host.sessions }

    init(_ host: DemoHost) { self.host = host }

    var activeRuns: [String] { runs.keys.sorted() }

    func forgetFinishedKeys() { finishedKeys = FinishedKeys() }

    // MARK: - Sending

    private static let stopPhrases: Set<String> = [
        "stop", "esc", "abort", "wait", "exit", "interrupt", "halt", "stopp", "pare", "detente", "arrête", "停止", "やめて",
        "стоп", "please stop", "stop please", "do not do that", "don't do that", "stop openclaw", "stop action",
        "stop run", "stop agent",
    ]

    private static func isStop(_ message: String) -> Bool {
        var text = message.lowercased()
        while let last = text.last, " \n\t.!?,;:…".contains(last) { text.removeLast() }
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        return text == "/stop" || stopPhrases.contains(text)
    }

    func send(_ request: DemoRequest) -> DemoReply {
        guard let rawKey = request.string("sessionKey"), let key = request.string("idempotencyKey"),
            let sent = request.string("message")
        else { return .invalid("invalid chat.send params") }
        if request.params?["systemInputProvenance"] != nil || request.params?["systemProvenanceReceipt"] != nil {
            return .invalid("system provenance fields require admin scope")
        }
        if sent.unicodeScalars.contains("\0") { return .invalid("message must not contain null bytes") }
        let text = String(String.UnicodeScalarView(sent.unicodeScalars.filter(Self.isKept)))
        let attachments: [TranscriptRow.Block]
        do throws(DemoError) {
            attachments = try DemoAttachments.blocks(request.params?["attachments"], release)
        } catch {
            return .failed(error)
        }
        if text.allSatisfy(\.isWhitespace), attachments.isEmpty { return .invalid("message or attachment required") }
        guard let canonical = sessions.canonical(rawKey) else { return .invalid("malformed session key: \(rawKey)") }
        let agentID = DemoSessionKey.agent(of: canonical)
        if release >= .june, host.agents[agentID] == nil {
            return .invalid("Agent \"\(agentID)\" no longer exists in configuration")
        }
        if Self.isStop(text) { return .ok(abortResult(abortAll(in: sessions[canonical], reason: "stop"))) }
        if let answer = answerForKnownKey(key) { return answer }
        accept(
            DemoMessage(
                key: key,
                rawKey: rawKey,
                text: text,
                userRow: sessions.row(.user(key: key), (text.isEmpty ? [] : [.text(text)]) + attachments),
                owner: request.connection.id,
                ownerDevice: request.connection.deviceID,
                acceptedAt: clock.wallMs
            ),
            in: canonical
        )
        return .ok(["runId": key, "status": "started"])
    }

    /// Control characters are removed, line ends and tabs stay.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 && scalar.value != 0x7f || scalar == "\n" || scalar == "\t" || scalar == "\r"
    }

    /// The answer for a key whose run is active or ended lately; the text of the repeat does not matter.
    private func answerForKnownKey(_ key: String) -> DemoReply? {
        let isWaiting = sessions.all.values.contains { $0.waiting.contains { $0.key == key } }
        if runs[key] != nil || (isWaiting && !release.renamesQueuedRuns) {
            return .ok(["runId": key, "status": "in_flight"])
        }
        guard let outcome = finishedKeys.outcome(for: key, now: clock.wallMs) else { return nil }
        if outcome.isError {
            return .failed(
                DemoError("UNAVAILABLE", outcome.summary),
                payload: ["runId": key, "status": "error", "summary": outcome.summary]
            )
        }
        return .ok(["runId": key, "status": "ok"])
    }

    private func accept(_ message: DemoMessage, in canonical: String) {
        if message.text.hasPrefix("/"), !message.text.hasPrefix("//") {
            return clock.after(ms: clock.paced(60)) { [weak self] in self?.runCommand(message, in: canonical) }
        }
        let session = sessions.make(canonical)
        guard let active = session.run else { return start(message, id: message.key, in: session) }
        active.addRecipient(message.owner)
        session.waiting.append(message)
        guard release.renamesQueuedRuns else { return }
        // March answers the waiting send at once and without text; the reply comes later under another id.
        clock.after(ms: clock.paced(40)) { [weak self] in
            self?.finish(message.key, isError: false, "completed")
            let payload: WireValue = ["runId": message.key, "sessionKey": canonical, "seq": 1, "state": "final"]
            self?.host.connections.broadcast("chat", payload)
        }
    }

    /// Starts a run without a client; nil when the session has an active one.
    func startRun(_ text: String, in key: String) -> String? {
        guard let canonical = sessions.canonical(key), sessions[canonical]?.run == nil else { return nil }
        let id = host.primitives.uuid()
        let message = DemoMessage(
            key: id,
            rawKey: canonical,
            text: text,
            userRow: sessions.row(.user(key: nil), [.text(text)]),
            owner: DemoConnectionID(0),
            ownerDevice: nil,
            acceptedAt: clock.wallMs
        )
        start(message, id: id, in: sessions.make(canonical))
        return id
    }

    private func start(_ message: DemoMessage, id: String, in session: DemoSession) {
        let run = DemoRun(id, message, session, host) { [weak self] run, ending in self?.ended(run, ending) }
        runs[id] = run
        session.run = run
        session.updatedAt = clock.wallMs
        run.start()
    }

    private func ended(_ run: DemoRun, _ ending: DemoRun.Ending) {
        let session = run.session
        runs[run.id] = nil
        session.run = nil
        session.endedAt = clock.wallMs
        session.updatedAt = clock.wallMs
        var phase = "end"
        switch ending {
        case .completed:
            session.status = "done"
            finish(run.id, isError: false, "completed")
        case .aborted:
            session.status = "killed"
            finish(run.id, isError: false, "aborted")
        case .failed(let summary):
            phase = "error"
            session.status = "failed"
            finish(run.id, isError: true, summary)
        }
        sessions.announceChange(of: session, ["phase": phase, "runId": run.id])
        guard !session.waiting.isEmpty else { return }
        let next = session.waiting.removeFirst()
        start(next, id: release.renamesQueuedRuns ? host.primitives.uuid() : next.key, in: session)
    }

    private func finish(_ key: String, isError: Bool, _ summary: String) {
        finishedKeys.store(.init(isError: isError, summary: summary), for: key, now: clock.wallMs)
    }

    // MARK: - Commands

    /// A slash command is executed at once and answered by one `final` without deltas.
    private func runCommand(_ message: DemoMessage, in canonical: String) {
        let session = sessions.make(canonical)
        let words = message.text.split { $0 == " " || $0 == "\n" }.map { $0.lowercased() }
        let argument = words.dropFirst().first
        var answer: String
        var resets = false
        switch words.first {
        case "/new", "/reset":
            resets = true
            answer = words.first == "/new" ? "✅ New session started." : "✅ Session reset."
        case "/verbose":
            session.verboseLevel = ["on", "full"].contains(argument) ? argument : "off"
            answer =
                argument == "full"
                ? "⚙️ Verbose logging set to full."
                : argument == "on" ? "⚙️ Verbose logging enabled." : "⚙️ Verbose logging disabled."
        case "/reasoning":
            session.reasoningLevel = ["on", "stream"].contains(argument) ? argument : "off"
            answer =
                argument == "stream"
                ? "⚙️ Reasoning stream enabled."
                : argument == "on" ? "⚙️ Reasoning visibility enabled." : "⚙️ Reasoning visibility disabled."
        case "/think", "/thinking":
            session.thinkingLevel = argument ?? "low"
            answer = "⚙️ Thinking level set to \(argument ?? "low")."
        case "/model":
            session.model = argument.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
            answer = "⚙️ Model set to \(session.model ?? "demo-1")."
        case "/status":
            answer =
                "🦞 OpenClaw demo \(release.version)\n🧠 Model: demo/\(session.model ?? "demo-1")\n🧵 Session: \(canonical)"
        case "/help", "/commands":
            answer =
                "ℹ️ Demo commands\n\n/new | /reset | /verbose on|off|full | /reasoning on|off|stream | /status | /stop"
        default:
            answer = "⚠️ Unknown command: \(words.first ?? message.text)"
        }
        if resets {
            sessions.reset(session)
        } else if release >= .june {
            sessions.append(message.userRow, to: session)
        }
        let row = sessions.row(.injected(key: message.key, abortedRun: nil), [.text(answer)])
        sessions.append(row, to: session)
        finish(message.key, isError: false, "completed")
        host.connections.broadcastToReaders(
            "chat",
            [
                // March answers under the session key as it was sent.
                "runId": message.key, "sessionKey": release == .march ? message.rawKey : canonical, "seq": 1,
                "state": "final", "message": sessions.style.bare(row),
            ]
        )
    }

    // MARK: - Abort

    func abort(_ request: DemoRequest) -> DemoReply {
        guard let rawKey = request.string("sessionKey") else { return .invalid("invalid chat.abort params") }
        let connection = request.connection
        func mayAbort(_ run: DemoRun) -> Bool {
            connection.may("operator.admin") || run.recipients.contains(connection.id)
                || (run.ownerDevice != nil && run.ownerDevice == connection.deviceID)
        }
        if let runID = request.string("runId") {
            if let run = runs[runID] {
                let isSame = release == .march ? run.rawKey == rawKey : run.session.key == sessions.canonical(rawKey)
                guard isSame else { return .invalid("runId does not match sessionKey") }
                guard mayAbort(run) else { return .invalid("unauthorized") }
                run.abort(reason: "rpc")
                return .ok(abortResult([runID]))
            }
            let session = sessions.canonical(rawKey).flatMap { sessions[$0] }
            guard !release.renamesQueuedRuns, let session,
                let place = session.waiting.firstIndex(where: { $0.key == runID })
            else { return .ok(abortResult([])) }
            abortWaiting(session.waiting.remove(at: place), session, reason: "rpc")
            return .ok(abortResult([runID]))
        }
        // Without a run id March compares the key as it was sent, June takes only the canonical one.
        let found = runs.values.first { run in
            (release == .march ? run.rawKey : run.session.key) == rawKey && mayAbort(run)
        }
        return .ok(abortResult(abortAll(in: found?.session, reason: "rpc")))
    }

    private func abortResult(_ runIDs: [String]) -> WireValue {
        ["ok": true, "aborted": !runIDs.isEmpty, "runIds": runIDs]
    }

    /// Aborts the active run; in June also the messages that wait behind it.
    private func abortAll(in session: DemoSession?, reason: String) -> [String] {
        guard let session, let run = session.run else { return [] }
        let waiting = release.renamesQueuedRuns ? [] : session.waiting
        if !release.renamesQueuedRuns { session.waiting = [] }
        run.abort(reason: reason)
        for message in waiting { abortWaiting(message, session, reason: reason) }
        return [run.id] + waiting.map(\.key)
    }

    private func abortWaiting(_ message: DemoMessage, _ session: DemoSession, reason: String) {
        finish(message.key, isError: false, "aborted")
        host.connections.broadcastToReaders(
            "chat",
            ["runId": message.key, "sessionKey": session.key, "seq": 1, "state": "aborted", "stopReason": reason]
        )
    }

    // MARK: - History

    func history(_ request: DemoRequest) -> DemoReply {
        guard let rawKey = request.string("sessionKey") else { return .invalid("invalid chat.history params") }
        guard let canonical = sessions.canonical(rawKey) else { return .invalid("malformed session key: \(rawKey)") }
        let found = sessions[canonical]
        let limit = Int(request.int("limit") ?? 200)
        var style = sessions.style
        if let characters = request.int("maxChars") { style.characterLimit = Int(characters) }
        let rows = found?.rows ?? []
        let skipped = min(Int(clamping: request.int("offset") ?? 0), rows.count)
        let end = rows.count - skipped
        let start = max(0, end - limit)
        let messages = (start..<end).map { style.wire(rows[$0], seq: $0 + 1) }
        var result: WireValue = [
            "sessionKey": rawKey, "sessionId": found?.sessionID, "messages": messages,
            "thinkingLevel": found?.thinkingLevel ?? "low", "verboseLevel": found?.verboseLevel,
        ]
        if release >= .june, let found {
            let active = found.waiting.last?.key ?? found.run?.id
            let text = active == found.run?.id ? found.run?.wholeText : nil
            result = result.adding([
                "defaults": sessions.modelDefaults, "sessionInfo": found.row(release),
                "inFlightRun": active.map { wireObject(["runId": $0, "text": text ?? ""]) },
            ])
        }
        if release == .autumn {
            result = result.adding(["hasMore": start > 0, "nextOffset": start > 0 ? rows.count - start : nil])
        }
        return .ok(result)
    }
}

/// An accepted message: it starts a run, or waits for the end of the session's active run.
struct DemoMessage {
    let key: String
    /// The session key as the sender wrote it.
    let rawKey: String
    let text: String
    let userRow: TranscriptRow
    let owner: DemoConnectionID
    let ownerDevice: String?
    let acceptedAt: Int64
}
