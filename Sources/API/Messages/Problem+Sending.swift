import HTTPModel
import Outbox
import Server
import Store

/// Why a message was not accepted.
extension Problem {
    static let keyReused = Problem(
        .unprocessableContent,
        "IDEMPOTENCY_KEY_REUSED",
        "Key used for another request",
        "This Idempotency-Key came with another message in the last 24 hours.",
        hint: "use a new key for a new message",
        field: "Idempotency-Key",
        retryable: false
    )

    static let shuttingDown = Problem(
        .serviceUnavailable,
        "SHUTTING_DOWN",
        "Shutting down",
        "This process is ending and accepts no more messages.",
        retryable: true,
        retryAfterMs: 2000
    )

    static func outboxFull(_ what: OutboxTable.Fullness, _ limits: OutboxTable.Limits) -> Problem {
        let detail =
            switch what {
            case .entries: "\(limits.entries) entries wait already (outbox.maxEntries)."
            case .session: "\(limits.perSession) entries of this session wait already (outbox.maxPerSession)."
            case .bytes:
                "Waiting texts and attachments take \(limits.payloadBytes) bytes already (outbox.maxAttachmentBytes)."
            }
        return Problem(
            .tooManyRequests,
            "OUTBOX_FULL",
            "Outbox full",
            detail,
            hint: "ladle outbox lists what waits; DELETE /v1/outbox/{id} takes an entry back",
            retryable: true,
            retryAfterMs: 60_000
        )
    }

    /// Nothing was stored.
    static func storage(_ error: any Error) -> Problem {
        switch error as? StoreError {
        case .storageFull:
            Problem(
                .insufficientStorage,
                "STORAGE_FULL",
                "Storage full",
                "The disk has no room for the message; what was accepted before is kept.",
                hint: "ladle doctor",
                retryable: true,
                retryAfterMs: 30_000
            )
        case .outboxClosed(let reason):
            Problem(
                .serviceUnavailable,
                "STORE_UNAVAILABLE",
                "Store unavailable",
                "The outbox takes nothing until someone has looked at it: \(reason).",
                hint: "ladle outbox recover",
                retryable: false
            )
        case .unavailable(let detail): .storeUnavailable(detail)
        case .overloaded: .storeUnavailable("too many operations wait for the disk")
        case .closed: .shuttingDown
        case nil: .storeUnavailable("\(error)")
        }
    }
}
