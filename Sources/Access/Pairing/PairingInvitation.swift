package import Basics
package import JSONBytes

/// A token that the host has granted and nobody has collected yet, without its secret.
package struct PairingInvitation: Sendable, Equatable {
    package enum State: String, Sendable {
        case waiting, used, cancelled, expired
    }

    package let id: String
    package let token: NewToken
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    package internal(set) var state = State.waiting
    /// The address that used it, for display.
    package internal(set) var usedFrom: String?
    /// The id of the resulting token.
    package internal(set) var tokenID: String?
}

extension PairingInvitation: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("state", state.rawValue)
        writer.member("name", token.name)
        writer.array("scopes", of: token.scopes.names)
        if let sessions = token.sessions { writer.array("sessions", of: sessions.texts) }
        if let paths = token.paths { writer.array("paths", of: paths.list) }
        writer.member("createdAt", createdAt)
        writer.member("expiresAt", expiresAt)
        writer.member("usedFrom", usedFrom)
        writer.member("tokenId", tokenID)
    }
}
