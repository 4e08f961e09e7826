package import Basics

/// Applications for tokens. Any client may apply; a person on the host decides; the token is handed out once.
///
/// The token is only made when it is collected. Applications live five minutes; after approval there is at least one
/// more minute to collect. A new application with the same name from the same place replaces the waiting one.
package struct PairingRequests: Sendable {
    package static let prefix = "ldp_"
    package static let lifeMilliseconds: Int64 = 300_000
    private static let collectMilliseconds: Int64 = 60_000
    /// No similar letters and digits, and no vowels, so that a code never forms a word.
    static let alphabet = Array("23456789BCDFGHJKMNPQRSTVWXZ".utf8)

    private enum State {
        case pending
        case approved(NewToken)
        case delivering(NewToken)
        case delivered, rejected, superseded
    }

    private struct Entry {
        let request: PairingRequest
        let place: String
        var state: State
        var endsAt: Int64
        /// The id of the token that approved it; nil for the owner.
        var approver: String?

        var isPending: Bool {
            if case .pending = state { true } else { false }
        }

        var isSpent: Bool {
            switch state {
            case .delivered, .rejected, .superseded: true
            case .pending, .approved, .delivering: false
            }
        }
    }

    private var entries: [SecretDigest: Entry] = [:]
    private let capacity: Int
    private let perPlace: Int

    /// `RateLimiter` limits the rate of applications. These limits bound the memory and the list that a person reads.
    package init(capacity: Int = 64, perPlace: Int = 8) {
        self.capacity = max(capacity, 1)
        self.perPlace = max(perPlace, 1)
    }

    package enum Refusal: Error, Equatable, Sendable {
        case tooMany
        case unknownCode
        /// The approval names a scope that was not requested.
        case notRequested(ScopeSet)
        /// The approval names a path outside the requested ones.
        case pathNotRequested
        /// A token cannot have these scopes and limits together.
        case impossible(NewToken.Problem)
        case decided
    }

    /// - Parameters:
    ///   - from: the origin, for display.
    ///   - place: applications from one place replace each other.
    package mutating func apply(
        _ newToken: NewToken,
        from: String,
        place: String,
        now: Timestamp
    ) -> Result<PairingReceipt, Refusal> {
        forget(now: now)
        for (key, entry) in entries where entry.place == place && entry.request.name == newToken.name && entry.isPending
        {
            entries[key]?.state = .superseded
        }
        guard makeRoom(for: place) else { return .failure(.tooMany) }
        let id = SecureCode.secret(prefix: Self.prefix)
        let request = PairingRequest(
            code: newCode(),
            name: newToken.name,
            scopes: newToken.scopes,
            paths: newToken.paths,
            from: from,
            requestedAt: now,
            expiresAt: now.adding(milliseconds: Self.lifeMilliseconds)
        )
        entries[SecretDigest(of: id)] = Entry(
            request: request,
            place: place,
            state: .pending,
            endsAt: request.expiresAt.milliseconds
        )
        return .success(PairingReceipt(id: id, request: request))
    }

    /// The applications that wait for a decision, oldest first.
    package func pending(now: Timestamp) -> [PairingRequest] {
        entries.values.filter { $0.isPending && $0.endsAt > now.milliseconds }.map(\.request)
            .sorted { ($0.requestedAt, $0.code) < ($1.requestedAt, $1.code) }
    }

    /// - Parameters:
    ///   - scopes: some of the requested scopes; nil grants all of them.
    ///   - paths: must lie within the requested paths; nil grants those.
    ///   - approver: the id of the token that approves; the approval ends with it.
    package mutating func approve(
        _ code: String,
        scopes: ScopeSet? = nil,
        paths: AllowedPaths? = nil,
        by approver: String? = nil,
        now: Timestamp
    ) -> Result<PairingRequest, Refusal> {
        decide(code, now: now) { entry in
            let request = entry.request
            let granted = scopes ?? request.scopes
            guard !granted.isEmpty, request.scopes.permits(granted) else { return .notRequested(granted) }
            if let paths, let asked = request.paths, !asked.cover(paths) { return .pathNotRequested }
            do throws(NewToken.Problem) {
                let token = try NewToken(name: request.name, scopes: granted, paths: paths ?? request.paths, now: now)
                entry.state = .approved(token)
                entry.approver = approver
            } catch {
                return .impossible(error)
            }
            entry.endsAt = max(entry.endsAt, now.milliseconds + Self.collectMilliseconds)
            return nil
        }
    }

    /// Takes back what was approved with a token that was revoked, replaced or has expired, and not collected yet.
    package mutating func end(approvedBy token: String) {
        for (key, entry) in entries where entry.approver == token {
            if case .approved = entry.state { entries[key]?.state = .rejected }
        }
    }

    package mutating func reject(_ code: String, now: Timestamp) -> Result<PairingRequest, Refusal> {
        decide(code, now: now) { entry in
            entry.state = .rejected
            return nil
        }
    }

    /// Nil for an unknown or expired id.
    package mutating func poll(_ id: [UInt8], now: Timestamp) -> PairingStatus? {
        let key = SecretDigest(of: Array(id.prefix(128)))
        guard var entry = entries[key], entry.endsAt > now.milliseconds else { return nil }
        switch entry.state {
        case .pending: return .pending(expiresAt: entry.request.expiresAt)
        case .rejected: return .rejected
        case .superseded: return .superseded
        case .delivered: return .delivered
        case .delivering: return .busy
        case .approved(let token):
            entry.state = .delivering(token)
            entries[key] = entry
            return .deliver(token)
        }
    }

    /// Records that the token is stored and being sent.
    package mutating func delivered(_ id: [UInt8]) {
        entries[SecretDigest(of: Array(id.prefix(128)))]?.state = .delivered
    }

    /// Lets the applicant ask again, because the token could not be stored.
    package mutating func deliveryFailed(_ id: [UInt8]) {
        let key = SecretDigest(of: Array(id.prefix(128)))
        guard case .delivering(let token)? = entries[key]?.state else { return }
        entries[key]?.state = .approved(token)
    }

    package var count: Int { entries.count }

    private mutating func decide(
        _ code: String,
        now: Timestamp,
        _ change: (inout Entry) -> Refusal?
    ) -> Result<PairingRequest, Refusal> {
        let wanted = Self.normalize(code)
        guard
            let found = entries.first(where: {
                Self.normalize($0.value.request.code) == wanted && $0.value.endsAt > now.milliseconds
            })
        else { return .failure(.unknownCode) }
        var entry = found.value
        guard entry.isPending else { return .failure(.decided) }
        if let refusal = change(&entry) { return .failure(refusal) }
        entries[found.key] = entry
        return .success(entry.request)
    }

    /// Decided applications are removed first: they only wait to be read once more. Of a full list, the newest waiting one of the place
    /// with the most goes, so that a few places cannot keep out all others.
    private mutating func makeRoom(for place: String) -> Bool {
        let full = entries.count >= capacity
        let counts = Dictionary(grouping: entries.values, by: \.place).mapValues(\.count)
        let own = counts[place] ?? 0
        guard full || own >= perPlace else { return true }
        if let spent = entries.first(where: { $0.value.isSpent && (full || $0.value.place == place) }) {
            entries[spent.key] = nil
            return true
        }
        guard let most = counts.values.max(), most > own + 1 else { return false }
        let crowded = entries.filter { counts[$0.value.place] == most && $0.value.isPending }
        guard let newest = crowded.max(by: { $0.value.request.requestedAt < $1.value.request.requestedAt }) else {
            return false
        }
        entries[newest.key] = nil
        return true
    }

    private mutating func forget(now: Timestamp) {
        entries = entries.filter { $0.value.endsAt > now.milliseconds }
    }

    private func newCode() -> String {
        while true {
            let letters = SecureCode.letters(from: Self.alphabet, count: 8)
            let code = String(decoding: letters[..<4] + [UInt8(ascii: "-")] + letters[4...], as: UTF8.self)
            if !entries.values.contains(where: { $0.request.code == code }) { return code }
        }
    }

    /// Accepts codes typed in lower case and without the dash.
    private static func normalize(_ code: String) -> String {
        String(decoding: code.uppercased().utf8.filter { alphabet.contains($0) }, as: UTF8.self)
    }
}
