/// The properties of MQTT 5 by their identifiers (§2.2.2.2).
package enum MQTTPropertyName: UInt8, Sendable, CaseIterable {
    case payloadFormat = 0x01
    case messageExpiry = 0x02
    case contentType = 0x03
    case responseTopic = 0x08
    case correlationData = 0x09
    case subscriptionIdentifier = 0x0B
    case sessionExpiry = 0x11
    case assignedClientIdentifier = 0x12
    case serverKeepAlive = 0x13
    case authenticationMethod = 0x15
    case authenticationData = 0x16
    case requestProblemInformation = 0x17
    case willDelay = 0x18
    case requestResponseInformation = 0x19
    case responseInformation = 0x1A
    case serverReference = 0x1C
    case reasonString = 0x1F
    case receiveMaximum = 0x21
    case topicAliasMaximum = 0x22
    case topicAlias = 0x23
    case maximumQoS = 0x24
    case retainAvailable = 0x25
    case userProperty = 0x26
    case maximumPacketSize = 0x27
    case wildcardAvailable = 0x28
    case subscriptionIdentifiersAvailable = 0x29
    case sharedAvailable = 0x2A

    /// The packets, and the part of CONNECT for the will, that contain properties.
    package enum Place: Sendable, CaseIterable {
        case connect, will, connack, publish, puback, subscribe, suback, unsubscribe, unsuback, disconnect
    }

    package enum Kind: Sendable {
        case byte, two, four, variable, text, bytes, pair
    }

    package var kind: Kind {
        switch self {
        case .payloadFormat, .requestProblemInformation, .requestResponseInformation, .maximumQoS, .retainAvailable,
            .wildcardAvailable, .subscriptionIdentifiersAvailable, .sharedAvailable:
            .byte
        case .serverKeepAlive, .receiveMaximum, .topicAliasMaximum, .topicAlias: .two
        case .messageExpiry, .sessionExpiry, .willDelay, .maximumPacketSize: .four
        case .subscriptionIdentifier: .variable
        case .contentType, .responseTopic, .assignedClientIdentifier, .authenticationMethod, .responseInformation,
            .serverReference, .reasonString:
            .text
        case .correlationData, .authenticationData: .bytes
        case .userProperty: .pair
        }
    }

    package func mayAppear(in place: Place) -> Bool {
        switch self {
        case .payloadFormat, .messageExpiry, .contentType, .responseTopic, .correlationData:
            place == .publish || place == .will
        case .subscriptionIdentifier: place == .publish || place == .subscribe
        case .sessionExpiry: place == .connect || place == .connack || place == .disconnect
        case .authenticationMethod, .authenticationData, .receiveMaximum, .topicAliasMaximum, .maximumPacketSize:
            place == .connect || place == .connack
        case .requestProblemInformation, .requestResponseInformation: place == .connect
        case .willDelay: place == .will
        case .assignedClientIdentifier, .serverKeepAlive, .responseInformation, .maximumQoS, .retainAvailable,
            .wildcardAvailable, .subscriptionIdentifiersAvailable, .sharedAvailable:
            place == .connack
        case .serverReference: place == .connack || place == .disconnect
        case .reasonString:
            switch place {
            case .connack, .puback, .suback, .unsuback, .disconnect: true
            default: false
            }
        case .topicAlias: place == .publish
        case .userProperty: true
        }
    }

    /// A broker names each subscription that a message matches (§3.3.2.3.8).
    func mayRepeat(in place: Place) -> Bool {
        self == .userProperty || self == .subscriptionIdentifier && place == .publish
    }
}
