/// One run of a script: plays its beats, sends the frames each release sends, and writes the transcript rows.
final class DemoRun {
    enum Ending {
        case completed, aborted
        case failed(String)
    }

    private struct Burst {
        let count: Int
        let perSecond: Int
        let stream: DemoScript.BurstStream
        let startedAt: UInt64
        var sent = 0
    }

    /// Chat deltas of a run go out at most this often.
    private static let throttleMs = 150
    /// In March frames carry the whole text so far. After this many deltas the text of a burst starts over, as it does after
    /// a tool.
    private static let burstBlock = 64

    let id: String
    let session: DemoSession
    let ownerDevice: String?
    /// The session key as the sender wrote it: March compares aborts with it and shows it in them.
    let rawKey: String
    /// The connections that sent this message, or one that waits behind it: they get its tool events.
    private(set) var recipients: Set<DemoConnectionID>
    /// The text of the run so far.
    private(set) var wholeText = ""

    private unowned let host: DemoHost
    private let onEnd: (DemoRun, Ending) -> Void
    private let messageText: String
    private let acceptedAt: Int64
    private let beats: [(delayMs: Int, beat: RunTimeline.Beat)]
    private var place = 0
    private var isOver = false

    private var startedAt: Int64?
    /// The run's own count of its agent and chat frames.
    private var seq = 0
    /// The text of the assistant message in progress, and the parts of it that no frame carries yet.
    private var blockText = ""
    private var unsentAgent = ""
    private var unsentChat = ""
    private var hasSentChatText = false
    private var lastFlush: UInt64?
    private var thinking = ""
    private var isSilent = false
    private var usedTools = false
    private var toolStarts: [String: Int64] = [:]
    private var burst: Burst?
    /// The user's row until it is in the transcript.
    private var userRow: TranscriptRow?

    private var release: DemoRelease { host.release }
    private var clock: DemoClock { host.clock }

    init(
        _ id: String,
        _ message: DemoMessage,
        _ session: DemoSession,
        _ host: DemoHost,
        onEnd: @escaping (DemoRun, Ending) -> Void
    ) {
        self.id = id
        self.session = session
        self.host = host
        self.onEnd = onEnd
        ownerDevice = message.ownerDevice
        rawKey = message.rawKey
        recipients = [message.owner]
        messageText = message.text
        acceptedAt = message.acceptedAt
        userRow = message.userRow
        let agentID = session.agentID
        let script = DemoScript.matching(message.text) { host.agents.text(of: $0, agent: agentID) }
        beats = RunTimeline(script, callID: host.newCallID).beats
    }

    func start() { playLater() }

    func addRecipient(_ id: DemoConnectionID) { recipients.insert(id) }

    // MARK: - Beats

    private func playLater() {
        guard place < beats.count else { return }
        after(ms: clock.paced(beats[place].delayMs)) { $0.play() }
    }

    private func after(ms delay: Int, _ work: @escaping (DemoRun) -> Void) {
        clock.after(ms: delay) { [weak self] in
            if let self, !isOver { work(self) }
        }
    }

    private func play() {
        let beat = beats[place].beat
        place += 1
        switch beat {
        case .start: begin()
        case .think(let text): think(text)
        case .text(let piece): say(piece)
        case .commitCalls(let calls): commitCalls(calls)
        case .toolStart(let planned): startTool(planned)
        case .toolUpdate(let planned, let output): updateTool(planned, output)
        case .toolResult(let planned): endTool(planned)
        case .burst(let count, let perSecond, let stream):
            burst = Burst(count: count, perSecond: perSecond, stream: stream, startedAt: clock.now.monotonic)
            return playBurst()
        case .fail(let failure): return fail(failure)
        case .silent: isSilent = true
        case .finishing: finishing()
        case .end: return complete()
        }
        playLater()
    }

    private func begin() {
        startedAt = clock.wallMs
        session.startedAt = clock.wallMs
        session.status = "running"
        if host.options.storesUserRowAtOnce { commitUserRow() }
        lifecycle(["phase": "start", "startedAt": clock.wallMs], namesAgent: true)
        host.sessions.announceChange(of: session, ["phase": "start", "runId": id])
    }

    // MARK: - Frames

    private func nextSeq() -> Int {
        seq += 1
        return seq
    }

