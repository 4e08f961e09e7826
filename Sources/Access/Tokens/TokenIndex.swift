package import Basics

/// All tokens in memory, loaded at start: authentication never touches the disk.
///
/// One path for every credential, good, wrong or malformed: hash, look up, compare. Whether a token exists, is expired or
/// has a bad check is told by neither the answer nor the time it takes.
package struct TokenIndex: Sendable {
    private struct Slot {
        var record: TokenRecord
        var caller: TokenCaller
    }

    private var slots: [String: Slot] = [:]
    private var byDigest: [SecretDigest: String] = [:]
    /// Last uses not yet written; the store takes them now and then.
    private var touched: [String: Timestamp] = [:]

    /// A longer credential is compared by its beginning: hashing megabytes for a stranger would be a gift to him.
    private static let longestCredential = 512
    /// A token in constant use costs one row write a minute.
    private static let touchInterval: Int64 = 60_000

    package init(_ records: some Sequence<TokenRecord> = []) {
        for record in records { insert(record) }
    }

    package var records: [TokenRecord] {
        slots.values.map(\.record).sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    package var isEmpty: Bool { slots.isEmpty }

    package subscript(id: String) -> TokenRecord? { slots[id]?.record }

    /// Adds a record, or replaces the one of the same id.
    package mutating func insert(_ record: TokenRecord) {
        if let old = slots[record.id] { byDigest[old.record.digest] = nil }
        let caller = TokenCaller(id: record.id, name: record.name, scopes: record.scopes, sessions: record.sessions)
        slots[record.id] = Slot(record: record, caller: caller)
        byDigest[record.digest] = record.id
    }

    /// The record is gone at once; the edge then closes the streams of this id.
    package mutating func revoke(_ id: String) -> TokenRecord? {
        guard let slot = slots.removeValue(forKey: id) else { return nil }
        byDigest[slot.record.digest] = nil
        touched[id] = nil
        return slot.record
    }

    /// Finds by id, or by name when exactly one has it: what a person types after `token revoke`.
    package func find(_ idOrName: String) -> TokenRecord? {
        if let slot = slots[idOrName] { return slot.record }
        let named = slots.values.filter { $0.record.name == idOrName }
        return named.count == 1 ? named.first?.record : nil
    }

    package mutating func authenticate(_ credential: [UInt8], now: Timestamp) -> TokenCaller? {
        let presented =
            credential.count <= Self.longestCredential ? credential : Array(credential[..<Self.longestCredential])
        let digest = SecretDigest(of: presented)
        let id = byDigest[digest]
        let slot = id.flatMap { slots[$0] }
        let matches = digest.equals(slot?.record.digest ?? .none)
        guard matches, credential.count <= Self.longestCredential, let slot, !slot.record.isExpired(now: now) else {
            return nil
        }
        touch(slot.record, now: now)
        return slot.caller
    }

    private mutating func touch(_ record: TokenRecord, now: Timestamp) {
        let last = record.lastUsedAt?.milliseconds ?? .min / 2
        guard now.milliseconds - last >= Self.touchInterval else { return }
        slots[record.id]?.record.lastUsedAt = now
        touched[record.id] = now
    }

    /// The last uses since the previous call, for one lazy write.
    package mutating func takeTouched() -> [String: Timestamp] {
        defer { touched = [:] }
        return touched
    }

    /// Ids whose time is over; their streams are to be closed.
    package func expired(now: Timestamp) -> [String] {
        slots.values.filter { $0.record.isExpired(now: now) }.map(\.record.id).sorted()
    }

    /// When the next token that is still good ends: the moment for a timer.
    package func nextExpiry(after now: Timestamp) -> Timestamp? {
        slots.values.compactMap(\.record.expiresAt).filter { $0 > now }.min()
    }
}
