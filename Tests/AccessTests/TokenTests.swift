import Access
import Basics
import JSONBytes
import Testing

struct TokenTests {
    @Test func `a token has the product's prefix, 256 bits and a check that any changed character breaks`() {
        let text = Array(TokenText.make().reveal().utf8)
        #expect(text.count == 53)
        #expect(text.starts(with: "ldl_".utf8))
        #expect(
            text.dropFirst(4).allSatisfy { Unicode.Scalar($0).properties.isAlphabetic || (0x30...0x39).contains($0) }
        )
        #expect(TokenText.isWellFormed(text))
        for index in text.indices {
            var changed = text
            changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(!TokenText.isWellFormed(changed))
        }
        #expect(!TokenText.isWellFormed(Array(text.dropLast())))
        #expect(!TokenText.isWellFormed([]))
    }

    @Test func `two tokens are never alike and every character of the alphabet turns up`() {
        let tokens = (0..<300).map { _ in TokenText.make().reveal() }
        #expect(Set(tokens).count == 300)
        #expect(Set(tokens.flatMap { $0.dropFirst(4).utf8 }).count == 62)
    }

    @Test func `a secret does not print by any of the ways values print`() {
        let secret = TokenText.make()
        var dumped = ""
        dump(secret, to: &dumped)
        let credential = Credential(authorization: ["Bearer \(secret.reveal())"])
        var dumpedCredential = ""
        dump(credential, to: &dumpedCredential)
        for text in [
            "\(secret)", String(describing: secret), String(reflecting: [secret]), dumped, "\(credential)",
            dumpedCredential,
        ] {
            #expect(!text.contains(secret.reveal()))
            #expect(!text.contains("ldl_"))
        }
    }

    @Test func `a stored token is found by its secret only`() throws {
        let (record, secret) = try TokenRecord.sample()
        var index = TokenIndex([record])
        let caller = index.authenticate(Array(secret.reveal().utf8), now: .start)
        #expect(caller?.id == record.id)
        #expect(caller?.scopes == [.read, .send])
        for wrong in [
            "", "ldl_", record.id, record.shown, TokenText.make().reveal(), secret.reveal() + "x",
            String(secret.reveal().dropLast()),
        ] {
            #expect(index.authenticate(Array(wrong.utf8), now: .start) == nil)
        }
        #expect(index.authenticate([UInt8](repeating: 0x61, count: 1 << 20), now: .start) == nil)
        let padded = Array(secret.reveal().utf8) + [UInt8](repeating: 0x61, count: 600)
        #expect(index.authenticate(padded, now: .start) == nil)
    }

    @Test func `a credential longer than any token is not accepted by its beginning`() throws {
        let long = Secret(String(repeating: "k", count: 512))
        let (made, _) = try TokenRecord.sample()
        var record = made
        record.digest = SecretDigest(of: long)
        var index = TokenIndex([record])
        #expect(index.authenticate(Array((long.reveal() + "k").utf8), now: .start) == nil)
    }

    @Test func `an expired token is no token, to the millisecond`() throws {
        let (record, secret) = try TokenRecord.sample(expiresAt: .after(5000))
        var index = TokenIndex([record])
        let bytes = Array(secret.reveal().utf8)
        #expect(index.authenticate(bytes, now: .after(4999)) != nil)
        #expect(index.authenticate(bytes, now: .after(5000)) == nil)
        #expect(index.nextExpiry(after: .start) == .after(5000))
        #expect(index.expired(now: .after(5000)) == [record.id])
    }

    @Test func `rotation ends the old secret and keeps everything else`() throws {
        let (record, old) = try TokenRecord.sample(sessions: ["agent:main:main"])
        var index = TokenIndex([record])
        let (next, new) = record.rotated()
        index.insert(next)
        #expect(index.authenticate(Array(old.reveal().utf8), now: .start) == nil)
        #expect(index.authenticate(Array(new.reveal().utf8), now: .start)?.sessions == ["agent:main:main"])
        #expect(index.records.count == 1)
    }

    @Test func `a revoked token is gone at once`() throws {
        let (record, secret) = try TokenRecord.sample()
        var index = TokenIndex([record])
        #expect(index.revoke(record.id)?.id == record.id)
        #expect(index.revoke(record.id) == nil)
        #expect(index.authenticate(Array(secret.reveal().utf8), now: .start) == nil)
    }

    @Test func `last use is noted at most once a minute and handed out once`() throws {
        let (record, secret) = try TokenRecord.sample()
        var index = TokenIndex([record])
        let bytes = Array(secret.reveal().utf8)
        for step in 0..<100 { _ = index.authenticate(bytes, now: .after(Int64(step) * 500)) }
        #expect(index.takeTouched() == [record.id: .start])
        #expect(index.takeTouched().isEmpty)
        _ = index.authenticate(bytes, now: .after(60_000))
        #expect(index.takeTouched() == [record.id: .after(60_000)])
    }

    @Test func `a name finds a token when only one bears it`() throws {
        let first = try TokenRecord.sample(name: "phone", seed: 1).record
        let second = try TokenRecord.sample(name: "phone", seed: 2).record
        let third = try TokenRecord.sample(name: "desk", seed: 3).record
        let index = TokenIndex([first, second, third])
        #expect(index.find("desk")?.id == third.id)
        #expect(index.find(first.id)?.id == first.id)
        #expect(index.find("phone") == nil)
    }

    @Test(arguments: [
        ("", NewToken.Problem.emptyName), (String(repeating: "n", count: 65), .longName(limit: 64)),
        ("a\u{7}b", .unprintableName), ("a\nb", .unprintableName), ("a\u{202E}b", .unprintableName),
        ("a\u{2028}b", .unprintableName),
    ])
    func `names that would spoil a terminal are refused`(name: String, problem: NewToken.Problem) {
        #expect(throws: problem) { try NewToken(name: name, scopes: .read, now: .start) }
    }

    @Test func `a name may have 64 bytes, and nobody's admin is confined to sessions`() throws {
        let name = String(repeating: "n", count: 64)
        #expect(try NewToken(name: name, scopes: .read, now: .start).name == name)
        #expect(throws: NewToken.Problem.limitedAdmin) {
            try NewToken(name: "n", scopes: .admin, sessions: ["a"], now: .start)
        }
    }

    @Test func `a list of sessions is as long as it is written`() throws {
        let full = try NewToken(name: "n", scopes: .read, sessions: Array(repeating: "a", count: 64), now: .start)
        #expect(full.sessions == ["a"])
        #expect(throws: NewToken.Problem.tooManySessions(limit: 64)) {
            try NewToken(name: "n", scopes: .read, sessions: Array(repeating: "a", count: 65), now: .start)
        }
    }

    @Test func `a list entry shows what a token is and never what proves it`() throws {
        let (record, secret) = try TokenRecord.sample(sessions: ["b", "a"], expiresAt: .after(1000))
        var writer = JSONWriter()
        writer.value(record)
        let text = String(decoding: writer.bytes, as: UTF8.self)
        #expect(text.contains(#""scopes":["read","send"],"sessions":["a","b"]"#))
        #expect(!text.contains(secret.reveal().dropFirst(10)))
        #expect(!text.contains(Hex.encode(record.digest.bytes)))
    }

    @Test func `a digest survives storage`() throws {
        let digest = SecretDigest(of: Secret("x"))
        #expect(SecretDigest(bytes: digest.bytes) == digest)
        #expect(Hex.encode(digest.bytes) == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881")
        #expect(SecretDigest(bytes: [1, 2, 3]) == nil)
    }
}

