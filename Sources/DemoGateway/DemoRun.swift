/// One run of a script: plays its beats and writes the transcript rows.
final class DemoRun {
    enum Ending {
        case completed, aborted
        case failed(String)
        /// The run is over without an event.
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
    /// The connections that sent this message, or one waiting behind it: they get the run's tool events.
    private(set) var recipients: Set<DemoConnectionID>

    private unowned let host: DemoHost
    private let frames: RunFrames
    private let text: StreamedText
    private let transcript: RunTranscript
    private let failures: RunFailures
    private let onEnd: (DemoRun, Ending) -> Void
    private let acceptedAt: Int64
    private var timeline: RunTimeline
    private var place = 0
    private var isOver = false

    private var startedAt: Int64?
    private var thinking = ""
    private var isSilent = false
    private var usedTools = false
    private var toolStarts: [String: Int64] = [:]
    /// The start of commands that had to be allowed first, which is later than their tool's.
    private var commandStarts: [String: Int64] = [:]
    private var runningTools: [RunTimeline.PlannedCall] = []
    private var burst: Burst?
    /// The command that is waiting for an approval.
    private var asking: RunTimeline.PlannedCall?
    private var verdicts: [String: ToolVerdict] = [:]
    private var lastOutput = ""
    private var refusedMeta: String?

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
        text = StreamedText(frames, host)
        transcript = RunTranscript(message, session, host)
        failures = RunFailures(frames, transcript, session, host)
        ownerDevice = message.ownerDevice
        rawKey = message.rawKey
        recipients = [message.owner]
        acceptedAt = message.acceptedAt
        let agentID = session.agentID
        // A resumed run only has the end of its answer left to send.
        let script =
            message.isRecovery
            ? DemoScript.greeting(message.text)
            : DemoScript.matching(message.text) { host.agents.text(of: $0, agent: agentID) }
        timeline = RunTimeline(script, callID: host.newCallID)
    }

    func start() { playLater() }

    func addRecipient(_ id: DemoConnectionID) { recipients.insert(id) }

    /// The text of the run so far.
    var wholeText: String { text.whole }

    // MARK: - Beats

    private func playLater() {
        guard place < timeline.beats.count else { return }
        after(ms: clock.paced(timeline.beats[place].delayMs)) { $0.play() }
    }

    private func after(ms delay: Int, _ work: @escaping (DemoRun) -> Void) {
        clock.after(ms: delay) { [weak self] in
            if let self, !isOver { work(self) }
        }
    }

