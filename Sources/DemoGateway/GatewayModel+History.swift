import Basics
import JSONBytes

/// Reading and annotating transcripts.
extension GatewayModel {
    func chatHistory(_ request: GatewayRequest) -> GatewayReply {
        guard let rawKey = request.string("sessionKey") else { return .invalid("invalid chat.history params") }
        guard let canonical = canonical(rawKey) else { return .invalid("malformed session key: \(rawKey)") }
        let found = sessions[canonical]
        let limit = Int(request.int("limit") ?? 200)
        let style = TranscriptStyle(
            release: release,
            hidesKeys: faults.historyWithoutKeys,
            characterLimit: request.int("maxChars").map { Int($0) } ?? release.historyCharacterLimit
        )
        let rows = found?.rows ?? []
        let skipped = min(Int(clamping: request.int("offset") ?? 0), rows.count)
        let end = rows.count - skipped
        let start = max(0, end - limit)
        let messages = (start..<end).map { style.wire(rows[$0], seq: $0 + 1) }
        var result: WireValue = [
            "sessionKey": rawKey, "sessionId": found?.sessionID, "messages": messages,
            "thinkingLevel": found?.thinkingLevel ?? "low", "verboseLevel": found?.verboseLevel,
        ]
        if release >= .june, let found {
            let active = queues[canonical]?.last?.key ?? activeRuns[canonical]
            let text = active.flatMap { runs[$0]?.wholeText } ?? ""
            result = result.adding([
                "defaults": modelDefaults, "sessionInfo": found.row(release: release, hasActiveRun: active != nil),
                "inFlightRun": active.map { wireObject(["runId": $0, "text": text]) },
            ])
        }
        if release == .autumn {
            result = result.adding(["hasMore": start > 0, "nextOffset": start > 0 ? rows.count - start : nil])
        }
        return .ok(result)
    }

    /// Takes recorded messages into the history, as a gateway that keeps its transcripts on disk has them after a crash.
    func recall(_ lines: [[UInt8]]) {
        for line in lines {
            guard let root = try? JSONDocument(parsing: line).root, let text = root["text"]?.string,
                let key = root["key"]?.string, let canonical = root["session"]?.string,
                let at = root["time"]?.string.flatMap({ Timestamp(rfc3339: $0) })?.milliseconds
            else { continue }
            session(canonical).rows.append(
                TranscriptRow(
                    id: primitives.shortID(),
                    kind: .user(key: key),
                    blocks: [.text(text)],
                    timestamp: at,
                    recordedAt: at
                )
            )
        }
    }

    func chatMessage(_ request: GatewayRequest) -> GatewayReply {
        guard let canonical = request.string("sessionKey").flatMap({ canonical($0) }),
            let rows = sessions[canonical]?.rows,
            let place = rows.firstIndex(where: { $0.id == request.string("messageId") })
        else { return .ok(["ok": false, "unavailableReason": "not_found"]) }
        let style = TranscriptStyle(
            release: release,
            hidesKeys: faults.historyWithoutKeys,
            characterLimit: request.int("maxChars").map { Int($0) } ?? 2_000_000
        )
        return .ok(["ok": true, "message": style.wire(rows[place], seq: place + 1)])
    }

    func chatInject(_ request: GatewayRequest) -> GatewayReply {
        guard let rawKey = request.string("sessionKey"), let canonical = canonical(rawKey),
            let message = request.string("message")
        else { return .invalid("invalid chat.inject params") }
        guard let session = sessions[canonical] else { return .invalid("session not found") }
        let text = request.string("label").map { "[\($0)]\n\n\(message)" } ?? message
        let row = injected(text, key: nil)
        append(row, to: session)
        broadcast(
            "chat",
            [
                "runId": "inject-\(row.id)", "sessionKey": canonical, "seq": 0, "state": "final",
                "message": style.bare(row),
            ],
            scope: readerScope
        )
        return .ok(["ok": true, "messageId": row.id])
    }
}
