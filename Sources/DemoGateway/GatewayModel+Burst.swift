/// Text deltas at a fixed rate for measuring fan-out: each carries its number and the monotonic clock at its sending.
extension GatewayModel {
    /// On protocol 3 frames are cumulative: the text starts over after so many deltas, as it does after a tool call.
    private static let blockLength = 64

    func burst(_ run: GatewayRun) {
        guard var burst = run.burst else { return }
        let elapsed = now.monotonic &- burst.startedAt
        // Doubles hold the products of the largest rates and a day; the count is what bounds the burst.
        let due = min(burst.count, Int(Double(elapsed) * Double(burst.perSecond) / 1e9) + 1)
        while burst.sent < due {
            delta(number: burst.sent, run, burst.stream)
            burst.sent += 1
        }
        run.burst = burst
        guard burst.sent < burst.count else {
            run.burst = nil
            run.unsentAgent = ""
            run.unsentChat = ""
            return resume(run)
        }
        schedule(afterMs: max(1, 1_000 / burst.perSecond)) { model in
            guard let current = model.runs[run.id], current === run else { return }
            model.burst(run)
        }
    }

    private func delta(number: Int, _ run: GatewayRun, _ stream: DemoScript.BurstStream) {
        // From 1 on, so that a reader tells the first from none.
        let piece = "{\"seq\":\(number + 1),\"ts_ns\":\(now.monotonic)}\n"
        if release.restartsTextAfterTools, number % Self.blockLength == 0 { run.blockText = "" }
        if run.blockText.utf8.count > DemoScript.longTextLimit { run.blockText = "" }
        run.blockText += piece
        if release >= .june, run.wholeText.utf8.count < DemoScript.longTextLimit { run.wholeText += piece }
        if release == .march { run.wholeText = run.blockText }
        let isFirst = !run.hasSentChatText
        if stream != .chat {
            let carriesText = release == .march || isFirst
            agent(run, stream: "assistant", ["text": carriesText ? run.blockText : nil, "delta": piece])
        }
        if stream != .agent {
            // Later releases append here in every case: cumulative frames would measure the building of text.
            let carriesMessage = release == .march || isFirst
            chat(
                run,
                seq: run.nextSeq(),
                [
                    "state": "delta", "deltaText": release == .march ? nil : piece,
                    "message": carriesMessage ? message(run.blockText) : nil,
                ]
            )
        }
        run.hasSentChatText = true
    }
}
