import Access
import Basics
import Testing

struct PairingTests {
    static func wish(_ name: String = "phone", _ scopes: ScopeSet = [.read, .send]) throws -> NewToken {
        try NewToken(name: name, scopes: scopes, now: .start)
    }

    static func bytes(_ receipt: PairingReceipt) -> [UInt8] { Array(receipt.id.reveal().utf8) }

    @Test func `an approved applicant gets one token, once`() throws {
        var book = PairingRequests()
        let receipt = try book.apply(Self.wish(), from: "192.0.2.1", place: "x", now: .start).get()
        let id = Self.bytes(receipt)
        #expect(book.poll(id, now: .start) == .pending(expiresAt: .after(300_000)))
        #expect(book.pending(now: .start).map(\.code) == [receipt.code])
        let approved = try book.approve(receipt.code.lowercased().replacing("-", with: ""), now: .after(1000)).get()
        #expect(approved.name == "phone")
        guard case .deliver(let wish)? = book.poll(id, now: .after(2000)) else {
            Issue.record("not delivered")
            return
        }
        #expect(wish.scopes == [.read, .send])
        #expect(book.poll(id, now: .after(2000)) == .busy)
        book.deliveryFailed(id)
        guard case .deliver? = book.poll(id, now: .after(2000)) else {
            Issue.record("a failed delivery was not repeated")
            return
        }
        book.delivered(id)
        #expect(book.poll(id, now: .after(3000)) == .delivered)
        #expect(book.approve(receipt.code, now: .after(3000)) == .failure(.decided))
    }

    @Test func `five minutes, to the millisecond, and a minute to collect after a late approval`() throws {
        var book = PairingRequests()
        let receipt = try book.apply(Self.wish(), from: "a", place: "a", now: .start).get()
        #expect(book.poll(Self.bytes(receipt), now: .after(299_999)) != nil)
        #expect(book.poll(Self.bytes(receipt), now: .after(300_000)) == nil)
        #expect(book.approve(receipt.code, now: .after(300_000)) == .failure(.unknownCode))
        #expect(try book.approve(receipt.code, now: .after(299_999)).get().code == receipt.code)
        #expect(book.poll(Self.bytes(receipt), now: .after(359_998)) != nil)
        #expect(book.poll(Self.bytes(receipt), now: .after(359_999)) == nil)
    }

    @Test func `rejected is rejected, and what was never applied for is unknown`() throws {
        var book = PairingRequests()
        let receipt = try book.apply(Self.wish(), from: "a", place: "a", now: .start).get()
        _ = book.reject(receipt.code, now: .start)
        #expect(book.poll(Self.bytes(receipt), now: .start) == .rejected)
        #expect(book.approve(receipt.code, now: .start) == .failure(.decided))
        #expect(book.poll(Array("ldp_guess".utf8), now: .start) == nil)
        #expect(book.poll([UInt8](repeating: 0, count: 1 << 20), now: .start) == nil)
        #expect(book.approve("ZZZZ-ZZZZ", now: .start) == .failure(.unknownCode))
        #expect(book.approve("", now: .start) == .failure(.unknownCode))
    }