    private func payload(_ stream: String, _ data: WireValue, seq: Int) -> WireValue {
        [
            "runId": id, "stream": stream, "data": data, "sessionKey": session.key, "seq": seq, "ts": clock.wallMs,
            "isHeartbeat": release >= .june ? false : nil,
        ]
    }

    private func agent(_ stream: String, _ data: WireValue, seq: Int? = nil) {
        host.connections.broadcastToReaders("agent", payload(stream, data, seq: seq ?? nextSeq()))
    }

    /// Later releases name the session in lifecycle events, and the agent in the phases that the agent itself reports.
    private func lifecycle(_ data: WireValue, namesAgent: Bool = false) {
        let names: WireValue = [
            "sessionId": release >= .june ? session.sessionID : nil,
            "agentId": release >= .june && namesAgent ? session.agentID : nil,
        ]
        let payload = payload("lifecycle", data, seq: nextSeq())
        host.connections.broadcastToReaders("agent", payload.adding(names))
    }

    private func chat(seq: Int, _ rest: WireValue) {
        let head: WireValue = ["runId": id, "sessionKey": session.key, "seq": seq]
        host.connections.broadcastToReaders("chat", head.adding(rest))
    }

    private func message(_ text: String) -> WireValue {
        ["role": "assistant", "content": [wireObject(["type": "text", "text": text])], "timestamp": clock.wallMs]
    }

    // MARK: - Text

    private func think(_ text: String) {
        thinking += text
        guard session.reasoningLevel == "stream", release >= .june else { return }
        agent("thinking", ["text": thinking, "delta": text])
    }

    private func say(_ piece: String) {
        blockText += piece
        wholeText += piece
        unsentChat += piece
        let pause = UInt64(clock.paced(Self.throttleMs)) * 1_000_000
        let isDue = lastFlush.map { clock.now.monotonic &- $0 >= pause } ?? true
        if release.gathersAgentText {
            seq += 1
            unsentAgent += piece
            if isDue { flushAgentText() }
        } else {
            agent("assistant", ["text": blockText, "delta": piece])
        }
        guard isDue else { return }
        flushChatText(seq: seq)
        lastFlush = clock.now.monotonic
    }

    /// Sends the gathered text under the number of its newest piece.
    private func flushAgentText() {
        guard !unsentAgent.isEmpty else { return }
        let delta = unsentAgent
        unsentAgent = ""
        agent("assistant", ["text": blockText, "delta": delta], seq: seq)
    }

    private func flushChatText(seq: Int) {
        guard !unsentChat.isEmpty else { return }
        let delta = unsentChat
        unsentChat = ""
        let carriesMessage = !release.appendsOnly || !hasSentChatText
        hasSentChatText = true
        chat(
            seq: seq,
            [
                "state": "delta", "deltaText": release == .march ? nil : delta,
                "message": carriesMessage ? message(shownText) : nil,
            ]
        )
    }

    /// The text that chat events show: March starts over after tools.
    private var shownText: String { release.restartsTextAfterTools ? blockText : wholeText }

    /// Later releases send the rest of the text before a tool starts; March drops it until the next text.
    private func flushTextBeforeTools() {
        if release.gathersAgentText {
            flushChatText(seq: seq + 1)
            flushAgentText()
        }
        unsentAgent = ""
        unsentChat = ""
        lastFlush = nil
    }

    // MARK: - Burst

    /// Text deltas at a fixed rate, for measuring: each carries its number and the monotonic clock at its sending.
    private func playBurst() {
        guard var burst else { return }
        let elapsed = clock.now.monotonic &- burst.startedAt
        // A Double holds the product of the highest rate and a day; the count bounds the burst.
        let due = min(burst.count, Int(Double(elapsed) * Double(burst.perSecond) / 1e9) + 1)
        while burst.sent < due {
            burst.sent += 1
            sendBurstDelta(burst.sent, burst.stream)
        }
        self.burst = burst
        guard burst.sent < burst.count else {
            self.burst = nil
            unsentAgent = ""
            unsentChat = ""
            return playLater()
        }
        after(ms: max(1, 1_000 / burst.perSecond)) { $0.playBurst() }
    }

