import Access
import Basics
import Testing

struct PairingInvitationTests {
    static func token(_ scopes: ScopeSet = [.read, .send]) throws -> NewToken {
        try NewToken(name: "phone", scopes: scopes, now: .start)
    }

    @Test func `the first who brings the secret gets the token, and nobody else`() throws {
        var book = PairingInvitations()
        let made = try book.make(Self.token(), now: .start).get()
        let secret = made.secret.reveal()
        guard case .deliver(let invitation) = book.redeem(secret, now: .after(1000)) else {
            Issue.record("not delivered")
            return
        }
        #expect(invitation.token.scopes == [.read, .send] && invitation.id == made.invitation.id)
        // Both while its row is being written, and afterwards.
        guard case .over(let taken) = book.redeem(secret, now: .after(1000)), taken.state == .used else {
            Issue.record("raced")
            return
        }
        book.redeemed(invitation.id, tokenID: "t1", from: "100.64.0.9")
        guard case .over(let used) = book.redeem(secret, now: .after(400_000)) else {
            Issue.record("replayed")
            return
        }
        #expect(used.state == .used && used.usedFrom == "100.64.0.9" && used.tokenID == "t1")
        #expect(book.cancel(invitation.id, now: .after(1000)) == .used(used))
    }

    @Test func `a token that could not be stored leaves the secret good`() throws {
        var book = PairingInvitations()
        let made = try book.make(Self.token(), now: .start).get()
        guard case .deliver(let invitation) = book.redeem(made.secret.reveal(), now: .start) else {
            Issue.record("not delivered")
            return
        }
        book.redemptionFailed(invitation.id)
        guard case .deliver = book.redeem(made.secret.reveal(), now: .after(299_999)) else {
            Issue.record("void")
            return
        }
    }

    @Test func `five minutes, to the millisecond, and an hour to hear that it is over`() throws {
        var book = PairingInvitations()
        let made = try book.make(Self.token(), now: .start).get()
        let secret = made.secret.reveal()
        #expect(book.invitation(made.invitation.id, now: .after(299_999))?.state == .waiting)
        guard case .over(let late) = book.redeem(secret, now: .after(300_000)) else {
            Issue.record("too late, and let in")
            return
        }
        #expect(late.state == .expired)
        #expect(book.redeem(secret, now: .after(3_600_000)) == .unknown)
        #expect(book.count == 0)
    }

    @Test func `cancelled is void`() throws {
        var book = PairingInvitations()
        let made = try book.make(Self.token(), now: .start).get()
        #expect(book.cancel(made.invitation.id, now: .start) == .cancelled)
        #expect(book.cancel(made.invitation.id, now: .start) == .cancelled)
        #expect(book.cancel("other", now: .start) == .unknown)
        guard case .over(let over) = book.redeem(made.secret.reveal(), now: .start), over.state == .cancelled else {
            Issue.record("still good")
            return
        }
    }

    @Test func `people type it in groups, in small letters; anything else is unknown`() throws {
        var book = PairingInvitations()
        let made = try book.make(Self.token(), now: .start).get()
        let shown = PairingInvitations.grouped(made.secret)
        #expect(shown.count == 34 && shown.split(separator: "-").count == 7)
        let secret = made.secret.reveal()
        for wrong in [
            "", "-", String(secret.dropLast()), secret + "2", "O" + secret.dropFirst(), secret + "\0", "ß" + secret,
            String(secret.reversed()) + "-", String(repeating: "2", count: 28), String(repeating: "-", count: 1 << 20),
        ] {
            #expect(book.redeem(wrong, now: .start) == .unknown, "\(wrong.prefix(40))")
        }
        guard case .deliver = book.redeem(shown.lowercased().replacing("-", with: " "), now: .start) else {
            Issue.record("not delivered")
            return
        }
    }

    @Test func `few wait at once, and what is over makes room`() throws {
        var book = PairingInvitations()
        for round in 0..<40 {
            var made: [PairingInvitation] = []
            while case .success(let one) = book.make(try Self.token(), now: .after(Int64(round))) {
                made.append(one.invitation)
            }
            #expect(made.count == 16)
            for one in made { #expect(book.cancel(one.id, now: .after(Int64(round))) == .cancelled) }
        }
        #expect(book.count == 256)
    }
}
