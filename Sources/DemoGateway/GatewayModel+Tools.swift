/// Tool calls of a run: live events by release, rows, and what they change on the demo host.
extension GatewayModel {
    func commitCalls(_ calls: [RunTimeline.PlannedCall], _ run: GatewayRun) {
        commitUserRow(run)
        var blocks = thinkingBlock(run)
        if !run.blockText.isEmpty { blocks.append(.text(run.blockText)) }
        for planned in calls {
            blocks.append(.toolCall(id: planned.id, name: planned.call.name, arguments: planned.call.arguments))
        }
        append(row(.assistant(stopReason: "toolUse", error: nil, usage: usage(run)), blocks), to: run.session)
        flushTextBeforeTools(run)
        run.blockText = ""
        run.usedTools = true
    }

    func toolStart(_ planned: RunTimeline.PlannedCall, _ run: GatewayRun) {
        run.toolStarts[planned.id] = wallMs
        tool(
            run,
            ["phase": "start", "name": planned.call.name, "toolCallId": planned.id, "args": planned.call.arguments]
        )
        item(run, planned, "tool", ["phase": "start", "status": "running"], ["startedAt": wallMs])
        if planned.call.isCommand {
            item(run, planned, "command", ["phase": "start", "status": "running"], ["startedAt": wallMs])
        }
    }

    func toolUpdate(_ planned: RunTimeline.PlannedCall, _ output: String, _ run: GatewayRun) {
        let partial: WireValue = [
            "content": [wireObject(["type": "text", "text": output])],
            "details": wireObject([
                "status": "running", "sessionId": "demo-brook", "pid": 4_242,
                "startedAt": run.toolStarts[planned.id] ?? wallMs, "cwd": workspacePath(run), "tail": output,
            ]),
        ]
        tool(
            run,
            [
                "phase": "update", "name": planned.call.name, "toolCallId": planned.id,
                "partialResult": showsOutput(run) ? partial : nil,
            ]
        )
        let text = output.last == "\n" ? String(output.dropLast()) : output
        item(run, planned, "tool", ["phase": "update", "status": "running"], [:])
        if planned.call.isCommand {
            item(run, planned, "command", ["phase": "update", "status": "running"], ["progressText": text])
            commandOutput(run, planned, ["phase": "delta", "output": text, "status": "running"])
        }
    }

    func toolResult(_ planned: RunTimeline.PlannedCall, _ run: GatewayRun) {
        let call = planned.call
        let isDenied = run.denied.contains(planned.id)
        let started = run.toolStarts[planned.id] ?? wallMs
        let output = isDenied ? "exec denied: the request was not approved" : call.output
        let exitCode = isDenied ? nil : call.exitCode
        // March reports only failures of the tool itself; a command's exit code stays in the details.
        let failed = isDenied || call.isError || (release >= .june && (exitCode ?? 0) != 0)
        let result: WireValue = [
            "content": [wireObject(["type": "text", "text": output])],
            "details": call.isCommand
                ? wireObject([
                    "status": isDenied ? "denied" : "completed", "exitCode": exitCode,
                    "durationMs": max(wallMs - started, 1), "aggregated": output, "cwd": workspacePath(run),
                ]) : nil,
        ]
        let meta = release == .march && call.command != nil ? "\(call.meta)\n\n`\(call.command ?? "")`" : call.meta
        tool(
            run,
            [
                "phase": "result", "name": call.name, "toolCallId": planned.id, "meta": meta, "isError": failed,
                "result": showsOutput(run) ? result : nil,
            ]
        )
        announceEnd(planned, run, output: output, failed: failed, exitCode: exitCode, started: started)
        if !isDenied { apply(call.effect, run) }
        append(
            row(
                .toolResult(callID: planned.id, name: call.name, isError: isDenied || call.isError),
                [.text(output)]
            ),
            to: run.session
        )
    }

    private func announceEnd(
        _ planned: RunTimeline.PlannedCall,
        _ run: GatewayRun,
        output: String,
        failed: Bool,
        exitCode: Int?,
        started: Int64
    ) {
        let status = failed ? "failed" : "completed"
        let firstLine = output.split(separator: "\n").first.map(String.init) ?? output
        let times: WireValue = [
            "startedAt": started, "endedAt": wallMs,
        ]
        let error: WireValue = ["error": failed ? firstLine : nil]
        item(run, planned, "tool", ["phase": "end", "status": status], times.adding(error))
        guard planned.call.isCommand else { return }
        let summary: WireValue = ["summary": output]
        item(run, planned, "command", ["phase": "end", "status": status], times.adding(summary).adding(error))
        commandOutput(
            run,
            planned,
            [
                "phase": "end", "output": output, "status": status, "exitCode": exitCode,
                "durationMs": max(wallMs - started, 1), "cwd": workspacePath(run),
            ]
        )
    }

