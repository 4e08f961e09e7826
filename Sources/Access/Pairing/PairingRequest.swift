package import Basics
package import JSONBytes

/// One application for a token, as the host sees it: without its id, which is the applicant's secret.
package struct PairingRequest: Sendable, Equatable {
    /// The code that a person on the host compares with the applicant's screen, and types.
    package let code: String
    package let name: String
    package let scopes: ScopeSet
    /// Nil requests all paths.
    package let paths: AllowedPaths?
    package let from: String
    let requestedAt: Timestamp
    package let expiresAt: Timestamp
}

extension PairingRequest: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("code", code)
            writer.member("name", name)
            writer.array("scopes", of: scopes.names)
            if let paths { writer.array("paths", of: paths.list) }
            writer.member("from", from)
            writer.member("requestedAt", requestedAt)
            writer.member("expiresAt", expiresAt)
        }
    }
}

/// The answer to the applicant: `id` is 256 random bits and the only key to the token.
package struct PairingReceipt: Sendable {
    package let id: Secret
    package let request: PairingRequest

    package var code: String { request.code }
    package var expiresAt: Timestamp { request.expiresAt }
}

/// The state of an application, for the applicant.
package enum PairingStatus: Sendable, Equatable {
    case pending(expiresAt: Timestamp)
    /// Make the token now, return it in this answer, and call `delivered` or `deliveryFailed`.
    case deliver(NewToken)
    case rejected
    case superseded
    /// The token was handed out before; it is never shown again.
    case delivered
    /// Another request is receiving the token right now.
    case busy
}
