import Basics
import Ledger
import Outbox
import SQL

/// An entry's columns and their decoding.
enum OutboxRow {
    static let columns = """
        o.ordinal, o.id, o.kind, o.session, o.state, o.created_at, o.updated_at, o.attempt_count, o.next_attempt_at,
        o.not_before, o.expires_at, o.run_id, o.proof, o.error_code, o.error_detail, o.version, o.is_slash_command,
        o.coalescing_key, o.upstream_key, o.key_generation, o.last_class, o.first_dispatch_at, o.dispatch_uptime_ms,
        o.owner, o.payload_bytes, o.is_repeat_in_doubt, o.ttl_ms, o.dispatch_skew_ms, o.mode, o.joined_run,
        o.deferred_at, o.deferred_behind, o.equals_before
        """
    static let columnCount: Int32 = 33

    static func entryWithText(_ row: SQLRow) throws(SQLError) -> OutboxEntry {
        var entry = try entry(row)
        entry.text = row.optionalString(columnCount)
        return entry
    }

    static func entry(_ row: SQLRow) throws(SQLError) -> OutboxEntry {
        guard let state = OutboxState(rawValue: row.string(4)) else {
            throw .malformed("unknown outbox state \(row.string(4))")
        }
        var entry = OutboxEntry(
            id: row.string(1),
            kind: OutboxKind(rawValue: row.string(2)),
            session: row.string(3),
            createdAt: Timestamp(milliseconds: row.int64(5)),
            expiresAt: Timestamp(milliseconds: row.int64(10)),
            notBefore: time(row, 9),
            coalescingKey: row.optionalString(17),
            owner: row.optionalString(23),
            payloadBytes: row.int(24)
        )
        entry.ordinal = row.int64(0)
        entry.state = state
        entry.updatedAt = Timestamp(milliseconds: row.int64(6))
        entry.attemptCount = row.int(7)
        entry.nextAttemptAt = time(row, 8)
        entry.runID = row.optionalString(11)
        entry.proof = row.optionalString(12).flatMap(OutboxProof.init(rawValue:))
        if let code = row.optionalString(13) {
            entry.fault = OutboxFault(code: code, detail: row.string(14))
        }
        entry.version = row.int64(15)
        entry.isSlashCommand = row.bool(16)
        entry.upstreamKey = row.string(18)
        entry.keyGeneration = row.int(19)
        entry.lastClass = row.optionalString(20).flatMap(AttemptClass.init(rawValue:))
        entry.firstDispatchAt = time(row, 21)
        entry.dispatchUptimeMs = row.optionalInt64(22)
        entry.isRepeatInDoubt = row.bool(25)
        entry.ttlMs = row.int64(26)
        entry.dispatchSkewMs = row.optionalInt64(27)
        entry.mode = MessageMode(rawValue: row.string(28)) ?? .own
        entry.joinedRun = row.optionalString(29)
        entry.deferral = time(row, 30).map { Deferral(at: $0, behind: time(row, 31), equalsBefore: row.int(32)) }
        return entry
    }

    private static func time(_ row: SQLRow, _ column: Int32) -> Timestamp? {
        row.optionalInt64(column).map { Timestamp(milliseconds: $0) }
    }
}
