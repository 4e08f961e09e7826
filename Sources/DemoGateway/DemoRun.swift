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
    /// The keys of the messages that it answers under an id of the gateway's own.
    let inputs: [String]

    private unowned let host: DemoHost
    private let frames: RunFrames
    private let text: StreamedText
    private let transcript: RunTranscript
    private let tools: RunTools
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
    private var burst: Burst?
    /// The command that is waiting for an approval.
    private var asking: RunTimeline.PlannedCall?

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
        inputs = message.inputs.map(\.key)
        frames = RunFrames(id, session, host, endIDs: Self.endIDs(id, inputs, host.shape))
        text = StreamedText(frames, host)
        transcript = RunTranscript(message, session, host, runID: id)
        tools = RunTools(frames, transcript, session, host)
        failures = RunFailures(frames, transcript, session, host)
        ownerDevice = message.ownerDevice
        rawKey = message.rawKey
        recipients = Set([message.owner] + message.inputs.map(\.owner))
        acceptedAt = message.acceptedAt
        let agentID = session.agentID
        // A resumed run only has the end of its answer left to send.
        let script =
            message.isRecovery
            ? DemoScript.greeting(message.text)
            : DemoScript.matching(message.text) { host.agents.text(of: $0, agent: agentID) }
        timeline = RunTimeline(script, callID: host.newCallID)
    }

    /// Whether the chat events of the run's own id have an end is not established for a turn that answers others.
    private static func endIDs(_ id: String, _ inputs: [String], _ shape: ReleaseShape) -> [String] {
        if case .byMode(let queueing) = shape.busySends, !queueing.endsEarly, !inputs.isEmpty { return inputs }
        return [id]
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
            tools.start(planned, to: recipients)
            if let ask = policy(of: planned.call) { return askLater(planned, ask) }
            if let question = planned.call.asks, release.hasQuestions { return self.ask(planned, question) }
        case .toolUpdate(let planned, let output): tools.update(planned, output, to: recipients)
        case .toolResult(let planned): tools.end(planned, to: recipients)
        case .burst(let count, let perSecond, let stream):
            burst = Burst(count: count, perSecond: perSecond, stream: stream, startedAt: clock.now.monotonic)
            return playBurst()
        case .fail(let failure): return fail(failure)
        case .sayOutput: timeline.say("Done: \(tools.lastOutput)", at: place)
        case .silent: isSilent = true
        case .finishing: finishing()
        case .end: return complete()
        }
        playLater()
    }

    // MARK: - Steering

    /// Takes another message into the run: its row is written now, and the answer will mention it. False if the run
    /// has not begun or is about to end.
    func steer(_ message: DemoMessage) -> Bool {
        let noted = " Noted: \(message.text.prefix(DemoScript.repeatLimit))."
        guard startedAt != nil, !isOver, timeline.sayAtEnd(noted, from: place) else { return false }
        recipients.insert(message.owner)
        var row = message.userRow
        row.runID = id
        row.recordedAt = clock.wallMs
        session.custody.consume([message.key], by: row.id, dropsSingle: release.dropsSingleInputs)
        transcript.commitUserRow()
        host.sessions.append(row, to: session)
        return true
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
            workspace: tools.workspacePath,
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
                tools.commandAllowed(planned.id)
            } else {
                decide(planned, .refused(record, decision), after: 75)
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
            let verdict = ToolVerdict(
                text: text ?? "Nobody answered.",
                details: ["status": answers == nil ? "unanswered" : "answered"],
                isRefusal: false
            )
            decide(planned, verdict, after: 75)
            playLater()
        }
    }

    /// Ends the run as stuck, without a word from the agent.
    private func stall() {
        frames.lifecycle([
            "phase": "end", "endedAt": clock.wallMs, "stopReason": "toolUse", "aborted": true,
            "livenessState": "blocked", "replayInvalid": false,
        ])
        frames.chatEnd(["state": "final", "stopReason": "toolUse"])
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
        decide(planned, .pending(record, release), after: 3)
        playLater()
    }

    /// The call's result follows at once, without the command's output.
    private func decide(_ planned: RunTimeline.PlannedCall, _ verdict: ToolVerdict, after delay: Int) {
        tools.decide(planned.id, verdict)
        timeline.endAtOnce(planned.id, from: place, after: delay)
    }

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

    private func takeThinking() -> [DemoRow.Block] {
        defer { thinking = "" }
        return thinking.isEmpty ? [] : [.thinking(thinking)]
    }

    private func finishing() {
        transcript.commitUserRow()
        // `chat.history` omits a silent answer entirely.
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
            "executionSettled": release.namesRuns ? true : nil,
        ]
        frames.lifecycle(release >= .june ? later.adding(base) : release == .april ? base.adding(april) : base)
        text.flushChat()
        frames.chatEnd([
            "state": "final", "stopReason": release >= .june ? "stop" : nil,
            "message": isSilent || text.shown.isEmpty ? nil : frames.message(text.shown),
        ])
        tools.tellRefusal()
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
        for id in frames.endIDs {
            host.connections.broadcastToReaders(
                "chat",
                [
                    "runId": id, "sessionKey": release == .march ? rawKey : session.key, "seq": number,
                    "state": "aborted", "stopReason": reason,
                    "message": partial.isEmpty ? nil : frames.message(partial),
                ]
            )
        }
        let blocks = takeThinking() + (text.block.isEmpty ? [] : [.text(text.block)])
        let abort = RunAbort(
            RunAbort.Moment(
                runID: id,
                reason: reason,
                partial: partial,
                blocks: blocks,
                tool: tools.last,
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
                    "executionSettled": release.namesRuns ? true : nil,
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
