import Basics

/// The credential of a request, from its `Authorization` fields. If one is sent, nothing else counts: a malformed one
/// never falls back to the connection's identity.
package enum Credential: Equatable, Sendable {
    case none
    case bearer([UInt8])
    /// Another scheme, several fields, or no token: hashed and compared like a wrong token.
    case malformed([UInt8])

    package init(authorization: [String]) {
        guard let first = authorization.first else {
            self = .none
            return
        }
        guard authorization.count == 1, let token = Self.bearerToken(first.utf8) else {
            self = .malformed(Array(first.utf8))
            return
        }
        self = .bearer(token)
    }

    /// RFC 6750 §2.1: `Bearer` in any case, blanks, one b64token.
    private static func bearerToken(_ value: String.UTF8View) -> [UInt8]? {
        var rest = value[...]
        for expected in "bearer".utf8 {
            guard let byte = rest.popFirst(), byte | 0x20 == expected else { return nil }
        }
        guard rest.first == UInt8(ascii: " ") else { return nil }
        while rest.first == UInt8(ascii: " ") { rest.removeFirst() }
        let token = Array(rest)
        guard !token.isEmpty, token.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ",") }) else {
            return nil
        }
        return token
    }

    /// The key of the failure bucket: the part of the credential that lists show, so that guesses at one token from
    /// many addresses are throttled too.
    var prefixKey: UInt64 {
        switch self {
        case .none: 0
        case .bearer(let bytes), .malformed(let bytes):
            FNV1a.hash(bytes.prefix(TokenText.shownLength))
        }
    }
}

extension Credential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { self == .none ? "none" : "(secret)" }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
