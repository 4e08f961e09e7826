package import Basics
import TLS

/// Invitations: the host chooses name and scopes and shows a secret; the first device with the secret gets the token at
/// once. They live only in memory, for five minutes and one use.
///
/// An ended invitation is remembered for an hour, without its secret, so that its holder learns what happened to it.
package struct PairingInvitations: Sendable {
    package static let lifeMilliseconds: Int64 = 300_000
    private static let memoryMilliseconds: Int64 = 3_600_000
    /// 28 of 27 letters are 133 random bits. People without a camera type them.
    private static let letters = 28
    private static let group = 4
    /// A person makes one at a time; a script that makes more has a bug.
    private static let mostWaiting = 16
    private static let most = 256

    package enum Refusal: Error, Equatable, Sendable {
        case tooMany
    }

    package enum Redemption: Sendable, Equatable {
        /// No invitation has this secret.
        case unknown
        /// The secret was right once.
        case over(PairingInvitation)
        /// Make the token now, and call `redeemed` or `redemptionFailed`.
        case deliver(PairingInvitation)
    }

    package enum Cancellation: Sendable, Equatable {
        case unknown
        case cancelled
        case used(PairingInvitation)
    }

    private struct Entry {
        var invitation: PairingInvitation
        /// The id of the token that made it; nil for the owner.
        let maker: String?
        /// The token is being stored for a caller.
        var isTaken = false
    }

    private var entries: [SecretDigest: Entry] = [:]

    package init() {}

    package var count: Int { entries.count }

    /// - Parameter maker: the id of the token that invites; the invitation ends with it.
    package mutating func make(
        _ token: NewToken,
        by maker: String? = nil,
        now: Timestamp
    ) -> Result<(invitation: PairingInvitation, secret: Secret), Refusal> {
        update(now: now)
        guard entries.values.count(where: { $0.invitation.state == .waiting }) < Self.mostWaiting else {
            return .failure(.tooMany)
        }
        if entries.count >= Self.most { forgetOldest() }
        let letters = SecureCode.letters(from: PairingRequests.alphabet, count: Self.letters)
        let invitation = PairingInvitation(
            id: UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10)),
            token: token,
            createdAt: now,
            expiresAt: now.adding(milliseconds: Self.lifeMilliseconds)
        )
        entries[SecretDigest(of: letters)] = Entry(invitation: invitation, maker: maker)
        return .success((invitation, Secret(String(decoding: letters, as: UTF8.self))))
    }

    /// The letters in groups, for people. Dashes, blanks and case are ignored on input.
    package static func grouped(_ secret: Secret) -> String {
        let letters = Array(secret.reveal())
        return stride(from: 0, to: letters.count, by: group).map { start in
            String(letters[start..<min(start + group, letters.count)])
        }.joined(separator: "-")
    }

    /// One caller gets `deliver`; all others, during or after the storing of the token, find the invitation used.
    package mutating func redeem(_ text: String, now: Timestamp) -> Redemption {
        update(now: now)
        guard let letters = Self.letters(of: text) else { return .unknown }
        let key = SecretDigest(of: letters)
        guard let entry = entries[key] else { return .unknown }
        if entry.isTaken {
            var invitation = entry.invitation
            invitation.state = .used
            return .over(invitation)
        }
        guard entry.invitation.state == .waiting else { return .over(entry.invitation) }
        entries[key]?.isTaken = true
        return .deliver(entry.invitation)
    }

    /// Records that the token is stored and being sent.
    package mutating func redeemed(_ id: String, tokenID: String, from: String) {
        change(id) { entry in
            entry.isTaken = false
            entry.invitation.state = .used
            entry.invitation.usedFrom = from
            entry.invitation.tokenID = tokenID
        }
    }

    /// Makes the secret valid again, because the token could not be stored.
    package mutating func redemptionFailed(_ id: String) {
        change(id) { $0.isTaken = false }
    }

    package mutating func cancel(_ id: String, now: Timestamp) -> Cancellation {
        update(now: now)
        guard let entry = entries.values.first(where: { $0.invitation.id == id }) else { return .unknown }
        if entry.isTaken || entry.invitation.state == .used { return .used(entry.invitation) }
        if entry.invitation.state == .waiting { change(id) { $0.invitation.state = .cancelled } }
        return .cancelled
    }

    /// Cancels what a token has made that was revoked, replaced or has expired.
    package mutating func end(madeBy token: String) {
        for (key, entry) in entries where entry.maker == token && entry.invitation.state == .waiting && !entry.isTaken {
            entries[key]?.invitation.state = .cancelled
        }
    }

    /// The invitations that a device can still use, oldest first.
    package mutating func open(now: Timestamp) -> [PairingInvitation] {
        update(now: now)
        return entries.values.map(\.invitation).filter { $0.state == .waiting }.sorted { $0.id < $1.id }
    }

    package mutating func invitation(_ id: String, now: Timestamp) -> PairingInvitation? {
        update(now: now)
        return entries.values.first { $0.invitation.id == id }?.invitation
    }

    private mutating func change(_ id: String, _ body: (inout Entry) -> Void) {
        guard let key = entries.first(where: { $0.value.invitation.id == id })?.key, var entry = entries[key] else {
            return
        }
        body(&entry)
        entries[key] = entry
    }

    /// An invitation whose token is being stored ends when the database answers.
    private mutating func update(now: Timestamp) {
        entries = entries.filter {
            $0.value.isTaken || now.milliseconds - $0.value.invitation.createdAt.milliseconds < Self.memoryMilliseconds
        }
        for (key, entry) in entries where entry.invitation.state == .waiting && !entry.isTaken {
            if entry.invitation.expiresAt <= now { entries[key]?.invitation.state = .expired }
        }
    }

    /// Forgets the oldest ended invitation; few invitations wait at one time, so each is checked.
    private mutating func forgetOldest() {
        let over = entries.filter { !$0.value.isTaken && $0.value.invitation.state != .waiting }
        guard let oldest = over.min(by: { $0.value.invitation.createdAt < $1.value.invitation.createdAt }) else {
            return
        }
        entries[oldest.key] = nil
    }

    /// Nil for text that cannot be a secret.
    private static func letters(of text: String) -> [UInt8]? {
        // Room for a separator after each letter.
        guard text.utf8.count <= 2 * letters else { return nil }
        var found: [UInt8] = []
        for byte in text.utf8 where byte != UInt8(ascii: "-") && byte != UInt8(ascii: " ") {
            let letter = (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & 0xDF : byte
            guard PairingRequests.alphabet.contains(letter) else { return nil }
            found.append(letter)
        }
        return found.count == letters ? found : nil
    }
}
