import JSONBytes

/// Why a command of a node was not done, in the words of the gateway and, where it was asked, of the node.
package struct NodeRefusal: Sendable, Equatable {
    package enum Reason: Sendable, Equatable {
        /// The gateway's list for the node's platform does not have the command.
        case notAllowed
        case notDeclared
        case unknownNode
        /// Told only after the gateway tried to wake the device.
        case offline
        /// It will still be done, once, when the app is in front again.
        case queued(actionId: String?)
        case background
        /// Something that a person at the device has to switch on, such as `camera`.
        case permission(String)
        case timeout
        case failed
    }

    package let reason: Reason
    package let nodeCode: String?
    package let nodeMessage: String?
}

extension GatewayError {
    /// Nil for a refusal that is not about nodes.
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
