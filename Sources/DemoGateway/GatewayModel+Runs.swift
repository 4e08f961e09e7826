import JSONBytes

/// The life of a run: beats of its script, one after another, until the end, an abort or a failure.
extension GatewayModel {
    /// Chat deltas of a run go out at most this often.
    private static let throttleMs = 150
    /// Results of ended runs that `agent.wait` still knows.
    private static let finishedLimit = 1_000

    func start(_ queued: QueuedMessage, id: String, in session: GatewaySession) {
        let workspace = session.agentID
        let script = DemoScript.matching(queued.message) { [self] name in
            agent(workspace)?.files[name].map { String(decoding: $0.content, as: UTF8.self) }
        }
        let run = GatewayRun(
            id: id,
            rawKey: queued.rawKey,
            session: session,
            message: queued.message,
            timeline: RunTimeline(script, callID: newCallID),
            owner: queued.owner,
            ownerDevice: queued.ownerDevice,
            acceptedAt: queued.acceptedAt,
            userRow: queued.userRow
        )
        runs[id] = run
        activeRuns[session.key] = id
        session.updatedAt = wallMs
        schedule(nextOf: run)
    }

    private func newCallID() -> String {
        callCounter += 1
        return "call_\(wallMs % 1_000_000_000)_\(callCounter)"
    }

    private func schedule(nextOf run: GatewayRun) {
        guard run.place < run.timeline.beats.count else { return }
        let id = run.id
        schedule(afterMs: paced(run.timeline.beats[run.place].delayMs)) { model in
            // The same object, so that a run of the same id after a restart is not driven by an old timer.
            guard let current = model.runs[id], current === run else { return }
            model.play(run)
        }
    }

    private func play(_ run: GatewayRun) {
        let beat = run.timeline.beats[run.place].beat
        run.place += 1
        switch beat {
        case .start: begin(run)
        case .think(let text): think(text, run)
        case .text(let piece): stream(piece, run)
        case .commitCalls(let calls): commitCalls(calls, run)
        case .toolStart(let planned): toolStart(planned, run)
        case .toolUpdate(let planned, let output): toolUpdate(planned, output, run)
        case .toolResult(let planned): toolResult(planned, run)
        case .awaitApproval(let planned, let command):
            if requestApproval(planned, command, run) { return }
        case .burst(let count, let perSecond, let stream):
            run.burst = GatewayRun.Burst(
                count: count,
                perSecond: perSecond,
                stream: stream,
                startedAt: now.monotonic
            )
            return burst(run)
        case .fail(let failure): return fail(run, failure)
        case .silent: run.isSilent = true
        case .finishing: finishing(run)
        case .end: return end(run)
        }
        schedule(nextOf: run)
    }

    /// Takes a run up again that stood still.
    func resume(_ run: GatewayRun) { schedule(nextOf: run) }

    // MARK: - Text

    private func begin(_ run: GatewayRun) {
        run.startedAt = wallMs
        run.session.startedAt = wallMs
        run.session.status = "running"
        if options.storesUserRowAtOnce { commitUserRow(run) }
        lifecycle(run, ["phase": "start", "startedAt": wallMs])
        sessionChanged(run.session, ["phase": "start", "runId": run.id])
    }

    private func think(_ text: String, _ run: GatewayRun) {
        run.thinking += text
        guard run.session.reasoningLevel == "stream", release >= .june else { return }
        agent(run, stream: "thinking", ["text": run.thinking, "delta": text])
    }

    private func stream(_ piece: String, _ run: GatewayRun) {
        run.blockText += piece
        run.wholeText += piece
        run.unsentChat += piece
        let isDue = run.lastFlush.map { now.monotonic &- $0 >= UInt64(paced(Self.throttleMs)) * 1_000_000 } ?? true
        if release.gathersAgentText {
            run.seq += 1
            run.unsentAgent += piece
            guard isDue else { return }
            flushAgentText(run)
            flushChatText(run, seq: run.seq)
        } else {
            agent(run, stream: "assistant", ["text": run.blockText, "delta": piece])
            guard isDue else { return }
            flushChatText(run, seq: run.seq)
        }
        run.lastFlush = now.monotonic
    }

    /// Gathered text under the number the newest piece got.
    func flushAgentText(_ run: GatewayRun) {
        guard !run.unsentAgent.isEmpty else { return }
        let delta = run.unsentAgent
        run.unsentAgent = ""
        agent(run, stream: "assistant", ["text": run.blockText, "delta": delta], seq: run.seq)
    }

    func flushChatText(_ run: GatewayRun, seq: Int) {
        guard !run.unsentChat.isEmpty else { return }
        let delta = run.unsentChat
        run.unsentChat = ""
        let shown = release.restartsTextAfterTools ? run.blockText : run.wholeText
        let carriesMessage = !release.appendsOnly || !run.hasSentChatText
        run.hasSentChatText = true
        chat(
            run,
            seq: seq,
            [
                "state": "delta", "deltaText": release == .march ? nil : delta,
                "message": carriesMessage ? message(shown) : nil,
            ]
        )
    }

    // MARK: - Ends

    private func finishing(_ run: GatewayRun) {
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

    private func end(_ run: GatewayRun) {
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

    private func fail(_ run: GatewayRun, _ failure: DemoScript.ProviderFailure) {
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
