/// The tool calls of one run: their events and transcript rows.
final class RunTools {
    private let frames: RunFrames
    private let transcript: RunTranscript
    private let session: DemoSession
    private unowned let host: DemoHost
    private var starts: [String: Int64] = [:]
    /// The start of commands that had to be allowed first, which is later than their tool's.
    private var commandStarts: [String: Int64] = [:]
    private var running: [RunTimeline.PlannedCall] = []
    private var verdicts: [String: ToolVerdict] = [:]
    private var refusedMeta: String?
    private(set) var lastOutput = ""

    private var release: DemoRelease { host.release }
    private var clock: DemoClock { host.clock }

    init(_ frames: RunFrames, _ transcript: RunTranscript, _ session: DemoSession, _ host: DemoHost) {
        self.frames = frames
        self.transcript = transcript
        self.session = session
        self.host = host
    }

    /// The call that started last, of those that still run.
    var last: (planned: RunTimeline.PlannedCall, startedAt: Int64)? {
        running.last.map { ($0, started($0)) }
    }

    var workspacePath: String { host.agents[session.agentID]?.path ?? "/home/demo/.openclaw/workspace" }

    func start(_ planned: RunTimeline.PlannedCall, to recipients: Set<DemoConnectionID>) {
        starts[planned.id] = clock.wallMs
        running.append(planned)
        frames.tool(
            ["phase": "start", "name": planned.call.name, "toolCallId": planned.id, "args": planned.call.arguments],
            to: recipients
        )
        frames.items(planned, "start", ["startedAt": clock.wallMs])
    }

    /// The call's command was allowed and starts now.
    func commandAllowed(_ callID: String) { commandStarts[callID] = clock.wallMs }

    /// The call's result will be the verdict instead of its command's output.
    func decide(_ callID: String, _ verdict: ToolVerdict) { verdicts[callID] = verdict }

    func update(_ planned: RunTimeline.PlannedCall, _ output: String, to recipients: Set<DemoConnectionID>) {
        let partial: WireValue = [
            "content": [wireObject(["type": "text", "text": output])],
            "details": wireObject([
                "status": "running", "sessionId": "demo-brook", "pid": 4_242,
                "startedAt": commandStarts[planned.id] ?? started(planned),
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

    func end(_ planned: RunTimeline.PlannedCall, to recipients: Set<DemoConnectionID>) {
        let (call, verdict) = (planned.call, verdicts[planned.id])
        running.removeAll { $0.id == planned.id }
        let text = verdict?.text ?? call.output
        lastOutput = text
        let started = started(planned)
        let duration = verdict == nil ? max(clock.wallMs - (commandStarts[planned.id] ?? started), 1) : 0
        // Earlier releases report only failures of the tool itself; a command's exit code appears only in the details.
        let failed = verdict?.isRefusal ?? (release >= .june && (call.exitCode ?? 0) != 0)
        let ran: WireValue = [
            "status": "completed", "exitCode": call.exitCode, "durationMs": duration, "aggregated": text,
            "cwd": workspacePath,
        ]
        let result: WireValue = [
            "content": [wireObject(["type": "text", "text": text])],
            "details": verdict?.details ?? (call.isCommand ? ran : nil),
        ]
        frames.tool(
            [
                "phase": "result", "name": call.name, "toolCallId": planned.id, "meta": meta(of: call),
                "isError": failed, "result": showsOutput ? result : nil,
            ],
            to: recipients
        )
        let status = failed ? "failed" : "completed"
        let firstLine = text.split(separator: "\n").first.map(String.init) ?? text
        let error: WireValue = ["error": failed ? (verdict == nil ? firstLine : text) : nil]
        let times: WireValue = ["startedAt": started, "endedAt": clock.wallMs]
        frames.items(planned, "end", times.adding(error), status: status, command: ["summary": text])
        frames.commandOutput(
            planned,
            [
                "phase": "end", "output": text, "status": status,
                "exitCode": verdict == nil ? call.exitCode?.wire : WireValue.null, "durationMs": duration,
                "cwd": workspacePath,
            ]
        )
        if verdict?.isRefusal == true { refused(planned) }
        if verdict == nil, let effect = call.effect { host.agents.apply(effect, agent: session.agentID) }
        let isError = verdict?.isRefusal ?? false
        transcript.append(.toolResult(callID: planned.id, name: call.name, isError: isError), [.text(text)])
    }

    private func refused(_ planned: RunTimeline.PlannedCall) {
        frames.agent(
            "approval",
            [
                "phase": "resolved", "kind": "exec", "status": "denied", "title": "Command approval resolved",
                "itemId": "command:\(planned.id)", "toolCallId": planned.id, "message": planned.call.command,
            ]
        )
        refusedMeta = planned.call.meta
    }

    /// Reports a refused command once more, after the run's end.
    func tellRefusal() {
        guard let meta = refusedMeta, !release.reportsFailuresOnce else { return }
        let text = "⚠️ 🛠️ `\(meta)` failed"
        let payload: WireValue = [
            "runId": frames.id, "sessionKey": session.key, "seq": 1, "state": "error", "errorMessage": text,
            "message": frames.message(text),
        ]
        let connections = host.connections
        clock.after(ms: clock.paced(30)) { connections.broadcastToReaders("chat", payload) }
    }

    private func started(_ planned: RunTimeline.PlannedCall) -> Int64 { starts[planned.id] ?? clock.wallMs }

    /// The gateway's description of the call. Earlier releases add the command to it.
    private func meta(of call: DemoScript.ToolCall) -> String {
        guard let command = call.command, release < .june else { return call.meta }
        return "\(call.meta)\(release == .march ? "\n\n" : ", ")`\(command)`"
    }

    /// Whether events carry output. In earlier releases the session's verbose level decides.
    private var showsOutput: Bool { !release.hidesToolOutput || session.verboseLevel == "full" }
}
