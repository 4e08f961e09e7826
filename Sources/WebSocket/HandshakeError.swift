import HTTP1

/// The reason why an opening handshake failed, on either side.
package enum HandshakeError: Error, Equatable, Sendable {
    case headTooLong(limit: Int)
    case malformedHead
    /// The server answered with another status; `retryAfter` holds its `Retry-After` if that is a plain number of
    /// seconds.
    case refused(status: Int, retryAfter: Int?)
    case notAnUpgrade
    /// `Sec-WebSocket-Accept` does not match our key: some intermediary replayed or guessed an answer.
    case wrongAccept
    /// The server chose an extension or subprotocol that was not offered.
    case notOffered(String)
    /// The server did not agree to the subprotocol.
    case notSpoken(String)
    case methodNotAllowed(String)
    case missingHost
    case missingKey
    case unsupportedVersion(String?)

    /// The status with which a server refuses the request.
    package var status: Int {
        switch self {
        case .headTooLong: 431
        case .methodNotAllowed: 405
        case .unsupportedVersion, .notAnUpgrade: 426
        default: 400
        }
    }
}

extension HandshakeError {
    init(_ error: HTTP1ParseError) {
        switch error {
        case .requestLineTooLong(let limit), .headTooLarge(let limit), .tooManyFields(let limit):
            self = .headTooLong(limit: limit)
        case .missingHost: self = .missingHost
        default: self = .malformedHead
        }
    }
}

extension HTTP1Limits {
    /// A handshake needs well under 1 KiB, but a proxy's cookies must fit as well. The body of a refusal is not read.
    static let handshake = HTTP1Limits(requestLine: 16_384, fieldBlock: 16_384, fieldCount: 100, body: .max)
}
