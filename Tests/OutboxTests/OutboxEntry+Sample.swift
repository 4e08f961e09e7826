import Basics
import Outbox

extension OutboxEntry {
    static func sample(
        _ id: String = "entry-1",
        kind: OutboxKind = .message,
        session: String = "main",
        text: String? = "hello",
        at ms: Int64 = 1_000_000,
        ttlMs: Int64 = 48 * 3_600_000,
        notBefore: Int64? = nil,
        coalescing: String? = nil,
        mode: MessageMode = .own
    ) -> OutboxEntry {
        OutboxEntry(
            id: id,
            kind: kind,
            session: session,
            text: text,
            createdAt: Timestamp(milliseconds: ms),
            expiresAt: Timestamp(milliseconds: ms + ttlMs),
            notBefore: notBefore.map { Timestamp(milliseconds: $0) },
            coalescingKey: coalescing,
            mode: mode
        )
    }

    func state(_ state: OutboxState) -> OutboxEntry {
        var entry = self
        entry.state = state
        return entry
    }
}

func time(_ ms: Int64) -> Timestamp { Timestamp(milliseconds: ms) }