struct ScopeTests {
    @Test func `admin implies every scope and nothing else does`() {
        for scope in Scope.allCases {
            #expect(ScopeSet.admin.permits(ScopeSet(scope)))
            for other in Scope.allCases where other != .admin {
                #expect(ScopeSet(other).permits(ScopeSet(scope)) == (scope == other))
            }
        }
        #expect(
            ScopeSet(Scope.allCases).names == ["read", "send", "identity", "control", "approvals", "nodes", "admin"]
        )
    }

    @Test func `an unknown scope is named`() {
        #expect(ScopeSet.parse(["read", "write"]) == .failure(ScopeSet.UnknownScope(name: "write")))
        #expect(ScopeSet.parse(["send", "read"]) == .success([.read, .send]))
    }

    @Test func `a caller without a scope is told which, and an unknown caller how to get in`() {
        let reader = Caller.token(TokenCaller(id: "1", name: "n", scopes: .read))
        #expect(reader.decide(.read) == .allowed)
        guard case .refused(let missing) = reader.decide([.send, .control]) else {
            Issue.record("allowed")
            return
        }
        #expect(missing.kind == .missingScope)
        #expect(missing.requiredScopes == [.send, .control])
        guard case .refused(let unknown) = Caller.nobody.decide(.read) else {
            Issue.record("allowed")
            return
        }
        #expect(unknown.kind == .notPaired)
        #expect(unknown.authenticate == "Bearer realm=\"ladle\"")
        #expect(unknown.hint?.contains("/v1/pairing") == true)
    }

    @Test func `a caller confined to sessions has those and nothing beside`() {
        let caller = Caller.token(TokenCaller(id: "1", name: "n", scopes: .send, sessions: ["a"]))
        #expect(caller.mayUse(session: "a"))
        #expect(!caller.mayUse(session: "b"))
        #expect(!caller.mayUse(session: nil))
        #expect(Caller.owner(uid: 0).mayUse(session: nil))
        let bound = Caller.token(TokenCaller(id: "1", name: "n", scopes: .read, sessions: ["global", "agent:work:x"]))
        #expect(["work", "wor", "work:x", "main", "global", ""].filter(bound.mayUse(agent:)) == ["work"])
        #expect(Caller.owner(uid: 0).mayUse(agent: "main"))
        #expect(Caller.ticket(buyer: caller, path: "/v1/events").sessions == ["a"])
        #expect(Caller.ticket(buyer: .owner(uid: 0), path: "/v1/events").scopes == .read)
    }
}