    private func showsOutput(_ run: GatewayRun) -> Bool {
        !release.hidesToolOutput || run.session.verboseLevel == "full"
    }

    private func workspacePath(_ run: GatewayRun) -> String {
        agent(run.session.agentID)?.path ?? "/home/demo/.openclaw/workspace"
    }

    /// Tool frames go, without a number, to the senders who asked for them; subscribers get the same as `session.tool`.
    private func tool(_ run: GatewayRun, _ data: WireValue) {
        var payload = agentPayload(run, stream: "tool", data, seq: run.nextSeq())
        if release >= .june {
            let session = run.session
            payload = payload.adding([
                "session": session.row(release: release, hasActiveRun: true), "updatedAt": session.updatedAt,
                "sessionId": session.sessionID, "kind": "direct", "chatType": "direct",
                "origin": GatewaySession.origin, "deliveryContext": GatewaySession.deliveryContext,
                "verboseLevel": session.verboseLevel, "systemSent": true, "inputTokens": session.inputTokens,
                "outputTokens": session.outputTokens, "lastChannel": "webchat", "totalTokens": session.inputTokens,
                "totalTokensFresh": true, "goal": WireValue.null, "contextTokens": 200_000,
                "estimatedCostUsd": session.estimatedCost, "modelProvider": "demo", "model": session.model ?? "demo-1",
                "status": "running", "startedAt": session.startedAt, "abortedLastRun": session.wasAborted,
            ])
        }
        let direct = connections.values.filter {
            run.recipients.contains($0.id) && $0.caps.contains("tool-events")
                && (!release.needsReadScopeForEvents || $0.may("operator.read"))
        }
        send("agent", payload, to: direct)
        guard release.hasSubscriptions else { return }
        let reached = Set(direct.map(\.id))
        send("session.tool", payload, to: subscribers(of: run.session.key).filter { !reached.contains($0.id) })
    }

    private func item(
        _ run: GatewayRun,
        _ planned: RunTimeline.PlannedCall,
        _ kind: String,
        _ state: WireValue,
        _ rest: WireValue
    ) {
        guard release.hasItemStreams else { return }
        let title = kind == "command" ? "command \(planned.call.meta)" : "\(planned.call.name) \(planned.call.meta)"
        let head: WireValue = ["itemId": "\(kind):\(planned.id)"]
        let middle: WireValue = [
            "kind": kind, "title": title, "name": planned.call.name, "meta": planned.call.meta,
            "toolCallId": planned.id,
        ]
        agent(run, stream: "item", head.adding(state).adding(middle).adding(rest))
    }

    private func commandOutput(_ run: GatewayRun, _ planned: RunTimeline.PlannedCall, _ rest: WireValue) {
        guard release.hasItemStreams else { return }
        let head: WireValue = [
            "itemId": "command:\(planned.id)", "title": "command \(planned.call.meta)", "toolCallId": planned.id,
            "name": planned.call.name,
        ]
        agent(run, stream: "command_output", head.adding(rest))
    }

    private func apply(_ effect: DemoScript.Effect?, _ run: GatewayRun) {
        guard let effect, let place = agents.firstIndex(where: { $0.id == run.session.agentID }) else { return }
        switch effect {
        case .writeFiles(let files):
            for (name, text) in files {
                agents[place].files[name] = .init(content: Array(text.utf8), updatedAt: wallMs)
            }
        case .rename(let name):
            let old = agents[place].files["IDENTITY.md"].map { String(decoding: $0.content, as: UTF8.self) } ?? ""
            var lines = old.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
            if let line = lines.firstIndex(where: { $0.hasPrefix("- **Name:**") }) {
                lines[line] = "- **Name:** \(name)"
                // The template's placeholder stands on the line below.
                if line + 1 < lines.count, lines[line + 1].hasPrefix("  _(") { lines.remove(at: line + 1) }
            } else {
                lines.append("- **Name:** \(name)")
            }
            agents[place].files["IDENTITY.md"] = .init(
                content: Array(lines.joined(separator: "\n").utf8),
                updatedAt: wallMs
            )
        }
    }
}
