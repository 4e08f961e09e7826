import Basics
import JSONBytes
import Labels
import Runs

/// A chat message as its row has it: the sort keys, and the message as the JSON that the API shows.
struct MessageRow: Sendable {
    let id: String
    let at: Timestamp
    let ordinal: Int64
    let body: [UInt8]

    init(_ message: ChatMessage, ordinal: Int64) {
        id = message.id
        at = message.at
        self.ordinal = ordinal
        var writer = JSONWriter(capacity: message.text.utf8.count + 256)
        message.write(to: &writer)
        body = writer.bytes
    }

    /// Nil if the body is damaged.
    static func message(_ body: [UInt8]) -> ChatMessage? {
        guard let value = try? JSONDocument(parsing: body).root, let id = value["id"]?.string,
            let role = value["role"]?.string.flatMap(ChatMessage.Role.init(rawValue:)), let at = time(value["at"])
        else { return nil }
        return ChatMessage(
            id: id,
            role: role,
            text: value["text"]?.string ?? "",
            isTruncated: value["truncated"]?.bool ?? false,
            at: at,
            state: value["state"]?.string.flatMap(ChatMessage.State.init(rawValue:)) ?? .sent,
            runID: value["runId"]?.string,
            steps: value["steps"]?.elements.compactMap(step) ?? [],
            attachments: value["attachments"]?.elements.map(attachment) ?? [],
            error: value["error"]?.string
        )
    }

    /// Nil for a step of a kind that this version does not know.
    private static func step(_ value: JSONValue) -> Step? {
        guard let id = value["id"]?.string, let run = value["runId"]?.string, let sequence = value["seq"]?.int,
            let kind = value["kind"]?.string.flatMap(Step.Kind.init(rawValue:)),
            let state = value["state"]?.string.flatMap(Step.State.init(rawValue:)),
            let startedAt = time(value["startedAt"])
        else { return nil }
        return Step(
            id: id,
            runID: run,
            sequence: Int(clamping: sequence),
            kind: kind,
            tool: value["tool"]?.string,
            toolCallID: value["toolCallId"]?.string,
            category: value["category"]?.string.flatMap(ActivityCategory.init(rawValue:)) ?? .generic,
            label: value["label"]?.string ?? "",
            detail: value["detail"]?.string,
            approvalID: value["approvalId"]?.string,
            state: state,
            startedAt: startedAt,
            endedAt: time(value["endedAt"]),
            durationMilliseconds: value["durationMs"]?.int,
            exitCode: value["exitCode"]?.int,
            error: value["error"]?.string
        )
    }

    private static func attachment(_ value: JSONValue) -> MessageAttachment {
        MessageAttachment(
            name: value["name"]?.string,
            mimeType: value["mimeType"]?.string,
            bytes: value["bytes"]?.int
        )
    }

    private static func time(_ value: JSONValue?) -> Timestamp? { value?.string.flatMap { Timestamp(rfc3339: $0) } }
}
