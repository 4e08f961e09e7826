/// Status and reason of a close frame (RFC 6455 §5.5.1).
package struct WebSocketClose: Sendable, Equatable {
    /// 1005 when the close frame has no status, 1006 when no close frame arrived; neither is ever written to the wire.
    package var code: UInt16
    package var reason: String

    package init(_ code: UInt16, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    package static let normal: UInt16 = 1000
    package static let goingAway: UInt16 = 1001
    package static let protocolError: UInt16 = 1002
    package static let noStatus: UInt16 = 1005
    static let invalidPayload: UInt16 = 1007
    package static let policyViolation: UInt16 = 1008
    package static let tooBig: UInt16 = 1009
    package static let serviceRestart: UInt16 = 1012
    package static let tryAgainLater: UInt16 = 1013

    /// Whether a close frame may contain this code: the registered codes and the ranges for libraries and applications
    /// (RFC 6455 §7.4 and the IANA registry; 1004 to 1006 and 1015 are reserved for local use).
    package static func mayAppear(_ code: UInt16) -> Bool {
        switch code {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }

    /// The payload of a close frame. The reason is cut between characters to keep the payload within 125 bytes.
    package var payload: [UInt8] {
        guard Self.mayAppear(code) else { return [] }
        var bytes: [UInt8] = [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]
        for character in reason.unicodeScalars {
            let encoded = UTF8.encode(character)
            guard let encoded, bytes.count + encoded.count <= WebSocketLimits.controlPayload else { break }
            bytes.append(contentsOf: encoded)
        }
        return bytes
    }
}
