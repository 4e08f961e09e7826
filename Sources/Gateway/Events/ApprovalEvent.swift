package import Basics
package import JSONBytes

/// `exec.approval.*` and `plugin.approval.*`: a call waits for a person, or a person has decided.
package struct ApprovalEvent: Sendable {
    package enum Decision: Sendable, Equatable {
        case allow, deny
    }

    private let payload: JSONValue

    package init(_ payload: JSONValue) { self.payload = payload }

    package var id: String? { payload["id"]?.identifier }
    package var sessionKey: String? { payload["request"]?["sessionKey"]?.string }
    package var request: ApprovalRequest? { payload["request"].map { ApprovalRequest($0) } }
    package var time: Timestamp? { GatewayTime.read(payload["ts"]) ?? GatewayTime.read(payload["createdAtMs"]) }

    /// Nil while nobody has decided.
    package var decision: Decision? { payload["decision"]?.string.map { $0 == "deny" ? .deny : .allow } }
}

/// The call that an approval is about.
package struct ApprovalRequest: Sendable {
    /// As the tool's arguments, for its label.
    package let arguments: JSONValue

    init(_ request: JSONValue) { arguments = request }

    package var command: String? { arguments["command"]?.string ?? arguments["argv"]?[0]?.string }
}
