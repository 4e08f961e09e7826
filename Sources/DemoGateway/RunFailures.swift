/// The provider's failures in one run: its attempts, each release's reports of them, and the end.
final class RunFailures {
    typealias Failure = DemoScript.ProviderFailure

    /// The callbacks by which a failure controls its run.
    struct Steering {
        /// Does something later, unless the run is over by then.
        var after: (_ ms: Int, _ work: @escaping () -> Void) -> Void
        /// Continues the run after the failure.
        var resume: () -> Void
        var end: (DemoRun.Ending) -> Void
    }

    private static let attemptMs = 1_300
    private static let compactionMs = 500
    private static let secondErrorMs = 80
    private static let overflowRounds = 4

    private let frames: RunFrames
    private let transcript: RunTranscript
    private let session: DemoSession
    private unowned let host: DemoHost
    private var attempts = 0

    private var release: DemoRelease { host.release }
    private var policy: ReleaseShape.Failures { host.shape.failures }
    private var now: Int64 { host.clock.wallMs }

    init(_ frames: RunFrames, _ transcript: RunTranscript, _ session: DemoSession, _ host: DemoHost) {
        self.frames = frames
        self.transcript = transcript
        self.session = session
        self.host = host
    }

    func play(_ failure: Failure, _ run: Steering) {
        if failure.isOverflow, policy.compacts { return overflow(failure, round: 1, run) }
        failAttempt(failure)
        let delays =
            failure.isOverflow ? [] : failure.isTransient ? policy.transientRetryMs : policy.lastingRetryMs
        guard attempts < delays.count else { return giveUp(failure, run) }
        attempts += 1
        if policy.tellsFirst, attempts == 1 {
            frames.chatEnd(["state": "error", "errorMessage": shown(failure)])
            // No client gets the rest of the run.
            frames.isChatMuted = true
        }
        run.after(delays[attempts - 1]) { [self] in
            startAttempt(writesRow: policy.repeatsRow)
            if failure.isTransient { return run.resume() }
            run.after(Self.attemptMs) { [self] in play(failure, run) }
        }
    }

    private func shown(_ failure: Failure) -> String { release < .june ? failure.marchText : failure.laterText }

    // MARK: - Attempts

    private func startAttempt(writesRow: Bool) {
        if release == .march { frames.reportGap() }
        session.startedAt = now
        frames.lifecycle(["phase": "start", "startedAt": now], namesAgent: true)
        host.sessions.announceChange(of: session, phase: "start", runID: frames.id)
        if writesRow { transcript.repeatUserRow() }
    }

    private func failAttempt(_ failure: Failure) {
        let isEarlier = release < .june
        if !release.reportsFailuresOnce { writeRow(failure) }
        let shown = shown(failure)
        guard !isEarlier else {
            let state: WireValue = ["livenessState": release == .april ? "blocked" : nil]
            return frames.lifecycle(wireObject(["phase": "error", "endedAt": now, "error": shown]).adding(state))
        }
        frames.lifecycle(
            [
                "phase": "finishing", "error": shown, "endedAt": now, "aborted": false, "livenessState": "blocked",
            ],
            namesAgent: true
        )
        guard !failure.isOverflow else { return }
        frames.lifecycle([
            "phase": "fallback_step", "fallbackStepType": "fallback_step", "fallbackStepFromModel": "demo/demo-1",
            "fallbackStepFromFailureReason": failure.reason, "fallbackStepFromFailureDetail": failure.detail,
            "fallbackStepChainPosition": 1, "fallbackStepFinalOutcome": "chain_exhausted",
        ])
    }

    private func writeRow(_ failure: Failure) {
        let isEarlier = release < .june
        transcript.append(
            .assistant(stopReason: "error", error: isEarlier ? failure.detail : nil, usage: nil),
            isEarlier ? [] : [.text("The agent run failed before producing a reply.")]
        )
    }

    private func giveUp(_ failure: Failure, _ run: Steering) {
        guard release < .june else { return tellLater(failure, run) }
        guard !frames.isChatMuted else { return run.end(.failed(shown(failure))) }
        let kind = release == .april ? failure.kind : nil
        let tell = { [self] in
            frames.chatEnd(["state": "error", "errorMessage": shown(failure), "errorKind": kind])
            run.end(.failed(shown(failure)))
        }
        if policy.lastErrorMs == 0 { tell() } else { run.after(policy.lastErrorMs, tell) }
        guard failure.isOverflow, release == .march else { return }
        // March tries a compaction after its last report.
        frames.reportGap()
        frames.agent("compaction", ["phase": "start"])
        frames.agent("compaction", ["phase": "end", "willRetry": false])
    }

    /// Later releases report a failure twice: by the agent, and by the command that ran it, numbered separately.
    private func tellLater(_ failure: Failure, _ run: Steering) {
        let shown = failure.laterText
        frames.lifecycle([
            "aborted": false, "livenessState": "blocked", "phase": "error", "endedAt": now, "error": shown,
            "fallbackExhaustedFailure": failure.isOverflow ? nil : true,
            "executionSettled": release.namesRuns ? true : nil,
        ])
        if release.reportsFailuresOnce { return tellOnce(failure, run) }
        let first = failure.isOverflow ? failure.finalText : shown
        frames.chat([
            "state": "error", "errorMessage": first, "message": frames.message(first), "errorKind": failure.kind,
        ])
        let second = failure.isOverflow ? shown : failure.finalText
        let tell = { [frames] in
            frames.chat(["state": "error", "errorMessage": second, "message": frames.message(second)], seq: 1)
        }
        if failure.isOverflow, policy.lastErrorMs > 0 {
            return run.after(policy.lastErrorMs) {
                tell()
                run.end(.failed(shown))
            }
        }
        run.end(.failed(shown))
        host.clock.after(ms: host.clock.paced(Self.secondErrorMs), tell)
    }

    private func tellOnce(_ failure: Failure, _ run: Steering) {
        transcript.append(.failedRun, [.text("This turn ended before a reply.")])
        let text = failure.laterText
        frames.chatEnd(["state": "error", "errorMessage": text, "errorKind": failure.kind ?? "unknown"])
        run.end(.failed(text))
    }

    // MARK: - Overflow of the context

    /// An attempt, a compaction, another attempt; after four rounds April gives up the session without a word.
    private func overflow(_ failure: Failure, round: Int, _ run: Steering) {
        failAttempt(failure)
        frames.agent("compaction", ["phase": "start"])
        run.after(Self.compactionMs) { [self] in
            frames.agent("compaction", ["phase": "end", "willRetry": true, "completed": true])
            transcript.append(.compaction, [.text("Compaction")])
            startAttempt(writesRow: false)
            run.after(50) { [self] in
                failAttempt(failure)
                frames.agent("compaction", ["phase": "end", "willRetry": false, "completed": false])
                guard round == Self.overflowRounds else {
                    return run.after(policy.overflowRoundMs) { [self] in
                        startAttempt(writesRow: true)
                        run.after(50) { [self] in overflow(failure, round: round + 1, run) }
                    }
                }
                guard release < .june else { return tellLater(failure, run) }
                host.sessions.startOver(session)
                run.end(.dropped)
            }
        }
    }
}