    private func sendBurstDelta(_ number: Int, _ stream: DemoScript.BurstStream) {
        let piece = "{\"seq\":\(number),\"ts_ns\":\(clock.now.monotonic)}\n"
        if release.restartsTextAfterTools, (number - 1) % Self.burstBlock == 0 { blockText = "" }
        if blockText.utf8.count > DemoScript.longTextLimit { blockText = "" }
        blockText += piece
        if release >= .june, wholeText.utf8.count < DemoScript.longTextLimit { wholeText += piece }
        if release == .march { wholeText = blockText }
        // Later releases send the whole text only once here: cumulative frames would measure the building of text.
        let carriesText = release == .march || !hasSentChatText
        if stream != .chat { agent("assistant", ["text": carriesText ? blockText : nil, "delta": piece]) }
        if stream != .agent {
            chat(
                seq: nextSeq(),
                [
                    "state": "delta", "deltaText": release == .march ? nil : piece,
                    "message": carriesText ? message(blockText) : nil,
                ]
            )
        }
        hasSentChatText = true
    }

    // MARK: - Tools

    private func commitCalls(_ calls: [RunTimeline.PlannedCall]) {
        commitUserRow()
        var blocks = takeThinking()
        if !blockText.isEmpty { blocks.append(.text(blockText)) }
        for planned in calls {
            blocks.append(.toolCall(id: planned.id, name: planned.call.name, arguments: planned.call.arguments))
        }
        append(.assistant(stopReason: "toolUse", error: nil, usage: countTokens()), blocks)
        flushTextBeforeTools()
        blockText = ""
        usedTools = true
    }

    private func startTool(_ planned: RunTimeline.PlannedCall) {
        toolStarts[planned.id] = clock.wallMs
        tool(["phase": "start", "name": planned.call.name, "toolCallId": planned.id, "args": planned.call.arguments])
        items(planned, "start", ["startedAt": clock.wallMs])
    }

    private func updateTool(_ planned: RunTimeline.PlannedCall, _ output: String) {
        let partial: WireValue = [
            "content": [wireObject(["type": "text", "text": output])],
            "details": wireObject([
                "status": "running", "sessionId": "demo-brook", "pid": 4_242,
                "startedAt": toolStarts[planned.id] ?? clock.wallMs, "cwd": workspacePath, "tail": output,
            ]),
        ]
        tool([
            "phase": "update", "name": planned.call.name, "toolCallId": planned.id,
            "partialResult": showsOutput ? partial : nil,
        ])
        let text = output.last == "\n" ? String(output.dropLast()) : output
        items(planned, "update", [:], command: ["progressText": text])
        if planned.call.isCommand {
            commandOutput(planned, ["phase": "delta", "output": text, "status": "running"])
        }
    }

    private func endTool(_ planned: RunTimeline.PlannedCall) {
        let call = planned.call
        let started = toolStarts[planned.id] ?? clock.wallMs
        let duration = max(clock.wallMs - started, 1)
        // March reports only failures of the tool itself; a command's exit code stays in the details.
        let failed = release >= .june && (call.exitCode ?? 0) != 0
        let result: WireValue = [
            "content": [wireObject(["type": "text", "text": call.output])],
            "details": call.isCommand
                ? wireObject([
                    "status": "completed", "exitCode": call.exitCode, "durationMs": duration,
                    "aggregated": call.output, "cwd": workspacePath,
                ]) : nil,
        ]
        let meta = release == .march ? call.command.map { "\(call.meta)\n\n`\($0)`" } : nil
        tool([
            "phase": "result", "name": call.name, "toolCallId": planned.id, "meta": meta ?? call.meta,
            "isError": failed, "result": showsOutput ? result : nil,
        ])
        let status = failed ? "failed" : "completed"
        let firstLine = call.output.split(separator: "\n").first.map(String.init) ?? call.output
        let error: WireValue = ["error": failed ? firstLine : nil]
        let times: WireValue = ["startedAt": started, "endedAt": clock.wallMs]
        items(planned, "end", times.adding(error), status: status, command: ["summary": call.output])
        if call.isCommand {
            commandOutput(
                planned,
                [
                    "phase": "end", "output": call.output, "status": status, "exitCode": call.exitCode,
                    "durationMs": duration, "cwd": workspacePath,
                ]
            )
        }
        if let effect = call.effect { host.agents.apply(effect, agent: session.agentID) }
        append(.toolResult(callID: planned.id, name: call.name), [.text(call.output)])
    }

    /// In March the session's verbose level decides whether events carry output.
    private var showsOutput: Bool { !release.hidesToolOutput || session.verboseLevel == "full" }

