/// One run of a script: plays its beats and writes the transcript rows.
final class DemoRun {
    enum Ending {
        case completed, aborted
        case failed(String)
        /// It is over, and nobody is told.
        case dropped
    }

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
    private let transcript: RunTranscript
    private let failures: RunFailures
    private let onEnd: (DemoRun, Ending) -> Void
    private let acceptedAt: Int64
    private let beats: [(delayMs: Int, beat: RunTimeline.Beat)]
    private var place = 0
    private var isOver = false

    private var startedAt: Int64?
    private var thinking = ""
    private var isSilent = false
    private var usedTools = false
    private var toolStarts: [String: Int64] = [:]
    private var runningTools: [RunTimeline.PlannedCall] = []
    private var burst: Burst?

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
        transcript = RunTranscript(message, session, host)
        failures = RunFailures(frames, transcript, session, host)
        ownerDevice = message.ownerDevice
        rawKey = message.rawKey
        recipients = [message.owner]
        acceptedAt = message.acceptedAt
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
        transcript.begin()
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
        transcript.append(
            .assistant(stopReason: "toolUse", error: nil, usage: transcript.usage(of: text.whole)),
            blocks
        )
        text.endBlock()
        usedTools = true
    }

    private func startTool(_ planned: RunTimeline.PlannedCall) {
        toolStarts[planned.id] = clock.wallMs
        runningTools.append(planned)
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
        runningTools.removeAll { $0.id == planned.id }
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
        transcript.append(.toolResult(callID: planned.id, name: call.name, isError: false), [.text(call.output)])
    }

    /// Earlier releases add the command to its description.
    private func meta(of call: DemoScript.ToolCall) -> String {
        guard let command = call.command, release < .june else { return call.meta }
        return "\(call.meta)\(release == .march ? "\n\n" : ", ")`\(command)`"
    }

    /// In earlier releases the session's verbose level decides whether events carry output.
    private var showsOutput: Bool { !release.hidesToolOutput || session.verboseLevel == "full" }

    private var workspacePath: String { host.agents[session.agentID]?.path ?? "/home/demo/.openclaw/workspace" }

    // MARK: - Endings

    private func end(_ ending: Ending) {
        isOver = true
        onEnd(self, frames.isMuted ? .dropped : ending)
    }

    /// Ends without a word.
    func drop() { end(.dropped) }

    /// Goes on, and only its transcript tells of it.
    func mute() { frames.isMuted = true }

    private func takeThinking() -> [TranscriptRow.Block] {
        defer { thinking = "" }
        return thinking.isEmpty ? [] : [.thinking(thinking)]
    }

    private func finishing() {
        transcript.commitUserRow()
        // The history does not show a silent answer at all.
        if !isSilent, !text.block.isEmpty {
            transcript.append(
                .assistant(stopReason: "stop", error: nil, usage: transcript.usage(of: text.whole)),
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
        failures.play(
            failure,
            RunFailures.Steering(
                after: { [weak self] delay, work in
                    if let self { after(ms: clock.paced(delay)) { _ in work() } }
                },
                resume: { [weak self] in self?.playLater() },
                end: { [weak self] in self?.end($0) }
            )
        )
    }

    func abort(reason: String) {
        let number = frames.nextSeq()
        let partial = text.aborted
        host.connections.broadcastToReaders(
            "chat",
            [
                "runId": id, "sessionKey": release == .march ? rawKey : session.key, "seq": number,
                "state": "aborted", "stopReason": reason, "message": partial.isEmpty ? nil : frames.message(partial),
            ]
        )
        let blocks = takeThinking() + (text.block.isEmpty ? [] : [.text(text.block)])
        let abort = RunAbort(
            RunAbort.Moment(
                runID: id,
                reason: reason,
                partial: partial,
                blocks: blocks,
                tool: runningTools.last.map { ($0, toolStarts[$0.id] ?? clock.wallMs) }
            ),
            session,
            host
        )
        if release >= .june {
            frames.agent(
                "lifecycle",
                [
                    "phase": "end", "status": "cancelled", "aborted": true, "stopReason": reason,
                    "startedAt": startedAt ?? acceptedAt, "endedAt": clock.wallMs,
                ],
                seq: number
            )
            abort.tellLater()
        }
        if host.shape.aborts != .storePartial { session.wasAborted = true }
        end(.aborted)
        abort.write(transcript)
    }
}
