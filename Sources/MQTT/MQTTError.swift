/// The reason why bytes of the peer are no valid MQTT; each error ends the connection with `reason`.
package enum MQTTError: Error, Equatable, Sendable {
    /// A type that this side never receives, or one of a feature that we do not use: AUTH and the packets of QoS 2.
    case unexpectedPacket(type: UInt8)
    /// The low four bits of the first byte (§2.1.3).
    case wrongFlags(type: UInt8, flags: UInt8)
    /// A variable byte integer of more than four bytes, or with more bytes than it needs (§1.5.5).
    case malformedLength
    case packetTooLarge(bytes: Int, limit: Int)
    /// A field ends behind the packet.
    case truncated
    case bytesBehindPacket
    /// Not UTF-8, or with the character U+0000 (§1.5.4).
    case invalidText
    case invalidTopic
    /// QoS 3, or DUP with QoS 0.
    case invalidQoS
    case qosTwo
    case zeroIdentifier
    case reservedBits
    /// Unknown, or not allowed in this packet (§2.2.2.2).
    case unknownProperty(UInt32)
    case repeatedProperty(UInt8)
    case propertyValue(UInt8)
    /// We announce that we accept none.
    case topicAlias
    case noReasonCodes
    case wrongProtocol
    case protocolLevel(UInt8)
    /// SUBACK or UNSUBACK for a packet that was never sent, or with another number of codes.
    case wrongAnswer
    /// The peer sent more messages than we announced to hold without an acknowledgement.
    case tooManyDeliveries
    /// The peer used the identifier of a message that we have not acknowledged yet.
    case identifierInUse(UInt16)

    package var reason: MQTTReason {
        switch self {
        case .unexpectedPacket, .repeatedProperty, .propertyValue, .zeroIdentifier, .invalidTopic, .noReasonCodes,
            .wrongAnswer, .identifierInUse:
            .protocolError
        case .wrongFlags, .malformedLength, .truncated, .bytesBehindPacket, .invalidText, .invalidQoS, .reservedBits,
            .unknownProperty:
            .malformedPacket
        case .packetTooLarge: .packetTooLarge
        case .qosTwo: .qosNotSupported
        case .topicAlias: .topicAliasInvalid
        case .wrongProtocol, .protocolLevel: .unsupportedVersion
        case .tooManyDeliveries: .receiveMaximumExceeded
        }
    }
}

/// The reason why a packet of our own cannot be written.
package enum MQTTFormatError: Error, Equatable, Sendable {
    /// A text or binary field above 65,535 bytes.
    case fieldTooLong
    /// A text with the character U+0000.
    case textWithNUL
    case invalidTopic
    case invalidFilter
    case noFilters
    /// 3.1.1 allows a password only beside a user name (3.1.1 §3.1.2.9).
    case passwordWithoutUsername
    case packetTooLarge(bytes: Int, limit: Int)
}