    private func play() {
        let beat = timeline.beats[place].beat
        place += 1
        switch beat {
        case .start: begin()
        case .think(let piece): think(piece)
        case .text(let piece): text.say(piece)
        case .commitCalls(let calls): commitCalls(calls)
        case .toolStart(let planned):
            startTool(planned)
            if let ask = policy(of: planned.call) { return askLater(planned, ask) }
            if let question = planned.call.asks, release.hasQuestions { return self.ask(planned, question) }
        case .toolUpdate(let planned, let output): updateTool(planned, output)
        case .toolResult(let planned): endTool(planned)
        case .burst(let count, let perSecond, let stream):
            burst = Burst(count: count, perSecond: perSecond, stream: stream, startedAt: clock.now.monotonic)
            return playBurst()
        case .fail(let failure): return fail(failure)
        case .sayOutput: timeline.say("Done: \(lastOutput)", at: place)
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
        // A Double can hold the product of the highest rate and a day; the count bounds the burst.
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
                "startedAt": commandStarts[planned.id] ?? toolStarts[planned.id] ?? clock.wallMs,
                "cwd": workspacePath, "tail": output,
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
        if let verdict = verdicts[planned.id] { return endTool(planned, verdict) }
        let call = planned.call
        lastOutput = call.output
        runningTools.removeAll { $0.id == planned.id }
        let started = toolStarts[planned.id] ?? clock.wallMs
        let duration = max(clock.wallMs - (commandStarts[planned.id] ?? started), 1)
        // Earlier releases report only failures of the tool itself; a command's exit code appears only in the details.
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

    // MARK: - Approvals

    /// The policy that requires an approval for the call; nil if none is needed.
    private func policy(of call: DemoScript.ToolCall) -> String? {
        guard let command = call.command else { return nil }
        guard let ask = session.execAsk ?? (call.needsApproval ? "always" : nil) else { return nil }
        return ask == "on-miss" && host.approvals.isAllowed(command) ? nil : ask
    }

    private func askLater(_ planned: RunTimeline.PlannedCall, _ ask: String) {
        asking = planned
        after(ms: clock.paced(release == .march ? 40 : 80)) { $0.ask(planned, ask) }
    }

    private func ask(_ planned: RunTimeline.PlannedCall, _ ask: String) {
        let command = DemoApprovals.Command(
            text: planned.call.command ?? "",
            ask: ask,
            lifeMs: planned.call.approvalLifeMs,
            workspace: workspacePath,
            session: session,
            runID: id,
            callID: planned.id,
            device: ownerDevice
        )
        guard release.waitsForApprovals else { return goOn(planned, asking: command) }
        if let stall = host.shape.stallMs {
            after(ms: clock.paced(stall)) { run in
                if run.asking?.id == planned.id { run.stall() }
            }
        }
        _ = host.approvals.ask(command) { [weak self] record, decision in
            guard let self, !isOver else { return }
            asking = nil
            if decision == .allowOnce || decision == .allowAlways {
                // The command starts now.
                commandStarts[planned.id] = clock.wallMs
            } else {
                verdicts[planned.id] = .refused(record, decision)
                timeline.endAtOnce(planned.id, from: place, after: 75)
            }
            playLater()
        }
    }

    private func ask(_ planned: RunTimeline.PlannedCall, _ question: DemoScript.Question) {
        let asked = DemoQuestions.Asked(
            text: question.text,
            options: question.options,
            isSecret: question.isSecret,
            lifeMs: planned.call.approvalLifeMs,
            session: session,
            runID: id
        )
        host.questions.ask(asked) { [weak self] answers in
            guard let self, !isOver else { return }
            let text = question.isSecret && answers != nil ? "a secret" : answers?.joined(separator: ", ")
            verdicts[planned.id] = ToolVerdict(
                text: text ?? "Nobody answered.",
                details: ["status": answers == nil ? "unanswered" : "answered"],
                isRefusal: false
            )
            timeline.endAtOnce(planned.id, from: place, after: 75)
            playLater()
        }
    }

    /// Ends the run as stuck, without a word from the agent.
    private func stall() {
        frames.lifecycle([
            "phase": "end", "endedAt": clock.wallMs, "stopReason": "toolUse", "aborted": true,
            "livenessState": "blocked", "replayInvalid": false,
        ])
        frames.chat(["state": "final", "stopReason": "toolUse"])
        end(.completed)
    }

    /// Earlier releases let the run continue, and tell the session's next message what happened to the command.
    private func goOn(_ planned: RunTimeline.PlannedCall, asking command: DemoApprovals.Command) {
        let (session, clock, output) = (session, clock, planned.call.output)
        let record = host.approvals.ask(command) { [unowned clock] asked, decision in
            clock.after(ms: clock.paced(planned.call.durationMs)) {
                session.notices.append((ToolVerdict.notice(asked, decision, output: output), clock.wallMs))
            }
        }
        asking = nil
        verdicts[planned.id] = .pending(record, release)
        timeline.endAtOnce(planned.id, from: place, after: 3)
        playLater()
    }

    private func endTool(_ planned: RunTimeline.PlannedCall, _ verdict: ToolVerdict) {
        let (call, text) = (planned.call, verdict.text)
        let hasFailed = verdict.isRefusal
        runningTools.removeAll { $0.id == planned.id }
        lastOutput = text
        let result: WireValue = ["content": [wireObject(["type": "text", "text": text])], "details": verdict.details]
        frames.tool(
            [
                "phase": "result", "name": call.name, "toolCallId": planned.id, "meta": meta(of: call),
                "isError": hasFailed, "result": showsOutput ? result : nil,
            ],
            to: recipients
        )
        let status = hasFailed ? "failed" : "completed"
        let error: WireValue = ["error": hasFailed ? text : nil]
        let times: WireValue = ["startedAt": toolStarts[planned.id] ?? clock.wallMs, "endedAt": clock.wallMs]
        frames.items(planned, "end", times.adding(error), status: status, command: ["summary": text])
        frames.commandOutput(
            planned,
            [
                "phase": "end", "output": text, "status": status, "exitCode": WireValue.null, "durationMs": 0,
                "cwd": workspacePath,
            ]
        )
        if hasFailed {
            frames.agent(
                "approval",
                [
                    "phase": "resolved", "kind": "exec", "status": "denied", "title": "Command approval resolved",
                    "itemId": "command:\(planned.id)", "toolCallId": planned.id, "message": call.command,
                ]
            )
            refusedMeta = call.meta
        }
        transcript.append(.toolResult(callID: planned.id, name: call.name, isError: hasFailed), [.text(text)])
    }

    /// Reports a refused command once more, after the run's end.
    private func tellRefusal() {
        guard let meta = refusedMeta else { return }
        let text = "⚠️ 🛠️ `\(meta)` failed"
        let payload: WireValue = [
            "runId": id, "sessionKey": session.key, "seq": 1, "state": "error", "errorMessage": text,
            "message": frames.message(text),
        ]
        let connections = host.connections
        clock.after(ms: clock.paced(30)) { connections.broadcastToReaders("chat", payload) }
    }

    /// The gateway's description of the call. Earlier releases add the command to it.
    private func meta(of call: DemoScript.ToolCall) -> String {
        guard let command = call.command, release < .june else { return call.meta }
        return "\(call.meta)\(release == .march ? "\n\n" : ", ")`\(command)`"
    }

    /// Whether events carry output. In earlier releases the session's verbose level decides.
    private var showsOutput: Bool { !release.hidesToolOutput || session.verboseLevel == "full" }

    private var workspacePath: String { host.agents[session.agentID]?.path ?? "/home/demo/.openclaw/workspace" }

    // MARK: - Endings

    private func end(_ ending: Ending) {
        isOver = true
        host.questions.drop(run: id)
        onEnd(self, frames.isMuted ? .dropped : ending)
    }

    /// Ends the run without an event.
    func drop() { end(.dropped) }

    /// Lets the run continue without events, so that only its transcript shows it.
    func mute() { frames.isMuted = true }

    private func takeThinking() -> [TranscriptRow.Block] {
        defer { thinking = "" }
        return thinking.isEmpty ? [] : [.thinking(thinking)]
    }

    private func finishing() {
        transcript.commitUserRow()
        // The history omits a silent answer entirely.
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
        tellRefusal()
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
                tool: runningTools.last.map { ($0, toolStarts[$0.id] ?? clock.wallMs) },
                isAsking: asking != nil
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
