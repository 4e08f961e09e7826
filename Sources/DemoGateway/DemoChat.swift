import Basics
import JSONBytes

/// `chat.*`: messages are accepted, read and aborted.
final class DemoChat {
    private let host: DemoHost
    private let dispatcher: DemoDispatcher
    private let commands: DemoCommands

    private var release: DemoRelease { host.release }
    private var clock: DemoClock { host.clock }
    private var sessions: DemoSessions { host.sessions }

    init(_ host: DemoHost, _ dispatcher: DemoDispatcher) {
        self.host = host
        self.dispatcher = dispatcher
        commands = DemoCommands(host, dispatcher)
    }

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
        let attachments: DemoAttachments
        do throws(DemoError) {
            attachments = try DemoAttachments(request.params?["attachments"], host)
        } catch {
            return .failed(error)
        }
        if text.allSatisfy(\.isWhitespace), attachments.isEmpty { return .invalid("message or attachment required") }
        guard let canonical = sessions.canonical(rawKey) else { return .invalid("malformed session key: \(rawKey)") }
        let agentID = DemoSessionKey.agent(of: canonical)
        if release >= .june, host.agents[agentID] == nil {
            return .invalid("Agent \"\(agentID)\" no longer exists in configuration")
        }
        if let refusal = guardRefusal(request, canonical) { return refusal }
        if Self.isStop(text) { return .ok(abortResult(dispatcher.abortAll(in: sessions[canonical], reason: "stop"))) }
        if let answer = dispatcher.answer(forKnown: key, saying: text, in: canonical) { return answer }
        let identity = Self.identity(of: request)
        if let answer = dispatcher.answer(forStored: key, identity, in: sessions[canonical]) { return answer }
        let told = withNotices(text, in: canonical)
        var row = sessions.row(.user(key: key), (told.isEmpty ? [] : [.text(told)]) + attachments.blocks)
        row.media = attachments.media
        let client = request.connection.client
        if release.namesRuns {
            row.senders = [.init(id: client.id, mode: client.mode, displayName: client.displayName)]
        }
        var message = DemoMessage(
            key: key,
            rawKey: rawKey,
            text: text,
            userRow: row,
            owner: request.connection.id,
            ownerDevice: request.connection.deviceID,
            acceptedAt: clock.wallMs
        )
        message.mode = request.string("queueMode").flatMap(QueueMode.init) ?? .steer
        message.request = identity
        let hasInterrupted = dispatcher.interrupt(for: message.mode, in: sessions[canonical])
        accept(message, in: canonical, from: client.displayName)
        return .ok([
            "runId": key, "status": "started", "interruptedActiveRun": hasInterrupted ? true : nil,
        ])
    }

    /// The refusal of a message whose sender has another conversation, or another end of it, before its eyes.
    private func guardRefusal(_ request: DemoRequest, _ canonical: String) -> DemoReply? {
        guard release.hasCustody, let session = sessions[canonical] else { return nil }
        if let expected = request.string("sessionId"), expected != session.sessionID {
            return .invalid("Session \"\(canonical)\" changed while starting work. Retry.")
        }
        guard let leaf = request.params?["expectedLeafEntryId"], leaf.string != session.rows.last?.id else {
            return nil
        }
        let details: WireValue = ["reason": "active-leaf-changed"]
        return .failed(DemoError("INVALID_REQUEST", "active branch changed; review and retry", details: details))
    }

    /// The parameters that a repeat has to have as well; the guards may differ.
    private static func identity(of request: DemoRequest) -> String {
        let guards: Set<String> = ["sessionId", "expectedLeafEntryId"]
        let members = request.params?.members.filter { !guards.contains($0.key) } ?? []
        let texts = members.map { "\($0.key)=\(String(decoding: $0.value.raw, as: UTF8.self))" }
        return texts.sorted().joined(separator: "\n")
    }

    /// Control characters are removed, line ends and tabs stay.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 && scalar.value != 0x7f || scalar == "\n" || scalar == "\t" || scalar == "\r"
    }

    private func accept(_ message: DemoMessage, in canonical: String, from client: String?) {
        let session = sessions.make(canonical, for: client)
        guard DemoCommands.isCommand(message.text) else {
            return dispatcher.accept(message, in: session)
        }
        clock.after(ms: clock.paced(60)) { [weak self] in self?.commands.run(message, in: canonical) }
    }

    /// The message as the agent gets it: after notices about events since the last one.
    private func withNotices(_ text: String, in canonical: String) -> String {
        guard let session = sessions[canonical], !session.notices.isEmpty, !DemoCommands.isCommand(text) else {
            return text
        }
        defer { session.notices = [] }
        let told = session.notices.map { "System: [\(EnvelopeTime.seconds($0.at)) UTC] \($0.text)\n" }.joined()
        return "\(told)\n[\(EnvelopeTime.weekday(clock.wallMs)) \(EnvelopeTime.minutes(clock.wallMs)) UTC] \(text)"
    }

    /// Reports whether a run is over. An unknown run is also answered with `timeout`.
    func wait(_ request: DemoRequest) -> DemoReply {
        guard let run = request.string("runId") else { return .invalid("invalid agent.wait params") }
        if release.hasCustody { return .ok(observed(run)) }
        return switch dispatcher.outcome(of: run) {
        case .completed?: .ok(["runId": run, "status": "ok"])
        case .failed(let error)?: .ok(["runId": run, "status": "error", "error": error])
        case .aborted?: .ok(["runId": run, "status": "timeout"])
        case nil where release < .june: .ok(["runId": run, "status": "timeout"])
        case nil where dispatcher.isUnderWay(run):
            .ok(["runId": run, "status": "timeout", "timeoutPhase": "gateway_draining"])
        case nil: .ok(["runId": run, "status": "timeout", "timeoutPhase": "queue", "providerStarted": false])
        }
    }

    /// The newest gateways say `pending` of a waiting message until its turn is over, and make no difference between a
    /// run that is active and one they do not know.
    private func observed(_ run: String) -> WireValue {
        let endedAt = dispatcher.endedAt(of: run)
        if dispatcher.isQueued(run) {
            return ["runId": run, "status": "pending", "timeoutPhase": "queue", "providerStarted": false]
        }
        return switch dispatcher.outcome(of: run) {
        case .completed?: ["runId": run, "status": "ok", "endedAt": endedAt]
        case .failed(let error)?: ["runId": run, "status": "error", "error": error, "endedAt": endedAt]
        case .aborted? where release.waitsEndInErrors:
            [
                "runId": run, "status": "error", "stopReason": "rpc", "error": "agent run aborted", "endedAt": endedAt,
            ]
        case .aborted?: ["runId": run, "status": "timeout", "stopReason": "rpc", "endedAt": endedAt]
        case nil: ["runId": run, "status": "timeout"]
        }
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
            let turn = dispatcher.runs.values.first { $0.inputs.contains(runID) }
            if let run = dispatcher.runs[runID] ?? turn {
                let isSame = release == .march ? run.rawKey == rawKey : run.session.key == sessions.canonical(rawKey)
                guard isSame else { return .invalid("runId does not match sessionKey") }
                guard mayAbort(run) else { return .invalid("unauthorized") }
                run.abort(reason: "rpc")
                return .ok(abortResult([runID]))
            }
            let discards = request.bool("discardPendingInput") == true
            let isAborted = sessions.canonical(rawKey).flatMap { sessions[$0] }.map { session in
                let isAborted = dispatcher.abortWaiting(runID, in: session, reason: "rpc")
                if isAborted, discards { session.custody.discard(runID) }
                return isAborted || dispatcher.withdraw(runID, in: session, discards: discards, reason: "rpc")
            }
            return .ok(abortResult(isAborted == true ? [runID] : []))
        }
        // Without a run id, March compares the key as it was sent; June accepts only the canonical key.
        let found = dispatcher.runs.values.first { run in
            (release == .march ? run.rawKey : run.session.key) == rawKey && mayAbort(run)
        }
        let named = release.hasCustody ? sessions.canonical(rawKey).flatMap { sessions[$0] } : nil
        let waiting = named?.run == nil ? named : nil
        return .ok(abortResult(dispatcher.abortAll(in: found?.session ?? waiting, reason: "rpc")))
    }

    private func abortResult(_ runIDs: [String]) -> WireValue {
        ["ok": true, "aborted": !runIDs.isEmpty, "runIds": runIDs]
    }

    // MARK: - History

    func history(_ request: DemoRequest) -> DemoReply {
        guard let rawKey = request.string("sessionKey") else { return .invalid("invalid chat.history params") }
        guard let canonical = sessions.canonical(rawKey) else { return .invalid("malformed session key: \(rawKey)") }
        if release.hasCustody, let refusal = Self.historyRefusal(request) { return refusal }
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
            let active = found.queue.direct.last?.key ?? found.run?.id
            let text = active == found.run?.id ? found.run?.wholeText : nil
            result = result.adding([
                "defaults": sessions.modelDefaults, "sessionInfo": found.row(release),
                "inFlightRun": active.map { wireObject(["runId": $0, "text": text ?? ""]) },
            ])
        }
        if release >= .autumn {
            result = result.adding(["hasMore": start > 0, "nextOffset": start > 0 ? rows.count - start : nil])
        }
        if release.hasCustody, let found {
            let shown = Set(rows[start..<end].map(\.id))
            result = result.adding(inputs(request, in: found, shown, style))
        } else if request.params?["inputRunIds"] != nil {
            result = result.adding(["inputReceipts": [WireValue](), "inputConsumptions": [WireValue]()])
        }
        return .ok(result)
    }

    /// One row, as long as it is.
    func message(_ request: DemoRequest) -> DemoReply {
        guard let session = request.string("sessionKey").flatMap({ sessions.canonical($0) }).flatMap({ sessions[$0] }),
            let place = session.rows.firstIndex(where: { $0.id == request.string("messageId") })
        else { return .ok(["ok": false, "unavailableReason": "not_found"]) }
        var style = sessions.style
        style.characterLimit = Int(clamping: request.int("maxChars") ?? 1_000_000)
        return .ok(["ok": true, "message": style.wire(session.rows[place], seq: place + 1)])
    }

    private static func historyRefusal(_ request: DemoRequest) -> DemoReply? {
        let hasMessage = request.params?["messageId"] != nil
        if request.params?["sessionId"] != nil, !hasMessage { return .invalid("sessionId requires messageId") }
        let isPlaced = hasMessage || request.params?["offset"] != nil
        let isTwofold = isPlaced && request.params?["cursor"] != nil
        return isTwofold ? .invalid("cursor cannot be used with offset or messageId") : nil
    }

    /// The members about inputs in custody, and the receipts that were asked for.
    private func inputs(
        _ request: DemoRequest,
        in session: DemoSession,
        _ shown: Set<String>,
        _ style: TranscriptStyle
    ) -> WireValue {
        let asked = request.params?["inputRunIds"]?.elements.compactMap(\.string)
        let isPlain = request.params?["messageId"] == nil
        return [
            "pendingInputs": session.custody.page(before: request.int("pendingBefore"), in: session, style),
            "inputReceipts": asked.map { isPlain ? session.custody.receipts(of: $0, in: session) : [] },
            "inputConsumptions": isPlain ? session.custody.consumptions(by: shown) : [],
        ]
    }
}
