import Access
import Basics
import CSystem
import Store
import TLS

/// The tokens at start. The first start makes one with scope `admin` and leaves it in a file only the owner can read.
enum FirstToken {
    struct Loaded: Sendable {
        let records: [TokenRecord]
        /// Where a new token was left.
        var createdAt: String?
    }

    static func load(_ store: StateStore, _ directory: StateDirectory) async throws -> Loaded {
        let records = try await store.read { try $0.tokens.load() }
        let path = directory.path + "/admin-token"
        guard records.isEmpty, case .ok = store.health, !SystemPath.exists(path) else {
            return Loaded(records: records)
        }
        let now = Timestamp(milliseconds: cs_wall_ms())
        let wish = try NewToken(name: "admin (made at first start)", scopes: .admin, now: now)
        let (record, secret) = TokenRecord.issue(wish, now: now, random: SecureRandom.bytes(10))
        try await store.commit { try $0.tokens.save(record) }
        // After the row: a file without its token would be worse than a token without its file.
        try SecretFile.create(path, secret)
        return Loaded(records: [record], createdAt: path)
    }
}
