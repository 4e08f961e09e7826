import JSONBytes

/// The life of a run: beats of its script, one after another, until the end, an abort or a failure.
extension GatewayModel {
    /// Chat deltas of a run go out at most this often.
    private static let throttleMs = 150

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
}