    @Test func `paths are granted as asked for, or narrower, and never with scope admin`() throws {
        let asked = try AllowedPaths(["/v1/runs", "/v1/glance"])
        func granted(_ paths: AllowedPaths?, asked: AllowedPaths?, _ scopes: ScopeSet = .read) throws -> NewToken? {
            var book = PairingRequests()
            let wish = try NewToken(name: "phone", scopes: scopes, paths: asked, now: .start)
            let receipt = try book.apply(wish, from: "a", place: "a", now: .start).get()
            #expect(book.pending(now: .start).first?.paths == asked)
            _ = try book.approve(receipt.code, paths: paths, now: .start).get()
            guard case .deliver(let token)? = book.poll(Self.bytes(receipt), now: .start) else { return nil }
            return token
        }
        #expect(try granted(nil, asked: asked)?.paths == asked)
        #expect(try granted(nil, asked: nil)?.paths == nil)
        let one = try AllowedPaths(["/v1/runs/x"])
        #expect(try granted(one, asked: asked)?.paths == one)
        #expect(try granted(one, asked: nil)?.paths == one)
        #expect(throws: PairingRequests.Refusal.pathNotRequested) {
            try granted(AllowedPaths(["/v1/runs/x", "/v1"]), asked: asked)
        }
        #expect(throws: PairingRequests.Refusal.impossible(.pathLimitedAdmin)) {
            try granted(one, asked: nil, .admin)
        }
    }

    @Test func `an approver may narrow what was asked for and not widen it`() throws {
        var book = PairingRequests()
        let receipt = try book.apply(Self.wish(), from: "a", place: "a", now: .start).get()
        #expect(book.approve(receipt.code, scopes: .admin, now: .start) == .failure(.notRequested(.admin)))
        #expect(book.approve(receipt.code, scopes: [], now: .start) == .failure(.notRequested([])))
        _ = book.approve(receipt.code, scopes: .read, now: .start)
        guard case .deliver(let wish)? = book.poll(Self.bytes(receipt), now: .start) else { return }
        #expect(wish.scopes == .read)
    }

    @Test func `a repeat from the same place supersedes the first, one from elsewhere does not`() throws {
        var book = PairingRequests()
        let first = try book.apply(Self.wish(), from: "a", place: "a", now: .start).get()
        let elsewhere = try book.apply(Self.wish(), from: "b", place: "b", now: .start).get()
        let second = try book.apply(Self.wish("phone", .admin), from: "a", place: "a", now: .start).get()
        #expect(book.poll(Self.bytes(first), now: .start) == .superseded)
        #expect(book.approve(first.code, now: .start) == .failure(.decided))
        #expect(Set(book.pending(now: .start).map(\.code)) == [elsewhere.code, second.code])
    }

    @Test func `a few places that ask for much leave room for all others`() throws {
        var book = PairingRequests(capacity: 64, perPlace: 8)
        for index in 0..<64 {
            _ = try book.apply(Self.wish("n\(index)"), from: "", place: "p\(index % 12)", now: .after(Int64(index)))
                .get()
        }
        for index in 0..<20 {
            let receipt = try book.apply(Self.wish(), from: "", place: "new\(index)", now: .after(100)).get()
            #expect(book.poll(Self.bytes(receipt), now: .after(100)) != nil)
        }
        #expect(book.count == 64)
        // A place that has much gets no more of a full list.
        guard case .failure(.tooMany) = book.apply(try Self.wish("more"), from: "", place: "p0", now: .after(100))
        else {
            Issue.record("a crowded place got more")
            return
        }
        #expect(book.pending(now: .after(100)).contains { $0.name == "n0" }, "the newest goes, not the oldest")
    }

    @Test func `the book is bounded, per place and in all`() throws {
        var book = PairingRequests(capacity: 10, perPlace: 3)
        for index in 0..<3 { _ = try book.apply(Self.wish("n\(index)"), from: "a", place: "a", now: .start).get() }
        guard case .failure(.tooMany) = try book.apply(Self.wish("n3"), from: "a", place: "a", now: .start) else {
            Issue.record("a fourth was taken")
            return
        }
        for index in 0..<1000 { _ = try book.apply(Self.wish("n"), from: "\(index)", place: "\(index)", now: .start) }
        #expect(book.count == 10)
        // Replaced ones make room.
        let left = book.pending(now: .start).filter { $0.from == "a" }
        #expect(left.count == 1)
        _ = try book.apply(Self.wish(left[0].name), from: "a", place: "a", now: .start).get()
        #expect(book.count == 10)
        _ = try book.apply(Self.wish("late"), from: "z", place: "z", now: .after(400_000)).get()
        #expect(book.count == 1)
    }

    @Test func `codes are unlike and easy to read out`() throws {
        var book = PairingRequests(capacity: 1000, perPlace: 1000)
        var codes: Set<String> = []
        for index in 0..<500 {
            let code = try book.apply(Self.wish("n\(index)"), from: "a", place: "a", now: .start).get().code
            #expect(code.count == 9)
            #expect(!code.contains { "01OILAEU".contains($0) })
            codes.insert(code)
        }
        #expect(codes.count == 500)
    }
}

