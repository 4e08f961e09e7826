import JSONBytes

/// One row of a session's transcript. `TranscriptStyle` writes it in the wire form of a release.
struct DemoRow {
    enum Block {
        case text(String)
        case thinking(String)
        case toolCall(id: String, name: String, arguments: WireValue)
        case image(mimeType: String, bytes: Int)
    }

    /// A file of a user's message that the gateway stored.
    struct Media {
        var path: String
        var mimeType: String
    }

    /// A client that sent a user's message.
    struct Sender {
        var id: String
        var mode: String
        var displayName: String?
    }

    enum Kind {
        case user(key: String?)
        case assistant(stopReason: String, error: String?, usage: Usage?)
        /// A row that the gateway itself wrote: the answer to a command, or the partial text of an aborted run.
        case injected(key: String?, abortedRun: (id: String, origin: String)?)
        case toolResult(callID: String, name: String, isError: Bool)
        /// The gateway has summarized the transcript.
        case compaction
        /// A run has failed before its reply.
        case failedRun
    }

    struct Usage {
        var input: Int
        var output: Int
    }

    var id: String
    var kind: Kind
    var blocks: [Block]
    var timestamp: Int64
    var recordedAt: Int64
    var media: [Media] = []
    /// The run that wrote the row, or that a user's message joined.
    var runID: String?
    var senders: [Sender] = []

    var isUser: Bool {
        if case .user = kind { true } else { false }
    }

    var plainText: String {
        blocks.compactMap { if case .text(let text) = $0 { text } else { nil } }.joined(separator: "\n")
    }

    var role: String {
        switch kind {
        case .user: "user"
        case .assistant, .injected: "assistant"
        case .toolResult: "toolResult"
        case .compaction: "system"
        case .failedRun: "custom"
        }
    }
}

/// Writes rows as `chat.history` and `session.message` show them.
struct TranscriptStyle {
    var release: DemoRelease
    /// The longest text; longer ones are cut.
    var characterLimit: Int

    static let marker = "\n...(truncated)..."

    func wire(_ row: DemoRow, seq: Int, isEvent: Bool = false) -> WireValue {
        bare(row).adding(identity(row, seq: seq, isEvent: isEvent))
    }

    /// The row without its position in the transcript, as in chat events.
    func bare(_ row: DemoRow) -> WireValue {
        let head: WireValue = ["role": row.role]
        var body: WireValue
        switch row.kind {
        case .user(let key):
            body = ["content": userContent(row), "timestamp": row.timestamp]
            if release == .june || release.namesRuns {
                body = body.adding(["idempotencyKey": key.map { "\($0):user" }])
            }
            if let first = row.media.first {
                body = body.adding([
                    "MediaPath": first.path, "MediaPaths": row.media.map(\.path), "MediaType": first.mimeType,
                    "MediaTypes": row.media.map(\.mimeType),
                ])
            }
        case .assistant(let stopReason, let error, let usage):
            body = [
                "content": blocks(row), "api": "openai-completions", "provider": "demo", "model": "demo-1",
                "usage": release == .march ? nil : self.usage(usage), "stopReason": stopReason,
                "timestamp": row.timestamp, "errorMessage": error,
            ]
        case .injected(let key, let aborted):
            // Earlier releases write the key only for the partial text of an aborted run.
            let key = release < .june && aborted == nil ? nil : key
            body = [
                "content": blocks(row), "timestamp": row.timestamp, "stopReason": "stop",
                "usage": release == .march ? nil : self.usage(nil), "api": "openai-responses", "provider": "openclaw",
                "model": "gateway-injected", "idempotencyKey": key,
                "openclawAbort": aborted.map { wireObject(["aborted": true, "origin": $0.origin, "runId": $0.id]) },
            ]
        case .toolResult(let callID, let name, let isError):
            body = [
                "toolCallId": callID, "toolName": name, "content": blocks(row), "isError": isError,
                "timestamp": row.timestamp,
            ]
        case .compaction: body = ["content": blocks(row), "timestamp": row.timestamp]
        case .failedRun:
            body = [
                "customType": "run-failed-before-reply", "content": row.plainText, "display": true,
                "timestamp": row.timestamp,
            ]
        }
        return head.adding(body)
    }

    private func identity(_ row: DemoRow, seq: Int, isEvent: Bool) -> WireValue {
        guard release >= .april else { return [:] }
        var key: String?
        if release >= .autumn, case .user(let sent) = row.kind { key = sent.map { "\($0):user" } }
        return [
            "__openclaw": wireObject([
                "kind": row.role == "system" ? "compaction" : nil, "id": row.id,
                "recordTimestampMs": isEvent || release < .june ? nil : row.recordedAt, "seq": seq,
                "idempotencyKey": key,
                "runId": release.namesRuns && !row.isUser ? row.runID : nil,
                "steerTargetRunId": row.isUser ? row.runID : nil,
                "transport": row.senders.isEmpty ? nil : wireObject(["clients": row.senders.map(sender)]),
            ])
        ]
    }

    private func sender(_ sender: DemoRow.Sender) -> WireValue {
        ["id": sender.id, "mode": sender.mode, "displayName": sender.displayName]
    }

    /// March keeps blocks; later releases send plain text if there is nothing else.
    private func userContent(_ row: DemoRow) -> WireValue {
        let isPlain = row.blocks.allSatisfy { if case .text = $0 { true } else { false } }
        if release >= .june, isPlain { return .string(cut(row.plainText)) }
        return blocks(row)
    }

    private func blocks(_ row: DemoRow) -> WireValue {
        var shown = row.blocks
        // June drops thinking and calls of an assistant message that also has text.
        let hasText = shown.contains { if case .text = $0 { true } else { false } }
        let hasCalls = shown.contains { if case .toolCall = $0 { true } else { false } }
        if release >= .june, hasText, hasCalls {
            shown = shown.filter { if case .text = $0 { true } else { false } }
        }
        return .array(shown.map(block))
    }

    private func block(_ block: DemoRow.Block) -> WireValue {
        switch block {
        case .text(let text): return ["type": "text", "text": cut(text)]
        case .thinking(let text): return ["type": "thinking", "thinking": cut(text)]
        case .toolCall(let id, let name, let arguments):
            return ["type": "toolCall", "id": id, "name": name, "arguments": cut(arguments)]
        case .image(let mimeType, let bytes):
            return ["type": "image", "mimeType": mimeType, "omitted": true, "bytes": bytes]
        }
    }

    private func usage(_ usage: DemoRow.Usage?) -> WireValue {
        let usage = usage ?? DemoRow.Usage(input: 0, output: 0)
        let cost = Double(usage.input * 1_000 + usage.output * 2_000) / 1_000_000_000
        return [
            "input": usage.input, "output": usage.output, "totalTokens": usage.input + usage.output, "cacheRead": 0,
            "cacheWrite": 0, "cost": wireObject(["total": cost]),
        ]
    }

    private func cut(_ text: String) -> String {
        guard text.utf8.count > characterLimit, text.count > characterLimit else { return text }
        return text.prefix(characterLimit) + Self.marker
    }

    private func cut(_ value: WireValue) -> WireValue {
        switch value {
        case .string(let text): .string(cut(text))
        case .array(let values): .array(values.map(cut))
        case .object(let members): .object(members.map { .init(name: $0.name, value: cut($0.value)) })
        default: value
        }
    }
}

/// Gives a nested dictionary literal its type.
func wireObject(_ value: WireValue) -> WireValue { value }
