import Access
import Basics
import HTTPModel

extension Timestamp {
    static let start = Timestamp(milliseconds: 1_790_000_000_000)

    static func after(_ milliseconds: Int64) -> Timestamp { start.adding(milliseconds: milliseconds) }
}

extension Peer {
    static let owner: UInt32 = 1000
    static let stranger: UInt32 = 1001

    static func unix(_ uid: UInt32?) -> Peer { Peer(listener: .unix, origin: .unix(uid: uid)) }

    static func loopback(_ uid: UInt32?, port: UInt16 = 40_000) -> Peer {
        Peer(listener: .tcp, origin: .loopback(PeerAddress(ip: .loopback4, port: port), uid: uid))
    }

    static func remote(_ text: String, port: UInt16 = 40_000) -> Peer {
        Peer(
            listener: .tcp,
            origin: .remote(PeerAddress(ip: NetworkAddress(text) ?? .loopback4, port: port))
        )
    }

    static func serve(_ uid: UInt32?) -> Peer { Peer(listener: .serve, origin: .unix(uid: uid)) }
}

extension RequestHead {
    /// - Parameter host: nil for a head without one.
    static func sample(_ method: HTTPMethod, _ path: String = "/", host: String? = "x") -> RequestHead {
        guard var head = try? RequestHead(method: method, target: path) else { return RequestHead() }
        if let host { head.fields.append(.host, host) }
        return head
    }

    static func get(
        _ path: String = "/v1/status",
        token: String? = nil,
        ticket: String? = nil,
        forwarded: Bool = false,
        serve: ServeHeaders? = nil
    ) -> RequestHead {
        var head = sample(.get, ticket.map { "\(path)?ticket=\($0)" } ?? path, host: "127.0.0.1:18780")
        if let token { head.fields.append(.authorization, "Bearer \(token)") }
        if forwarded { head.fields.append(.via, "1.1 proxy") }
        if let login = serve?.login { head.fields.append(.tailscaleUserLogin, login) }
        for address in serve?.forwardedFor ?? [] { head.fields.append(.xForwardedFor, address) }
        if serve?.isFunnel ?? false { head.fields.append(.tailscaleFunnelRequest, "?1") }
        return head
    }

    func adding(_ name: FieldName, _ values: String...) -> RequestHead { adding(name, values) }

    func adding(_ name: FieldName, _ values: [String]) -> RequestHead {
        var copy = self
        for value in values { copy.fields.append(name, value) }
        return copy
    }
}

extension TokenRecord {
    static func sample(
        name: String = "dashboard",
        scopes: ScopeSet = [.read, .send],
        sessions: [String]? = nil,
        paths: [String]? = nil,
        expiresAt: Timestamp? = nil,
        seed: UInt8 = 1
    ) throws -> (record: TokenRecord, secret: Secret) {
        let wish = try NewToken(
            name: name,
            scopes: scopes,
            sessions: sessions,
            paths: paths.map { try AllowedPaths($0) },
            expiresAt: expiresAt,
            now: .start
        )
        return TokenRecord.issue(wish, now: .start, random: [UInt8](repeating: seed, count: 10))
    }
}

extension AccessRefusal {
    /// The refusal of a first wrong credential, with nine more attempts left this minute.
    static var firstWrongCredential: AccessRefusal {
        var refusal = AccessRefusal.notPaired(credentialSent: true)
        var limiter = RateLimiter()
        refusal.rateLimit = limiter.take(.auth, .uid(0), now: 0).headers
        return refusal
    }
}
