import Access
import Basics
import Testing

/// The scopes are few enough to test all sets, all pairs and all triples.
struct ScopeLatticeTests {
    private static let every = (UInt8(0)..<64).map { ScopeSet(rawValue: $0) }

    /// The meaning of a set, stated differently: the scopes under which one may act.
    private func meaning(_ set: ScopeSet) -> Set<Scope> {
        Set(set.list.contains(.admin) ? Scope.allCases : set.list)
    }

    @Test func `a set permits what its names mean, and nothing else`() {
        for set in Self.every {
            for wanted in Self.every {
                let expected = wanted.list.allSatisfy { meaning(set).contains($0) }
                #expect(set.permits(wanted) == expected, "\(set.names) \(wanted.names)")
                let caller = Caller.token(TokenCaller(id: "1", name: "n", scopes: set))
                #expect((caller.decide(wanted) == .allowed) == expected)
            }
        }
    }

    @Test func `permission is an order: reflexive, transitive, never less by more`() {
        var broken = 0
        for one in Self.every {
            if !one.permits(one) || !one.permits([]) || !ScopeSet.admin.permits(one) { broken += 1 }
            for two in Self.every {
                let union = one.union(two)
                if !union.permits(one) || !union.permits(two) { broken += 1 }
                for three in Self.every {
                    if one.permits(two), two.permits(three), !one.permits(three) { broken += 1 }
                    if one.permits(three), !union.permits(three) { broken += 1 }
                    if one.permits(two.union(three)) != (one.permits(two) && one.permits(three)) { broken += 1 }
                }
            }
        }
        #expect(broken == 0)
    }

    @Test func `names and sets are two forms of one thing`() {
        for set in Self.every { #expect(ScopeSet.parse(set.names) == .success(set)) }
        for name in ["", "Read", "read ", "*", "admin,read", "owner", "all"] {
            guard case .failure = ScopeSet.parse([name]) else {
                Issue.record("\(name) is a scope")
                continue
            }
        }
    }

    @Test func `a ticket reads for who may read, in his sessions, and does nothing else`() {
        for set in Self.every {
            for sessions: SessionSet? in [nil, ["a"]] {
                let buyer = Caller.token(TokenCaller(id: "1", name: "n", scopes: set, sessions: sessions))
                let ticket = Caller.ticket(buyer: buyer, path: "/v1/events")
                #expect(ticket.scopes == (set.permits(.read) ? .read : []))
                #expect(buyer.scopes.permits(ticket.scopes))
                #expect(ticket.sessions == sessions && ticket.tokenID == "1" && ticket.isLimited)
                var book = TicketStore()
                let bought = book.issue(to: buyer, path: "/v1/events", now: .start)
                #expect((try? bought.get()) != nil || !set.permits(.read))
                #expect((try? book.issue(to: ticket, path: "/v1/events", now: .start).get()) == nil)
            }
        }
    }

    @Test func `an approval grants no more than was asked for`() throws {
        for asked in Self.every where !asked.isEmpty {
            for granted in Self.every {
                var book = PairingRequests()
                let wish = try NewToken(name: "n", scopes: asked, now: .start)
                let receipt = try book.apply(wish, from: "a", place: "a", now: .start).get()
                let approved = (try? book.approve(receipt.code, scopes: granted, now: .start).get()) != nil
                #expect(approved == (!granted.isEmpty && asked.permits(granted)))
                guard case .deliver(let token)? = book.poll(Array(receipt.id.reveal().utf8), now: .start) else {
                    #expect(!approved)
                    continue
                }
                #expect(approved && token.scopes == granted)
            }
        }
    }

    /// The same login, looked up for two connections, is one caller; another grant is another.
    @Test func `a tailnet caller is who he is, wherever he was asked about`() {
        var here = TailnetCaller(name: "a@b.c", device: "n1", scopes: .read)
        var there = here
        here.question = WhoisQuestion(address: PeerAddress(ip: .loopback4, port: 1))
        there.question = WhoisQuestion(address: PeerAddress(ip: .loopback4, port: 2))
        #expect(here == there && here.hashValue == there.hashValue)
        #expect(here != TailnetCaller(name: "a@b.c", device: "n1", scopes: .admin))
        let other = TailnetCaller(name: "a@b.c", device: "n2", scopes: .read)
        #expect(here != other && Caller.tailnet(here).identity != Caller.tailnet(other).identity)
        #expect(here != TailnetCaller(name: "a@b.d", device: "n1", scopes: .read))
    }
}
