import Basics
import JSONBytes

/// `chat.*`: acceptance, history, abort, notes.
extension GatewayModel {
    private static let stopPhrases: Set<String> = [
        "stop", "esc", "abort", "wait", "exit", "interrupt", "halt", "stopp", "pare", "detente", "arrête", "停止", "やめて",
        "стоп", "please stop", "stop please", "do not do that", "don't do that", "stop openclaw", "stop action",
        "stop run", "stop agent",
    ]

    static func isStop(_ message: String) -> Bool {
        var text = message.lowercased()
        while let last = text.last, " \n\t.!?,;:…".contains(last) { text.removeLast() }
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        return text == "/stop" || stopPhrases.contains(text)
    }

    func chatSend(_ request: GatewayRequest) -> GatewayReply {
        guard let rawKey = request.string("sessionKey"), let key = request.string("idempotencyKey"),
            let sent = request.string("message")
        else { return .invalid("invalid chat.send params") }
        if request.params?["systemInputProvenance"] != nil || request.params?["systemProvenanceReceipt"] != nil {
            return .invalid("system provenance fields require admin scope")
        }
        if sent.unicodeScalars.contains("\0") { return .invalid("message must not contain null bytes") }
        let message = String(String.UnicodeScalarView(sent.unicodeScalars.filter(Self.isKept)))
        let attachments: [TranscriptRow.Block]
        switch attachmentBlocks(request.params?["attachments"]) {
        case .success(let blocks): attachments = blocks
        case .failure(let error): return .failed(error)
        }
        if message.allSatisfy(\.isWhitespace), attachments.isEmpty {
            return .invalid("message or attachment required")
        }
        guard let canonical = canonical(rawKey) else { return .invalid("malformed session key: \(rawKey)") }
        let agentID = String(canonical.split(separator: ":", maxSplits: 2).dropFirst().first ?? "main")
        if release >= .june, agent(agentID) == nil {
            return .invalid("Agent \"\(agentID)\" no longer exists in configuration")
        }
        if Self.isStop(message) {
            return .ok(abortResult(abortAll(of: canonical, reason: "stop")))
        }
        if let known = knownKey(key) { return known }
        if GatewayFaults.strikes(&faults.loseSend) {
            drop(request.connection)
            return .handled
        }
        if GatewayFaults.strikes(&faults.sendError) {
            var error = GatewayError(faults.sendErrorCode, "demo: send refused")
            if faults.retryAfterMs > 0 {
                error.isRetryable = true
                error.retryAfterMs = faults.retryAfterMs
            }
            return .failed(error)
        }
        accept(request, key: key, rawKey: rawKey, canonical: canonical, message: message, attachments: attachments)
        return .handled
    }

    /// Control characters go, line ends and tabs stay.
    private static func isKept(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x20 && scalar.value != 0x7f || scalar == "\n" || scalar == "\t" || scalar == "\r"
    }

    /// The answer for a key that runs or ran lately, whatever text comes with it.
    private func knownKey(_ key: String) -> GatewayReply? {
        let isQueued = queues.values.contains { $0.contains { $0.key == key } }
        if runs[key] != nil || (isQueued && !release.renamesQueuedRuns) {
            return .ok(["runId": key, "status": "in_flight"])
        }
        guard let outcome = dedupe.outcome(for: key, now: wallMs) else { return nil }
        if outcome.isError {
            return .failed(
                GatewayError("UNAVAILABLE", outcome.summary),
                payload: ["runId": outcome.runID, "status": "error", "summary": outcome.summary]
            )
        }
        return .ok(["runId": outcome.runID, "status": "ok"])
    }

    private func accept(
        _ request: GatewayRequest,
        key: String,
        rawKey: String,
        canonical: String,
        message: String,
        attachments: [TranscriptRow.Block]
    ) {
        let connection = request.connection
        accepted += 1
        record(["key": key, "session": canonical, "text": message, "time": now.wall.rfc3339])
        acknowledge(request, key: key)
        let userRow = TranscriptRow(
            id: primitives.shortID(),
            kind: .user(key: key),
            blocks: (message.isEmpty ? [] : [.text(message)]) + attachments,
            timestamp: wallMs,
            recordedAt: wallMs
        )
        if message.hasPrefix("/"), !message.hasPrefix("//") {
            schedule(afterMs: paced(60)) { model in
                model.runCommand(message, key: key, rawKey: rawKey, canonical: canonical, userRow: userRow)
            }
            return
        }
        let queued = QueuedMessage(
            key: key,
            rawKey: rawKey,
            message: message,
            userRow: userRow,
            owner: connection.id,
            ownerDevice: connection.deviceID,
            acceptedAt: wallMs
        )
        guard let active = activeRuns[canonical] else { return start(queued, id: key, in: session(canonical)) }
        runs[active]?.recipients.insert(connection.id)
        queues[canonical, default: []].append(queued)
        if release.renamesQueuedRuns {
            // March answers the queued send at once and without text; the reply comes later under another id.
            schedule(afterMs: paced(40)) { model in
                model.storeOutcome(of: key, isError: false, summary: "completed")
                model.broadcast("chat", ["runId": key, "sessionKey": canonical, "seq": 1, "state": "final"])
            }
        }
    }

    /// Sends `started`, or does what the faults want with it.
    private func acknowledge(_ request: GatewayRequest, key: String) {
        let connection = request.connection
        let bytes = response(request.id, ok: ["runId": key, "status": "started"])
        if GatewayFaults.strikes(&faults.closeBeforeAck) { return drop(connection) }
        if faults.slowAckMs > 0 {
            let id = connection.id
            schedule(afterMs: faults.slowAckMs) { model in
                guard let connection = model.connections[id] else { return }
                model.emit(bytes, to: connection)
            }
            return
        }
        emit(bytes, to: connection)
        if GatewayFaults.strikes(&faults.doubleAck) { emit(bytes, to: connection) }
        if GatewayFaults.strikes(&faults.garbage) { emit(Array("not json".utf8), to: connection) }
        if GatewayFaults.strikes(&faults.ackThenClose) { drop(connection) }
    }

