import JSONBytes

/// The reason why a node's command was not run, as reported by the gateway or by the node.
package struct NodeRefusal: Sendable, Equatable {
    package enum Reason: Sendable, Equatable {
        /// The gateway's allowlist for the node's platform lacks the command.
        case notAllowed
        case notDeclared
        case unknownNode
        /// Reported only after the gateway tried to wake the device.
        case offline
        /// The command will still run, once, when the app is in the foreground again.
        case queued(actionId: String?)
        case background
        /// A permission that a person must grant on the device, such as `camera`.
        case permission(String)
        case timeout
        case failed
    }

    package let reason: Reason
    package let nodeCode: String?
    package let nodeMessage: String?
}

extension GatewayError {
    /// Nil for an error that is not about nodes.
    package var nodeRefusal: NodeRefusal? {
        let nodeError = details?["nodeError"]
        let code = nodeError?["code"]?.identifier
        return nodeReason(code).map {
            NodeRefusal(reason: $0, nodeCode: code, nodeMessage: nodeError?["message"]?.string)
        }
    }

    private func nodeReason(_ code: String?) -> NodeRefusal.Reason? {
        if message == "unknown nodeId" { return .unknownNode }
        switch detailsCode {
        case "NOT_CONNECTED": return .offline
        case "QUEUED_UNTIL_FOREGROUND": return .queued(actionId: details?["queuedActionId"]?.identifier)
        default: break
        }
        if let code { return Self.reason(nodeCode: code.uppercased()) }
        guard self.code == "INVALID_REQUEST", details?["command"] != nil else { return nil }
        return detailsReason?.contains("declare") == true ? .notDeclared : .notAllowed
    }

    private static func reason(nodeCode code: String) -> NodeRefusal.Reason {
        if code.contains("BACKGROUND") { return .background }
        if code == "TIMEOUT" || code.hasSuffix("_TIMEOUT") { return .timeout }
        for ending in ["_PERMISSION_REQUIRED", "_PERMISSION_DENIED", "_PERMISSION", "_DISABLED"] {
            if code.hasSuffix(ending) { return .permission(code.dropLast(ending.utf8.count).lowercased()) }
        }
        return code.hasPrefix("PERMISSION") ? .permission("unnamed") : .failed
    }
}