struct TicketTests {
    static let buyer = Caller.token(TokenCaller(id: "t", name: "n", scopes: .read))

    static func redeemed(path: String = "/v1/events", method: String = "GET", after: Int64 = 0, ticket: String? = nil)
        throws -> Caller?
    {
        var book = TicketStore()
        let bought = try book.issue(to: buyer, path: "/v1/events", now: .start).get()
        let text = ticket ?? bought.secret.reveal()
        return book.redeem(Array(text.utf8), path: path, method: method, now: .after(after))
    }

    @Test func `a ticket holds for one path, by GET, for a minute`() throws {
        #expect(try Self.redeemed() == .ticket(buyer: Self.buyer, path: "/v1/events"))
        #expect(try Self.redeemed(after: 59_999) != nil)
        #expect(try Self.redeemed(after: 60_000) == nil)
        #expect(try Self.redeemed(path: "/v1/status") == nil)
        #expect(try Self.redeemed(method: "POST") == nil)
        #expect(try Self.redeemed(ticket: "") == nil)
        #expect(try Self.redeemed(ticket: "ldt_" + String(repeating: "0", count: 43)) == nil)
    }

    @Test func `shown for the wrong path it is spent`() throws {
        var book = TicketStore()
        let text = try Array(book.issue(to: Self.buyer, path: "/v1/events", now: .start).get().secret.reveal().utf8)
        #expect(book.redeem(text, path: "/v1/status", method: "GET", now: .start) == nil)
        #expect(book.redeem(text, path: "/v1/events", method: "GET", now: .start) == nil)
    }

    @Test func `callers with a token cannot take the last streams and tickets`() throws {
        var book = TicketStore(capacity: 16, perCaller: 16)
        var slots = StreamSlots(perCaller: 16, total: 16)
        let guest = Caller.token(TokenCaller(id: "t", name: "t", scopes: .read))
        for _ in 0..<15 {
            #expect((try? book.issue(to: guest, path: "/v1/runs", now: .start).get()) != nil)
            let hasRoom = slots.take(guest)
            #expect(hasRoom)
        }
        #expect((try? book.issue(to: guest, path: "/v1/runs", now: .start).get()) == nil && !slots.take(guest))
        let owner = Caller.owner(uid: 1)
        #expect((try? book.issue(to: owner, path: "/v1/runs", now: .start).get()) != nil && slots.take(owner))
        let hasMore = slots.take(owner)
        #expect(!hasMore)
    }

    @Test func `tickets are bounded and only readers buy them`() {
        func failure(_ result: Result<(secret: Secret, expiresAt: Timestamp), TicketStore.Refusal>) -> TicketStore
            .Refusal?
        {
            if case .failure(let refusal) = result { refusal } else { nil }
        }
        var book = TicketStore(capacity: 4, perCaller: 2)
        #expect(failure(book.issue(to: .nobody, path: "/", now: .start)) == .notAllowed)
        #expect(
            failure(book.issue(to: .ticket(buyer: .owner(uid: 0), path: "/"), path: "/", now: .start)) == .notAllowed
        )
        for _ in 0..<2 { #expect(failure(book.issue(to: Self.buyer, path: "/", now: .start)) == nil) }
        #expect(failure(book.issue(to: Self.buyer, path: "/", now: .start)) == .tooMany)
        for _ in 0..<2 { _ = book.issue(to: .owner(uid: 0), path: "/", now: .start) }
        #expect(book.count == 4)
        #expect(failure(book.issue(to: .owner(uid: 1), path: "/", now: .start)) == .tooMany)
        #expect(failure(book.issue(to: Self.buyer, path: "/", now: .after(60_000))) == nil)
        #expect(book.count == 1)
    }
}
