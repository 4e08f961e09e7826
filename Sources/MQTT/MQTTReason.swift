/// A reason code of MQTT 5 (§2.4). Codes of 3.1.1 are mapped to it.
package struct MQTTReason: Sendable, Hashable {
    /// The groups that a client treats alike.
    package enum Kind: Sendable {
        case success
        /// User name, password or rights.
        case authentication
        case version
        /// Another client connected with our client id.
        case takenOver
        /// Busy, unavailable or shutting down.
        case unavailable
        /// A quota or a rate.
        case quota
        case tooLarge
        /// A packet of ours was wrong, such as its topic or format. To send it again does not help.
        case ourFault
        /// An administrator decided it.
        case banned
        /// Another server should be used.
        case moved
        /// The broker lacks a feature.
        case notSupported
        case other
    }

    package var code: UInt8

    package init(_ code: UInt8) { self.code = code }

    /// A code of CONNACK. 3.1.1 has five of its own (3.1.1 §3.2.2.3), which a broker without MQTT 5 also sends to a
    /// client with MQTT 5. The same numbers have no meaning in a CONNACK of MQTT 5.
    package init(connack code: UInt8) {
        self =
            switch code {
            case 1: .unsupportedVersion
            case 2: .clientIdentifierNotValid
            case 3: .serverUnavailable
            case 4: .badUserNameOrPassword
            case 5: .notAuthorized
            default: MQTTReason(code)
            }
    }

    package static let success = MQTTReason(0x00)
    package static let noMatchingSubscribers = MQTTReason(0x10)
    package static let unspecified = MQTTReason(0x80)
    package static let malformedPacket = MQTTReason(0x81)
    package static let protocolError = MQTTReason(0x82)
    static let implementationSpecific = MQTTReason(0x83)
    package static let unsupportedVersion = MQTTReason(0x84)
    static let clientIdentifierNotValid = MQTTReason(0x85)
    static let badUserNameOrPassword = MQTTReason(0x86)
    package static let notAuthorized = MQTTReason(0x87)
    static let serverUnavailable = MQTTReason(0x88)
    package static let sessionTakenOver = MQTTReason(0x8E)
    package static let topicFilterInvalid = MQTTReason(0x8F)
    package static let receiveMaximumExceeded = MQTTReason(0x93)
    static let topicAliasInvalid = MQTTReason(0x94)
    package static let packetTooLarge = MQTTReason(0x95)
    package static let quotaExceeded = MQTTReason(0x97)
    static let qosNotSupported = MQTTReason(0x9B)
    package static let wildcardsNotSupported = MQTTReason(0xA2)

    package var isFailure: Bool { code >= 0x80 }

    package var kind: Kind {
        switch code {
        case 0x00...0x7F: .success
        case 0x86, 0x87, 0x8C: .authentication
        case 0x84: .version
        case 0x8E: .takenOver
        case 0x88, 0x89, 0x8B, 0x8D, 0xA0: .unavailable
        case 0x96, 0x97, 0x9F: .quota
        case 0x95: .tooLarge
        case 0x81, 0x82, 0x85, 0x8F...0x94, 0x99: .ourFault
        case 0x8A, 0x98: .banned
        case 0x9C, 0x9D: .moved
        case 0x9A, 0x9B, 0x9E, 0xA1, 0xA2: .notSupported
        default: .other
        }
    }

    /// The code in a few words, for people.
    package var words: String { Self.words[code] ?? "reason code \(code)" }

    private static let words: [UInt8: String] = [
        0x00: "success", 0x01: "granted QoS 1", 0x02: "granted QoS 2", 0x04: "disconnect with will message",
        0x10: "no matching subscribers", 0x11: "no subscription existed", 0x80: "unspecified error",
        0x81: "malformed packet", 0x82: "protocol error", 0x83: "implementation specific error",
        0x84: "unsupported protocol version", 0x85: "client identifier not valid", 0x86: "bad user name or password",
        0x87: "not authorized", 0x88: "server unavailable", 0x89: "server busy", 0x8A: "banned",
        0x8B: "server shutting down", 0x8C: "bad authentication method", 0x8D: "keep alive timeout",
        0x8E: "session taken over", 0x8F: "topic filter invalid", 0x90: "topic name invalid",
        0x91: "packet identifier in use", 0x92: "packet identifier not found", 0x93: "receive maximum exceeded",
        0x94: "topic alias invalid", 0x95: "packet too large", 0x96: "message rate too high", 0x97: "quota exceeded",
        0x98: "administrative action", 0x99: "payload format invalid", 0x9A: "retain not supported",
        0x9B: "QoS not supported", 0x9C: "use another server", 0x9D: "server moved",
        0x9E: "shared subscriptions not supported", 0x9F: "connection rate exceeded", 0xA0: "maximum connect time",
        0xA1: "subscription identifiers not supported", 0xA2: "wildcard subscriptions not supported",
    ]
}
