import Gateway
import JSONBytes
import Outbox
import Store
import Upstream

/// The gateway request for an entry.
struct OutboxRequest {
    let method: String
    let params: [UInt8]

    /// Nil for a kind that this version does not know; such an entry fails visibly.
    /// - Parameter takesQueueModes: without a mode, a newer gateway puts a message to a busy session into the run at work.
    init?(_ entry: OutboxEntry, key: String, _ payload: OutboxTable.Payload, takesQueueModes: Bool) {
        switch entry.kind {
        case .message:
            let extras = payload.body.flatMap { try? JSONDocument(parsing: $0).root }
            let call = ChatSend(
                sessionKey: entry.session,
                message: payload.text ?? entry.text ?? "",
                idempotencyKey: key,
                thinking: extras?["thinking"]?.string,
                queueMode: takesQueueModes ? ChatSend.QueueMode(entry.mode) : nil,
                attachments: (extras?["attachments"]?.elements).map { $0.compactMap(Self.attachment) } ?? []
            )
            method = ChatSend.method
            params = call.params
        case .abort:
            method = ChatAbort.method
            params = ChatAbort(sessionKey: entry.session, runId: payload.text).params
        default:
            return nil
        }
    }

    private static func attachment(_ value: JSONValue) -> ChatSend.Attachment? {
        guard let mimeType = value["mimeType"]?.string, let data = value["data"]?.string else { return nil }
        return ChatSend.Attachment(
            type: mimeType.hasPrefix("image/") ? "image" : "file",
            mimeType: mimeType,
            fileName: value["name"]?.string,
            content: data
        )
    }
}

extension ChatSend.QueueMode {
    fileprivate init(_ mode: MessageMode) {
        self =
            switch mode {
            case .own: .followup
            case .sayNow: .steer
            }
    }
}