    private var workspacePath: String { host.agents[session.agentID]?.path ?? "/home/demo/.openclaw/workspace" }

    /// Tool events have no number and go to the senders that asked for them; subscribers get them as `session.tool`.
    private func tool(_ data: WireValue) {
        var payload = payload("tool", data, seq: nextSeq())
        if release >= .june {
            payload = payload.adding([
                "session": session.row(release), "updatedAt": session.updatedAt,
                "sessionId": session.sessionID, "kind": "direct", "chatType": "direct",
                "origin": DemoSession.origin, "deliveryContext": DemoSession.deliveryContext,
                "verboseLevel": session.verboseLevel, "systemSent": true, "inputTokens": session.inputTokens,
                "outputTokens": session.outputTokens, "lastChannel": "webchat", "totalTokens": session.inputTokens,
                "totalTokensFresh": true, "goal": WireValue.null, "contextTokens": 200_000,
                "estimatedCostUsd": session.estimatedCost, "modelProvider": "demo", "model": session.model ?? "demo-1",
                "status": "running", "startedAt": session.startedAt, "abortedLastRun": session.wasAborted,
            ])
        }
        let direct = host.connections.all.filter {
            recipients.contains($0.id) && $0.caps.contains("tool-events")
                && (!release.needsReadScopeForEvents || $0.may("operator.read"))
        }
        host.connections.send("agent", payload, to: direct)
        guard release.hasSubscriptions else { return }
        let reached = Set(direct.map(\.id))
        host.connections.send(
            "session.tool",
            payload,
            to: host.connections.subscribers.filter { !reached.contains($0.id) }
        )
    }

    /// The item event of the call, and for a command a second one that also has the members of `command`.
    private func items(
        _ planned: RunTimeline.PlannedCall,
        _ phase: String,
        _ rest: WireValue,
        status: String = "running",
        command: WireValue = [:]
    ) {
        guard release.hasItemStreams else { return }
        let call = planned.call
        func item(_ kind: String, _ title: String, _ rest: WireValue) {
            let data: WireValue = [
                "itemId": "\(kind):\(planned.id)", "phase": phase, "status": status, "kind": kind, "title": title,
                "name": call.name, "meta": call.meta, "toolCallId": planned.id,
            ]
            agent("item", data.adding(rest))
        }
        item("tool", "\(call.name) \(call.meta)", rest)
        if call.isCommand { item("command", "command \(call.meta)", rest.adding(command)) }
    }

    private func commandOutput(_ planned: RunTimeline.PlannedCall, _ rest: WireValue) {
        guard release.hasItemStreams else { return }
        let head: WireValue = [
            "itemId": "command:\(planned.id)", "title": "command \(planned.call.meta)", "toolCallId": planned.id,
            "name": planned.call.name,
        ]
        agent("command_output", head.adding(rest))
    }

    // MARK: - Transcript

    private func append(_ kind: TranscriptRow.Kind, _ blocks: [TranscriptRow.Block]) {
        host.sessions.append(host.sessions.row(kind, blocks), to: session)
    }

    private func commitUserRow() {
        guard var row = userRow else { return }
        userRow = nil
        row.recordedAt = clock.wallMs
        host.sessions.append(row, to: session)
    }

    private func takeThinking() -> [TranscriptRow.Block] {
        defer { thinking = "" }
        return thinking.isEmpty ? [] : [.thinking(thinking)]
    }

    private func countTokens() -> TranscriptRow.Usage {
        let used = TranscriptRow.Usage(
            input: 8_000 + messageText.utf8.count / 4,
            output: 8 + wholeText.utf8.count / 4
        )
        session.inputTokens = used.input
        session.outputTokens += used.output
        return used
    }

    // MARK: - Endings

    private func end(_ ending: Ending) {
        isOver = true
        onEnd(self, ending)
    }

    private func finishing() {
        commitUserRow()
        // The history does not show a silent answer at all.
        if !isSilent, !blockText.isEmpty {
            append(
                .assistant(stopReason: "stop", error: nil, usage: countTokens()),
                takeThinking() + [.text(blockText)]
            )
        }
        guard release >= .june else { return }
        flushAgentText()
        lifecycle(
            [
                "phase": "finishing", "stopReason": "stop", "aborted": false, "livenessState": "working",
                "replayInvalid": usedTools ? true : nil, "endedAt": clock.wallMs,
            ],
            namesAgent: true
        )
    }

