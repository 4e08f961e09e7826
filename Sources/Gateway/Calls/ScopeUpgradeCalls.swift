package import JSONBytes

/// Asks the gateway's owner to let this device have more scopes. It needs no scope itself.
package struct ScopeUpgradeRequest: GatewayCall {
    package static let method = "device.scopes.requestUpgrade"
    private static let mostScopes = 8
    /// All scopes that the device shall have.
    package var scopes: [String]

    package init(scopes: [String]) { self.scopes = Array(scopes.prefix(Self.mostScopes)) }

    package func writeParams(to writer: inout JSONWriter) { writer.array("scopes", of: scopes) }

    /// The id under which the owner decides.
    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> String {
        guard let id = payload["requestId"]?.visibleIdentifier else {
            throw GatewayShapeError(method: method, missing: "requestId")
        }
        return id
    }
}

/// Waits for the owner's decision.
package struct ScopeUpgradeWait: GatewayCall {
    package enum Output: Sendable, Equatable {
        /// The next connection has the scopes. The gateway may replace the device's token.
        case approved(DeviceToken?)
        case undecided
        /// Rejected, expired, or replaced by a later request.
        case over
    }

    package static let method = "device.scopes.waitUpgrade"
    package static let patienceMs: Int64 = 600_000
    package var requestId: String

    package init(requestId: String) { self.requestId = requestId }

    package var timeoutMs: Int64 { Self.patienceMs }

    package func writeParams(to writer: inout JSONWriter) { writer.member("requestId", requestId) }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Output {
        switch payload["status"]?.string {
        case "approved":
            let scopes = payload["scopes"]?.elements.compactMap(\.string) ?? []
            let token = payload["deviceToken"]?.string.flatMap { $0.isEmpty ? nil : $0 }
            return .approved(token.map { DeviceToken(token: $0, scopes: scopes) })
        case "pending", "timeout": return .undecided
        default: return .over
        }
    }
}
