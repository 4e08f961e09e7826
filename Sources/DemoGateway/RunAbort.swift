/// The frames and rows of an aborted run in each release, including those after the run's end.
final class RunAbort {
    /// The state of the run at the abort.
    struct Moment {
        let runID: String
        let reason: String
        /// The text so far in chat events.
        let partial: String
        /// The assistant message in progress.
        let blocks: [DemoRow.Block]
        let tool: (planned: RunTimeline.PlannedCall, startedAt: Int64)?
        /// Whether the tool waits for an approval; its command never began, and its approval stays open.
        let isAsking: Bool
    }

    private let moment: Moment
    private let session: DemoSession
    private unowned let host: DemoHost

    init(_ moment: Moment, _ session: DemoSession, _ host: DemoHost) {
        self.moment = moment
        self.session = session
        self.host = host
    }

    private static let text = "Command aborted by signal SIGTERM"

    private var clock: DemoClock { host.clock }

    /// Writes the rows, after the run has announced the abort.
    func write(_ transcript: RunTranscript) {
        let isInTool = moment.tool != nil
        switch host.shape.aborts {
        case .storePartial where host.release == .march:
            storePartial(transcript)
            guard isInTool else { return writeAnswer(transcript) }
            later(20) { $0.writeTool(transcript, isError: true) }
        case .storePartial:
            later(20) { abort in
                abort.storePartial(transcript)
                if !isInTool { abort.writeAnswer(transcript) }
            }
            if isInTool { later(50) { $0.writeTool(transcript, isError: false) } }
        case .announcePartial:
            if let partial { transcript.announceOnly(partial.kind, partial.blocks) }
            guard isInTool else { return later(30) { $0.writeAnswer(transcript) } }
            if moment.isAsking { return }
            later(2_300) { $0.writeResult(transcript, isError: true) }
        case .plain: writeAnswer(transcript)
        }
    }

    private var partial: (kind: DemoRow.Kind, blocks: [DemoRow.Block])? {
        guard !moment.partial.isEmpty else { return nil }
        let run = (id: moment.runID, origin: moment.reason)
        return (.injected(key: "\(moment.runID):assistant", abortedRun: run), [.text(moment.partial)])
    }

    /// Writes the partial answer twice, in a new session the first time before the user's row.
    private func storePartial(_ transcript: RunTranscript) {
        if let partial { transcript.appendAhead(partial.kind, partial.blocks) }
    }

    private func writeAnswer(_ transcript: RunTranscript) {
        transcript.commitUserRow()
        guard !moment.blocks.isEmpty else { return }
        transcript.append(.assistant(stopReason: "aborted", error: "Request was aborted", usage: nil), moment.blocks)
    }

    private func writeResult(_ transcript: RunTranscript, isError: Bool) {
        guard let planned = moment.tool?.planned else { return }
        let kind = DemoRow.Kind.toolResult(callID: planned.id, name: planned.call.name, isError: isError)
        transcript.append(kind, [.text(Self.text)])
    }

    private func writeTool(_ transcript: RunTranscript, isError: Bool) {
        writeResult(transcript, isError: isError)
        transcript.append(.assistant(stopReason: "aborted", error: "Request was aborted.", usage: nil), [])
    }

    /// Reports the agent's own end after the abort. In June it comes later, numbered from one again; clients must
    /// ignore it.
    func tellLater() {
        let frames = RunFrames(moment.runID, session, host)
        guard let tool = moment.tool, host.shape.aborts == .announcePartial else {
            return later(100) { abort in
                for phase in ["finishing", "end"] { frames.lateLifecycle(phase, stopReason: "aborted") }
                abort.tellEnd(status: "killed")
            }
        }
        if !moment.isAsking { later(260) { $0.tellTool(tool.planned, startedAt: tool.startedAt, frames) } }
        later(2_320) { abort in
            frames.lateLifecycle("end", stopReason: "toolUse")
            abort.session.wasAborted = false
            abort.tellEnd(status: "timeout")
        }
    }

    private func tellTool(_ planned: RunTimeline.PlannedCall, startedAt: Int64, _ frames: RunFrames) {
        let duration = clock.wallMs - startedAt
        let result: WireValue = [
            "content": [wireObject(["type": "text", "text": Self.text])],
            "details": wireObject([
                "status": "failed", "exitCode": WireValue.null, "durationMs": duration, "aggregated": "",
            ]),
        ]
        frames.tool(
            [
                "phase": "result", "name": planned.call.name, "toolCallId": planned.id, "meta": planned.call.meta,
                "isError": true, "result": result,
            ],
            to: Set(host.connections.all.map(\.id))
        )
        let times: WireValue = ["startedAt": startedAt, "endedAt": clock.wallMs, "error": "failed"]
        frames.items(planned, "end", times, status: "failed")
        frames.commandOutput(
            planned,
            ["phase": "end", "status": "failed", "exitCode": WireValue.null, "durationMs": duration]
        )
    }

    /// Updates the session's row with the late end too, unless another run has begun.
    private func tellEnd(status: String) {
        guard host.shape.aborts == .announcePartial, session.run == nil else { return }
        session.status = status
        session.endedAt = clock.wallMs
        host.sessions.announceChange(of: session, phase: "end", runID: moment.runID)
    }

    private func later(_ delay: Int, _ work: @escaping (RunAbort) -> Void) {
        clock.after(ms: clock.paced(delay)) { [self] in work(self) }
    }
}