    private func complete() {
        let later: WireValue = ["stopReason": "stop", "aborted": false, "livenessState": "working"]
        let base: WireValue = ["phase": "end", "endedAt": clock.wallMs]
        lifecycle(release >= .june ? later.adding(base).adding(["replayInvalid": usedTools]) : base)
        if release >= .june { flushChatText(seq: seq) }
        chat(
            seq: seq,
            [
                "state": "final", "stopReason": release >= .june ? "stop" : nil,
                "message": isSilent || shownText.isEmpty ? nil : message(shownText),
            ]
        )
        end(.completed)
    }

    private func fail(_ failure: DemoScript.ProviderFailure) {
        commitUserRow()
        let isMarch = release == .march
        append(
            .assistant(stopReason: "error", error: isMarch ? failure.detail : nil, usage: nil),
            isMarch ? [] : [.text("The agent run failed before producing a reply.")]
        )
        let shown = isMarch ? failure.marchText : failure.laterText
        let failed: WireValue = ["phase": "error", "endedAt": clock.wallMs, "error": shown]
        guard !isMarch else {
            lifecycle(failed)
            chat(seq: seq, ["state": "error", "errorMessage": shown])
            return end(.failed(shown))
        }
        let blocked: WireValue = ["aborted": false, "livenessState": "blocked"]
        lifecycle(
            wireObject(["phase": "finishing", "error": shown, "endedAt": clock.wallMs]).adding(blocked),
            namesAgent: true
        )
        lifecycle([
            "phase": "fallback_step", "fallbackStepType": "fallback_step", "fallbackStepFromModel": "demo/demo-1",
            "fallbackStepFromFailureReason": failure.reason, "fallbackStepFromFailureDetail": failure.detail,
            "fallbackStepChainPosition": 1, "fallbackStepFinalOutcome": "chain_exhausted",
        ])
        lifecycle(failed.adding(blocked).adding(["fallbackExhaustedFailure": true]))
        chat(
            seq: seq,
            ["state": "error", "errorMessage": shown, "message": message(shown), "errorKind": failure.kind]
        )
        // The agent's command reports the same failure again, with a count of its own.
        chat(seq: 1, ["state": "error", "errorMessage": failure.finalText, "message": message(failure.finalText)])
        end(.failed(shown))
    }

    func abort(reason: String) {
        let isMarch = release == .march
        let number = nextSeq()
        let partial = shownText
        host.connections.broadcastToReaders(
            "chat",
            [
                "runId": id, "sessionKey": isMarch ? rawKey : session.key, "seq": number, "state": "aborted",
                "stopReason": reason, "message": partial.isEmpty ? nil : message(partial),
            ]
        )
        if isMarch {
            // March writes the partial answer twice, the first time before the user's row.
            let kind = TranscriptRow.Kind.injected(key: "\(id):assistant", abortedRun: (id, reason))
            if !partial.isEmpty { append(kind, [.text(partial)]) }
        } else {
            agent(
                "lifecycle",
                [
                    "phase": "end", "status": "cancelled", "aborted": true, "stopReason": reason,
                    "startedAt": startedAt ?? acceptedAt, "endedAt": clock.wallMs,
                ],
                seq: number
            )
            announceLateEnd()
        }
        commitUserRow()
        if !partial.isEmpty || !thinking.isEmpty {
            append(
                .assistant(stopReason: "aborted", error: "Request was aborted", usage: nil),
                takeThinking() + (partial.isEmpty ? [] : [.text(blockText)])
            )
        }
        session.wasAborted = true
        end(.aborted)
    }

    /// In June the agent's own end trails behind an abort, counted from one again; clients must ignore it.
    private func announceLateEnd() {
        let (host, id, key) = (host, id, session.key)
        clock.after(ms: clock.paced(100)) { [weak host] in
            guard let host else { return }
            for (seq, phase) in ["finishing", "end"].enumerated() {
                let now = host.clock.wallMs
                let data: WireValue = [
                    "phase": phase, "stopReason": "aborted", "aborted": true, "livenessState": "working",
                    "endedAt": now,
                ]
                host.connections.broadcastToReaders(
                    "agent",
                    [
                        "runId": id, "sessionKey": key, "stream": "lifecycle", "data": data, "seq": seq + 1, "ts": now,
                    ]
                )
            }
        }
    }
}
