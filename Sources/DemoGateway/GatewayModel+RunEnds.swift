/// How a run ends: with its answer, a failure or an abort; and what then comes next in its session.
extension GatewayModel {
    /// Results of ended runs that `agent.wait` still knows.
    private static let finishedLimit = 1_000

    func finishing(_ run: GatewayRun) {
        commitAnswer(run)
        guard release >= .june else { return }
        flushAgentText(run)
        lifecycle(
            run,
            [
                "phase": "finishing", "stopReason": "stop", "aborted": false, "livenessState": "working",
                "replayInvalid": run.usedTools ? true : nil, "endedAt": wallMs,
            ]
        )
    }

    func end(_ run: GatewayRun) {
        let later: WireValue = ["stopReason": "stop", "aborted": false, "livenessState": "working"]
        let base: WireValue = ["phase": "end", "endedAt": wallMs]
        lifecycle(run, release >= .june ? later.adding(base).adding(["replayInvalid": run.usedTools]) : base)
        if release >= .june { flushChatText(run, seq: run.seq) }
        let shown = release.restartsTextAfterTools ? run.blockText : run.wholeText
        chat(
            run,
            seq: run.seq,
            [
                "state": "final", "stopReason": release >= .june ? "stop" : nil,
                "message": run.isSilent || shown.isEmpty ? nil : message(shown),
            ]
        )
        close(run, status: "ok", sessionStatus: "done", summary: "completed")
    }

    func fail(_ run: GatewayRun, _ failure: DemoScript.ProviderFailure) {
        commitUserRow(run)
        append(
            row(
                .assistant(stopReason: "error", error: release == .march ? failure.detail : nil, usage: nil),
                release == .march ? [] : [.text("The agent run failed before producing a reply.")]
            ),
            to: run.session
        )
        let shown = release == .march ? failure.marchText : failure.laterText
        if release >= .june { announceFallback(run, failure) }
        let head: WireValue = release >= .june ? ["aborted": false, "livenessState": "blocked"] : [:]
        let tail: WireValue = release >= .june ? ["fallbackExhaustedFailure": true] : [:]
        let body: WireValue =
            release >= .june
            ? ["phase": "error", "endedAt": wallMs, "error": shown]
            : ["phase": "error", "error": shown, "endedAt": wallMs]
        lifecycle(run, head.adding(body).adding(tail))
        chat(
            run,
            seq: run.seq,
            [
                "state": "error", "errorMessage": shown, "message": release >= .june ? message(shown) : nil,
                "errorKind": release >= .june ? failure.kind : nil,
            ]
        )
        if release >= .june {
            // The same failure once more, as the agent's command reports it, under a counter of its own.
            chat(
                run,
                seq: 1,
                ["state": "error", "errorMessage": failure.finalText, "message": message(failure.finalText)]
            )
        }
        close(run, status: "error", sessionStatus: "failed", summary: shown)
    }

    private func announceFallback(_ run: GatewayRun, _ failure: DemoScript.ProviderFailure) {
        lifecycle(
            run,
            [
                "phase": "finishing", "error": failure.laterText, "aborted": false, "livenessState": "blocked",
                "endedAt": wallMs,
            ]
        )
        lifecycle(
            run,
            [
                "phase": "fallback_step", "fallbackStepType": "fallback_step", "fallbackStepFromModel": "demo/demo-1",
                "fallbackStepFromFailureReason": failure.reason, "fallbackStepFromFailureDetail": failure.detail,
                "fallbackStepChainPosition": 1, "fallbackStepFinalOutcome": "chain_exhausted",
            ]
        )
    }

    func abort(_ run: GatewayRun, reason: String) {
        let seq = run.nextSeq()
        let partial = release.restartsTextAfterTools ? run.blockText : run.wholeText
        let key = release == .march ? run.rawKey : run.session.key
        let aborted: WireValue = [
            "runId": run.id, "sessionKey": key, "seq": seq, "state": "aborted", "stopReason": reason,
            "message": partial.isEmpty ? nil : message(partial),
        ]
        broadcast("chat", aborted, scope: readerScope)
        if release >= .june {
            agent(
                run,
                stream: "lifecycle",
                [
                    "phase": "end", "status": "cancelled", "aborted": true, "stopReason": reason,
                    "startedAt": run.startedAt ?? run.acceptedAt, "endedAt": wallMs,
                ],
                seq: seq
            )
            announceLateEnd(of: run)
        }
        if release == .march, !partial.isEmpty {
            // March writes the partial answer twice, once before the user's row.
            var note = injected(partial, key: "\(run.id):assistant")
            note.kind = .injected(key: "\(run.id):assistant", abortedRun: (run.id, reason))
            append(note, to: run.session)
        }
        commitUserRow(run)
        if !partial.isEmpty || !run.thinking.isEmpty {
            append(
                row(
                    .assistant(stopReason: "aborted", error: "Request was aborted", usage: nil),
                    thinkingBlock(run) + (partial.isEmpty ? [] : [.text(run.blockText)])
                ),
                to: run.session
            )
        }
        run.session.wasAborted = true
        if let approval = run.approvalID { approvals.removeAll { $0.id == approval } }
        close(run, status: "ok", sessionStatus: "killed", summary: "aborted")
    }

    /// June lets the agent's own end trail behind an abort, counted from one again: readers must ignore it.
    private func announceLateEnd(of run: GatewayRun) {
        let runID = run.id
        let session = run.session
        schedule(afterMs: paced(100)) { model in
            for (seq, phase) in ["finishing", "end"].enumerated() {
                let data: WireValue = [
                    "phase": phase, "stopReason": "aborted", "aborted": true, "livenessState": "working",
                    "endedAt": model.wallMs,
                ]
                model.broadcast(
                    "agent",
                    [
                        "runId": runID, "sessionKey": session.key, "stream": "lifecycle", "data": data, "seq": seq + 1,
                        "ts": model.wallMs,
                    ],
                    scope: model.readerScope
                )
            }
        }
    }

    private func close(_ run: GatewayRun, status: String, sessionStatus: String, summary: String) {
        let session = run.session
        runs[run.id] = nil
        activeRuns[session.key] = nil
        session.status = sessionStatus
        session.endedAt = wallMs
        session.updatedAt = wallMs
        storeOutcome(of: run.id, isError: status == "error", summary: summary)
        finish(
            runID: run.id,
            status: status,
            startedAt: run.startedAt ?? run.acceptedAt,
            error: status == "error" ? summary : nil
        )
        sessionChanged(session, ["phase": status == "error" ? "error" : "end", "runId": run.id])
        startQueued(session)
    }

    private func startQueued(_ session: GatewaySession) {
        guard var waiting = queues[session.key], !waiting.isEmpty else { return }
        let next = waiting.removeFirst()
        queues[session.key] = waiting.isEmpty ? nil : waiting
        start(next, id: release.renamesQueuedRuns ? primitives.uuid() : next.key, in: session)
    }

    func finish(runID: String, status: String, startedAt: Int64, error: String?) {
        finishedRuns[runID] = FinishedRun(status: status, startedAt: startedAt, endedAt: wallMs, error: error)
        finishedOrder.append(runID)
        while finishedOrder.count > Self.finishedLimit { finishedRuns[finishedOrder.removeFirst()] = nil }
        answerWaits(for: runID)
    }
}