    func storeOutcome(of key: String, isError: Bool, summary: String) {
        guard !faults.lostDedupe else { return }
        dedupe.store(.init(runID: key, isError: isError, summary: summary), for: key, now: wallMs)
    }

    // MARK: - Attachments

    /// March takes images up to this size and drops everything else in silence.
    private static let marchImageLimit = 5_000_000
    private static let imageLimit = 6_291_456
    private static let fileLimit = 20_971_520

    private func attachmentBlocks(_ value: JSONValue?) -> Result<[TranscriptRow.Block], GatewayError> {
        var blocks: [TranscriptRow.Block] = []
        for (place, item) in (value?.elements.map { $0 } ?? []).enumerated() {
            let name = item["fileName"]?.string ?? item["type"]?.string ?? "attachment-\(place + 1)"
            guard var text = item["content"]?.string ?? item["source"]?["data"]?.string else {
                if release == .march { continue }
                return .failure(.invalid("Error: attachment \(name): content must be base64 string"))
            }
            if text.hasPrefix("data:"), let comma = text.firstIndex(of: ",") {
                text = String(text[text.index(after: comma)...])
            }
            guard let bytes = Base64.decode(text, as: .standard), !bytes.isEmpty else {
                return .failure(.invalid("Error: attachment \(name): invalid base64 content"))
            }
            let image = Self.imageType(bytes)
            let limit = image == nil ? Self.fileLimit : release == .march ? Self.marchImageLimit : Self.imageLimit
            if bytes.count > limit, image != nil || release != .march {
                return .failure(
                    .invalid("Error: attachment \(name): exceeds size limit (\(bytes.count) > \(limit) bytes)")
                )
            }
            if let image {
                blocks.append(.image(mimeType: image, bytes: bytes.count))
            } else if release >= .june {
                blocks.append(.text("[file: \(name), \(bytes.count) bytes]"))
            }
        }
        return .success(blocks)
    }

    private static func imageType(_ bytes: [UInt8]) -> String? {
        if bytes.starts(with: [0x89, 0x50, 0x4e, 0x47]) { return "image/png" }
        if bytes.starts(with: [0xff, 0xd8, 0xff]) { return "image/jpeg" }
        if bytes.starts(with: [0x47, 0x49, 0x46, 0x38]) { return "image/gif" }
        if bytes.count > 12, bytes.starts(with: [0x52, 0x49, 0x46, 0x46]), bytes[8..<12].elementsEqual("WEBP".utf8) {
            return "image/webp"
        }
        return nil
    }

    // MARK: - Abort

    func chatAbort(_ request: GatewayRequest) -> GatewayReply {
        guard let rawKey = request.string("sessionKey") else { return .invalid("invalid chat.abort params") }
        func mayAbort(_ ownerDevice: String?, _ recipients: Set<ConnectionID>) -> Bool {
            let connection = request.connection
            return connection.may("operator.admin") || recipients.contains(connection.id)
                || (ownerDevice != nil && ownerDevice == connection.deviceID)
        }
        if let runID = request.string("runId") {
            if let run = runs[runID] {
                let isSame = release == .march ? run.rawKey == rawKey : run.session.key == canonical(rawKey)
                guard isSame else { return .invalid("runId does not match sessionKey") }
                guard mayAbort(run.ownerDevice, run.recipients) else { return .invalid("unauthorized") }
                abort(run, reason: "rpc")
                return .ok(abortResult([runID]))
            }
            if !release.renamesQueuedRuns, let session = canonical(rawKey), dequeue(runID, from: session) {
                return .ok(abortResult([runID]))
            }
            return .ok(abortResult([]))
        }
        // Without a run id March compares the literal key of the send, June takes the canonical one only.
        let found = runs.values.filter { run in
            (release == .march ? run.rawKey : run.session.key) == rawKey && mayAbort(run.ownerDevice, run.recipients)
        }
        guard let session = found.first?.session.key else { return .ok(abortResult([])) }
        return .ok(abortResult(abortAll(of: session, reason: "rpc")))
    }

    private func abortResult(_ runIDs: [String]) -> WireValue {
        ["ok": true, "aborted": !runIDs.isEmpty, "runIds": runIDs]
    }

    private func abortAll(of session: String, reason: String) -> [String] {
        guard let active = activeRuns[session], let run = runs[active] else { return [] }
        var aborted = [active]
        if !release.renamesQueuedRuns {
            let waiting = (queues.removeValue(forKey: session) ?? []).map(\.key)
            abort(run, reason: reason)
            for key in waiting { abortQueued(key, session: session, reason: reason) }
            aborted += waiting
        } else {
            abort(run, reason: reason)
        }
        return aborted
    }

    private func dequeue(_ key: String, from session: String) -> Bool {
        guard let place = queues[session]?.firstIndex(where: { $0.key == key }) else { return false }
        queues[session]?.remove(at: place)
        abortQueued(key, session: session, reason: "rpc")
        return true
    }

    private func abortQueued(_ key: String, session: String, reason: String) {
        storeOutcome(of: key, isError: false, summary: "aborted")
        finish(runID: key, status: "ok", startedAt: wallMs, error: nil)
        broadcast(
            "chat",
            ["runId": key, "sessionKey": session, "seq": 1, "state": "aborted", "stopReason": reason],
            scope: readerScope
        )
    }
}
