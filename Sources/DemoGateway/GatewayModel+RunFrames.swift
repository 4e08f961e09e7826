/// The frames and rows a run leaves behind.
extension GatewayModel {
    // MARK: - Frames of a run

    func lifecycle(_ run: GatewayRun, _ data: WireValue) {
        agent(run, stream: "lifecycle", data, seq: run.nextSeq(), isLifecycle: true)
    }

    func agent(_ run: GatewayRun, stream: String, _ data: WireValue) {
        agent(run, stream: stream, data, seq: run.nextSeq())
    }

    func agentPayload(
        _ run: GatewayRun,
        stream: String,
        _ data: WireValue,
        seq: Int,
        isLifecycle: Bool = false
    ) -> WireValue {
        [
            "runId": run.id, "stream": stream, "data": data, "sessionKey": run.session.key,
            "sessionId": isLifecycle && release >= .june ? run.session.sessionID : nil,
            "agentId": isLifecycle && release >= .june && data.namesAgent ? run.session.agentID : nil, "seq": seq,
            "ts": wallMs,
            "isHeartbeat": release >= .june ? false : nil,
        ]
    }

    func agent(
        _ run: GatewayRun,
        stream: String,
        _ data: WireValue,
        seq: Int,
        isLifecycle: Bool = false
    ) {
        let payload = agentPayload(run, stream: stream, data, seq: seq, isLifecycle: isLifecycle)
        broadcast("agent", payload, scope: readerScope)
    }

    func chat(_ run: GatewayRun, seq: Int, _ rest: WireValue) {
        let head: WireValue = ["runId": run.id, "sessionKey": run.session.key, "seq": seq]
        broadcast("chat", head.adding(rest), scope: readerScope)
    }

    func message(_ text: String) -> WireValue {
        [
            "role": "assistant", "content": [wireObject(["type": "text", "text": text])], "timestamp": wallMs,
        ]
    }

    // MARK: - Transcript

    var style: TranscriptStyle {
        TranscriptStyle(
            release: release,
            hidesKeys: faults.historyWithoutKeys,
            characterLimit: release.historyCharacterLimit
        )
    }

    func row(_ kind: TranscriptRow.Kind, _ blocks: [TranscriptRow.Block]) -> TranscriptRow {
        TranscriptRow(id: primitives.shortID(), kind: kind, blocks: blocks, timestamp: wallMs, recordedAt: wallMs)
    }

    func injected(_ text: String, key: String?) -> TranscriptRow {
        row(.injected(key: key, abortedRun: nil), [.text(text)])
    }

    func append(_ row: TranscriptRow, to session: GatewaySession) {
        session.rows.append(row)
        if session.rows.count > Self.rowLimit { session.rows.removeFirst(session.rows.count - Self.rowLimit) }
        session.updatedAt = wallMs
        sessionMessage(row, session)
    }

    func commitUserRow(_ run: GatewayRun) {
        guard var row = run.userRow else { return }
        run.userRow = nil
        row.recordedAt = wallMs
        append(row, to: run.session)
    }

    func thinkingBlock(_ run: GatewayRun) -> [TranscriptRow.Block] {
        defer { run.thinking = "" }
        return run.thinking.isEmpty ? [] : [.thinking(run.thinking)]
    }

    func commitAnswer(_ run: GatewayRun) {
        commitUserRow(run)
        // A silent answer is not shown by the history at all.
        guard !run.isSilent, !run.blockText.isEmpty else { return }
        append(
            row(
                .assistant(stopReason: "stop", error: nil, usage: usage(run)),
                thinkingBlock(run) + [.text(run.blockText)]
            ),
            to: run.session
        )
    }

    func usage(_ run: GatewayRun) -> TranscriptRow.Usage {
        let used = TranscriptRow.Usage(
            input: 8_000 + run.message.utf8.count / 4,
            output: 8 + run.wholeText.utf8.count / 4
        )
        run.session.inputTokens = used.input
        run.session.outputTokens += used.output
        return used
    }
}

extension GatewayModel {
    /// Later releases send what is left of the text before a tool starts; March drops it until the next text.
    func flushTextBeforeTools(_ run: GatewayRun) {
        defer {
            run.unsentAgent = ""
            run.unsentChat = ""
            run.lastFlush = nil
        }
        guard release.gathersAgentText else { return }
        flushChatText(run, seq: run.seq + 1)
        flushAgentText(run)
    }
}

extension WireValue {
    /// Only the agent's own phases name it; what the command around it reports does not.
    fileprivate var namesAgent: Bool {
        guard case .object(let members) = self else { return false }
        let phase = members.first { $0.name == "phase" }?.value
        return phase == .string("start") || phase == .string("finishing")
    }
}
