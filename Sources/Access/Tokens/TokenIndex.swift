package import Basics

/// All tokens in memory, loaded at start: authentication never touches the disk.
///
/// Every credential, good, wrong or malformed, takes the same steps: hash, look up, compare. Neither the answer nor its
/// time shows whether a token exists, is expired or has wrong check digits.
package struct TokenIndex: Sendable {
    private struct Slot {
        var record: TokenRecord
        let caller: TokenCaller
        let digest: SecretDigest
        /// Milliseconds; `.max` for never.
        let expiresAt: Int64
        var touchedAt: Int64

        init(_ record: TokenRecord) {
            self.record = record
            caller = TokenCaller(
                id: record.id,
                name: record.name,
                scopes: record.scopes,
                sessions: record.sessions,
                paths: record.paths
            )
            digest = record.digest
            expiresAt = record.expiresAt?.milliseconds ?? .max
            touchedAt = record.lastUsedAt?.milliseconds ?? .min / 2
        }
    }

    private var slots: [Slot] = []
    private var byDigest: [SecretDigest: Int] = [:]
    private var byID: [String: Int] = [:]
    /// Changes when a token is added, changed or revoked. Earlier answers are then no longer valid.
    package private(set) var revision: UInt64 = 0
    /// Last uses not yet written to the store.
    private var touched: [String: Timestamp] = [:]

    /// Only the beginning of a longer credential is hashed: a stranger must not make us hash megabytes.
    private static let longestCredential = 512
    /// A token in constant use costs one row write a minute.
    private static let touchInterval: Int64 = 60_000

    package init(_ records: some Sequence<TokenRecord> = []) {
        for record in records { insert(record) }
    }

    package var records: [TokenRecord] {
        slots.map(\.record).sorted { ($0.createdAt, $0.id) < ($1.createdAt, $1.id) }
    }

    package var isEmpty: Bool { slots.isEmpty }

    package subscript(id id: String) -> TokenRecord? { byID[id].map { slots[$0].record } }

    /// The time in milliseconds until which an answer of `authenticate` stays valid while the revision is unchanged:
    /// then the token expires, or its use must be noted.
    package func goodUntil(_ id: String) -> Int64 {
        guard let place = byID[id] else { return .min }
        return min(slots[place].expiresAt, slots[place].touchedAt + Self.touchInterval)
    }

    /// Adds a record, or replaces the one of the same id.
    package mutating func insert(_ record: TokenRecord) {
        revision &+= 1
        if let place = byID[record.id] {
            byDigest[slots[place].digest] = nil
            slots[place] = Slot(record)
            byDigest[record.digest] = place
        } else {
            byDigest[record.digest] = slots.count
            byID[record.id] = slots.count
            slots.append(Slot(record))
        }
    }

    /// Removes the record. The caller then closes the streams of this id.
    package mutating func revoke(_ id: String) -> TokenRecord? {
        guard let place = byID[id] else { return nil }
        revision &+= 1
        let record = slots.remove(at: place).record
        byDigest = [:]
        byID = [:]
        for (place, slot) in slots.enumerated() {
            byDigest[slot.digest] = place
            byID[slot.record.id] = place
        }
        touched[id] = nil
        return record
    }

    /// Finds a token by its id, or by its name if exactly one token has that name.
    package func find(_ idOrName: String) -> TokenRecord? {
        if let record = self[id: idOrName] { return record }
        let named = slots.filter { $0.record.name == idOrName }
        return named.count == 1 ? named.first?.record : nil
    }

    package mutating func authenticate(_ credential: [UInt8], now: Timestamp) -> TokenCaller? {
        let fits = credential.count <= Self.longestCredential
        let digest = SecretDigest(of: fits ? credential : Array(credential[..<Self.longestCredential]))
        let place = byDigest[digest]
        let matches = digest.equals(place.map { slots[$0].digest } ?? .none)
        guard matches, fits, let place, now.milliseconds < slots[place].expiresAt else { return nil }
        if now.milliseconds - slots[place].touchedAt >= Self.touchInterval { touch(place, now: now) }
        return slots[place].caller
    }

    private mutating func touch(_ place: Int, now: Timestamp) {
        slots[place].touchedAt = now.milliseconds
        slots[place].record.lastUsedAt = now
        touched[slots[place].record.id] = now
    }

    /// The last uses since the previous call, for one lazy write.
    package mutating func takeTouched() -> [String: Timestamp] {
        defer { touched = [:] }
        return touched
    }

    /// The ids of expired tokens, whose streams have to be closed.
    package func expired(now: Timestamp) -> [String] {
        slots.filter { $0.record.isExpired(now: now) }.map(\.record.id).sorted()
    }

    /// The time at which the next valid token expires.
    package func nextExpiry(after now: Timestamp) -> Timestamp? {
        slots.compactMap(\.record.expiresAt).filter { $0 > now }.min()
    }
}
