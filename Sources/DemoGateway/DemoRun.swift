/// One run of a script: plays its beats and writes the transcript rows.
final class DemoRun {
    typealias Ending = FinishedKeys.Outcome

    private struct Burst {
        let count: Int
        let perSecond: Int
        let stream: DemoScript.BurstStream
        let startedAt: UInt64
        var sent = 0
    }

    let id: String
    let session: DemoSession
    let ownerDevice: String?
    /// The session key as the sender wrote it: March compares aborts with it and shows it in them.
    let rawKey: String
    /// The connections that sent this message, or one that waits behind it: they get its tool events.
    private(set) var recipients: Set<DemoConnectionID>

    private unowned let host: DemoHost
    private let frames: RunFrames
    private let text: RunText
    private let onEnd: (DemoRun, Ending) -> Void
    private let messageText: String
    private let acceptedAt: Int64
    private let beats: [(delayMs: Int, beat: RunTimeline.Beat)]
    private var place = 0
    private var isOver = false

    private var startedAt: Int64?
    private var thinking = ""
    private var isSilent = false
    private var usedTools = false
    private var toolStarts: [String: Int64] = [:]
    private var burst: Burst?
    /// The user's row until it is in the transcript.
    private var userRow: TranscriptRow?
    private var isRowAnnounced = false

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
        frames = RunFrames(id, session, host)
        text = RunText(frames, host)
        ownerDevice = message.ownerDevice
        rawKey = message.rawKey
        recipients = [message.owner]
        messageText = message.text
        acceptedAt = message.acceptedAt
        userRow = message.userRow
        let agentID = session.agentID
        // A run that goes on has the end of its answer left to give.
        let script =
            message.isRecovery
            ? DemoScript.greeting(message.text)
            : DemoScript.matching(message.text) { host.agents.text(of: $0, agent: agentID) }
        beats = RunTimeline(script, callID: host.newCallID).beats
    }

    func start() { playLater() }

    func addRecipient(_ id: DemoConnectionID) { recipients.insert(id) }

    /// The text of the run so far.
    var wholeText: String { text.whole }

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
        case .think(let piece): think(piece)
        case .text(let piece): text.say(piece)
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
        frames.lifecycle(["phase": "start", "startedAt": clock.wallMs], namesAgent: true)
        host.sessions.announceChange(of: session, phase: "start", runID: id)
        beginTranscript()
    }

    private func think(_ piece: String) {
        thinking += piece
        guard session.reasoningLevel == "stream", release >= .june else { return }
        frames.agent("thinking", ["text": thinking, "delta": piece])
    }

    private func playBurst() {
        guard var burst else { return }
        let elapsed = clock.now.monotonic &- burst.startedAt
        // A Double holds the product of the highest rate and a day; the count bounds the burst.
        let due = min(burst.count, Int(Double(elapsed) * Double(burst.perSecond) / 1e9) + 1)
        while burst.sent < due {
            burst.sent += 1
            text.sendBurstDelta(burst.sent, burst.stream)
        }
        self.burst = burst
        guard burst.sent < burst.count else {
            self.burst = nil
            text.endBurst()
            return playLater()
        }
        after(ms: max(1, 1_000 / burst.perSecond)) { $0.playBurst() }
    }

    // MARK: - Tools

    private func commitCalls(_ calls: [RunTimeline.PlannedCall]) {
        var blocks = takeThinking()
        if !text.block.isEmpty { blocks.append(.text(text.block)) }
        for planned in calls {
            blocks.append(.toolCall(id: planned.id, name: planned.call.name, arguments: planned.call.arguments))
        }
        append(.assistant(stopReason: "toolUse", error: nil, usage: countTokens()), blocks)
        text.endBlock()
        usedTools = true
    }

    private func startTool(_ planned: RunTimeline.PlannedCall) {
        toolStarts[planned.id] = clock.wallMs
        frames.tool(
            ["phase": "start", "name": planned.call.name, "toolCallId": planned.id, "args": planned.call.arguments],
            to: recipients
        )
        frames.items(planned, "start", ["startedAt": clock.wallMs])
    }

    private func updateTool(_ planned: RunTimeline.PlannedCall, _ output: String) {
        let partial: WireValue = [
            "content": [wireObject(["type": "text", "text": output])],
            "details": wireObject([
                "status": "running", "sessionId": "demo-brook", "pid": 4_242,
                "startedAt": toolStarts[planned.id] ?? clock.wallMs, "cwd": workspacePath, "tail": output,
            ]),
        ]
        frames.tool(
            [
                "phase": "update", "name": planned.call.name, "toolCallId": planned.id,
                "partialResult": showsOutput ? partial : nil,
            ],
            to: recipients
        )
        let text = output.last == "\n" ? String(output.dropLast()) : output
        frames.items(planned, "update", [:], command: ["progressText": text])
        frames.commandOutput(planned, ["phase": "delta", "output": text, "status": "running"])
    }

    private func endTool(_ planned: RunTimeline.PlannedCall) {
        let call = planned.call
        let started = toolStarts[planned.id] ?? clock.wallMs
        let duration = max(clock.wallMs - started, 1)
        // Earlier releases report only failures of the tool itself; a command's exit code stays in the details.
        let failed = release >= .june && (call.exitCode ?? 0) != 0
        let result: WireValue = [
            "content": [wireObject(["type": "text", "text": call.output])],
            "details": call.isCommand
                ? wireObject([
                    "status": "completed", "exitCode": call.exitCode, "durationMs": duration,
                    "aggregated": call.output, "cwd": workspacePath,
                ]) : nil,
        ]
        frames.tool(
            [
                "phase": "result", "name": call.name, "toolCallId": planned.id, "meta": meta(of: call),
                "isError": failed, "result": showsOutput ? result : nil,
            ],
            to: recipients
        )
        let status = failed ? "failed" : "completed"
        let firstLine = call.output.split(separator: "\n").first.map(String.init) ?? call.output
        let error: WireValue = ["error": failed ? firstLine : nil]
        let times: WireValue = ["startedAt": started, "endedAt": clock.wallMs]
        frames.items(planned, "end", times.adding(error), status: status, command: ["summary": call.output])
        frames.commandOutput(
            planned,
            [
                "phase": "end", "output": call.output, "status": status, "exitCode": call.exitCode,
                "durationMs": duration, "cwd": workspacePath,
            ]
        )
        if let effect = call.effect { host.agents.apply(effect, agent: session.agentID) }
        append(.toolResult(callID: planned.id, name: call.name), [.text(call.output)])
    }

    /// Earlier releases add the command to its description.
    private func meta(of call: DemoScript.ToolCall) -> String {
        guard let command = call.command, release < .june else { return call.meta }
        return "\(call.meta)\(release == .march ? "\n\n" : ", ")`\(command)`"
    }

    /// In earlier releases the session's verbose level decides whether events carry output.
    private var showsOutput: Bool { !release.hidesToolOutput || session.verboseLevel == "full" }

    private var workspacePath: String { host.agents[session.agentID]?.path ?? "/home/demo/.openclaw/workspace" }

    // MARK: - Transcript

    /// Writes the user's row, or keeps it for the first answer.
    private func beginTranscript() {
        let shape = host.shape
        if shape.dropsUnanswered, session.rows.last?.isUser == true { session.removeLastRow() }
        if shape.rowTime == .ofStart { userRow?.timestamp = clock.wallMs }
        userRow?.recordedAt = clock.wallMs
        switch host.options.storesUserRowAtOnce ? .atStart : shape.userRow {
        case .withAnswer: break
        case .atStart: commitUserRow()
        case .atStartOfOldSessions where !session.rows.isEmpty: commitUserRow()
        case .atStartOfOldSessions:
            guard let userRow else { return }
            isRowAnnounced = true
            host.sessions.announce(userRow, at: 1, in: session)
        }
    }

    private func commitUserRow() {
        guard var row = userRow else { return }
        userRow = nil
        guard !isRowAnnounced else { return host.sessions.restore(row, to: session) }
        row.recordedAt = clock.wallMs
        host.sessions.append(row, to: session)
    }

    /// Appends a row of the run; the user's row stands before it.
    private func append(_ kind: TranscriptRow.Kind, _ blocks: [TranscriptRow.Block]) {
        commitUserRow()
        host.sessions.append(host.sessions.row(kind, blocks), to: session)
    }

    private func takeThinking() -> [TranscriptRow.Block] {
        defer { thinking = "" }
        return thinking.isEmpty ? [] : [.thinking(thinking)]
    }

    private func countTokens() -> TranscriptRow.Usage {
        let used = TranscriptRow.Usage(
            input: 8_000 + messageText.utf8.count / 4,
            output: 8 + text.whole.utf8.count / 4
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
        if !isSilent, !text.block.isEmpty {
            append(
                .assistant(stopReason: "stop", error: nil, usage: countTokens()),
                takeThinking() + [.text(text.block)]
            )
        }
        guard release >= .june else { return }
        text.flushAgent()
        frames.lifecycle(
            [
                "phase": "finishing", "stopReason": "stop", "aborted": false, "livenessState": "working",
                "replayInvalid": usedTools ? true : nil, "endedAt": clock.wallMs,
            ],
            namesAgent: true
        )
    }

    private func complete() {
        let base: WireValue = ["phase": "end", "endedAt": clock.wallMs]
        let april: WireValue = ["livenessState": "working", "replayInvalid": usedTools ? true : nil]
        let later: WireValue = [
            "stopReason": "stop", "aborted": false, "livenessState": "working", "replayInvalid": usedTools,
        ]
        frames.lifecycle(release >= .june ? later.adding(base) : release == .april ? base.adding(april) : base)
        text.flushChat()
        frames.chat([
            "state": "final", "stopReason": release >= .june ? "stop" : nil,
            "message": isSilent || text.shown.isEmpty ? nil : frames.message(text.shown),
        ])
        end(.completed)
    }

    private func fail(_ failure: DemoScript.ProviderFailure) {
        let isEarlier = release < .june
        append(
            .assistant(stopReason: "error", error: isEarlier ? failure.detail : nil, usage: nil),
            isEarlier ? [] : [.text("The agent run failed before producing a reply.")]
        )
        let shown = isEarlier ? failure.marchText : failure.laterText
        let failed: WireValue = ["phase": "error", "endedAt": clock.wallMs, "error": shown]
        guard !isEarlier else {
            frames.lifecycle(failed.adding(["livenessState": release == .april ? "blocked" : nil]))
            let kind = release == .april ? failure.kind : nil
            frames.chat(["state": "error", "errorMessage": shown, "errorKind": kind])
            return end(.failed(shown))
        }
        let blocked: WireValue = ["aborted": false, "livenessState": "blocked"]
        frames.lifecycle(
            wireObject(["phase": "finishing", "error": shown, "endedAt": clock.wallMs]).adding(blocked),
            namesAgent: true
        )
        frames.lifecycle([
            "phase": "fallback_step", "fallbackStepType": "fallback_step", "fallbackStepFromModel": "demo/demo-1",
            "fallbackStepFromFailureReason": failure.reason, "fallbackStepFromFailureDetail": failure.detail,
            "fallbackStepChainPosition": 1, "fallbackStepFinalOutcome": "chain_exhausted",
        ])
        frames.lifecycle(failed.adding(blocked).adding(["fallbackExhaustedFailure": true]))
        frames.chat([
            "state": "error", "errorMessage": shown, "message": frames.message(shown), "errorKind": failure.kind,
        ])
        // The agent's command reports the same failure again, with a count of its own.
        let again = failure.finalText
        frames.chat(["state": "error", "errorMessage": again, "message": frames.message(again)], seq: 1)
        end(.failed(shown))
    }

    func abort(reason: String) {
        let isMarch = release == .march
        let number = frames.nextSeq()
        let partial = text.shown
        host.connections.broadcastToReaders(
            "chat",
            [
                "runId": id, "sessionKey": isMarch ? rawKey : session.key, "seq": number, "state": "aborted",
                "stopReason": reason, "message": partial.isEmpty ? nil : frames.message(partial),
            ]
        )
        if isMarch {
            // March writes the partial answer twice, the first time before the user's row.
            let kind = TranscriptRow.Kind.injected(key: "\(id):assistant", abortedRun: (id, reason))
            let row = host.sessions.row(kind, [.text(partial)])
            if !partial.isEmpty { host.sessions.append(row, to: session) }
        } else if release >= .june {
            frames.agent(
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
                takeThinking() + (partial.isEmpty ? [] : [.text(text.block)])
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
