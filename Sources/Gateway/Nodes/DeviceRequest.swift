package import Basics
import JSONBytes

/// A device that waits for the approval of the gateway's operator: to connect, or as a node to use its declared
/// commands. Its address is not even read.
package struct DeviceRequest: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case device, node
    }

    package let id: String
    package let kind: Kind
    package let device: String?
    package let name: String?
    package let platform: String?
    package let roles: [String]
    package let scopes: [String]
    /// The device was paired before, and asks for more rights or with another key.
    package let isRepair: Bool
    /// Whether the gateway approves the request automatically.
    package let isSilent: Bool
    package let at: Timestamp?

    /// Nil if the request has no id.
    init?(_ value: JSONValue, _ kind: Kind) {
        guard let id = value["requestId"]?.visibleIdentifier else { return nil }
        self.id = id
        self.kind = kind
        device = (value["deviceId"] ?? value["nodeId"])?.identifier
        name = value["displayName"]?.string
        platform = value["platform"]?.identifier
        let names = { (name: String) in
            value[name]?.elements.prefix(GatewayLimits.pairingNames).compactMap(\.identifier) ?? []
        }
        let roles = names("roles")
        self.roles = roles.isEmpty ? value["role"]?.identifier.map { [$0] } ?? [] : roles
        scopes = names("scopes")
        isRepair = value["isRepair"]?.bool ?? false
        isSilent = value["silent"]?.bool ?? false
        at = GatewayTime.read(value["ts"])
    }
}
