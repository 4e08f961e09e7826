import Basics
import Gateway

/// Why a node did not do it, or not yet.
package enum NodeFault: Error {
    /// What the gateway or the node says.
    package enum Told: Sendable {
        case refused(Node.Reason)
        /// Told only after the gateway tried to wake the device.
        case offline
        /// It will still be done, once, when the app is in front again.
        case queued(actionID: String?)
        case background
        /// The person at the device has not switched it on; its name, such as `camera`.
        case permission(String?)
        case timeout
        case failed
    }

    /// The codes of both, word for word, and a sentence without places of a host.
    package struct Words: Sendable {
        package let gatewayCode: String
        package let nodeCode: String?
        package let text: String
    }

    case gateway(GatewayFault)
    case notFound
    /// It does another call.
    case busy
    /// Seen before anything was sent.
    case refused(Node.Reason)
    case told(Told, Words)

    private static let longestWords = 300

    init(_ fault: GatewayFault) {
        guard case .refused(let refusal) = fault, let node = refusal.node, let told = Told(node.reason) else {
            if case .refused(let refusal) = fault, refusal.node != nil {
                self = .notFound
            } else {
                self = .gateway(fault)
            }
            return
        }
        let text = HostPaths.removed(from: node.nodeMessage ?? refusal.message).shown(bytes: Self.longestWords)
        self = .told(told, Words(gatewayCode: refusal.code, nodeCode: node.nodeCode, text: text))
    }

    var outcome: NodeOutcome {
        switch self {
        case .gateway(.unanswered): .unanswered
        case .gateway, .notFound: .failed
        case .busy: .busy
        case .refused, .told(.refused, _): .refused
        case .told(.queued, _): .queued
        case .told(.offline, _): .offline
        case .told(.background, _): .background
        case .told(.permission, _): .permission
        case .told(.timeout, _): .timeout
        case .told(.failed, _): .failed
        }
    }
}

extension NodeFault.Told {
    /// Nil where there is no such node.
    fileprivate init?(_ reason: NodeRefusal.Reason) {
        switch reason {
        case .notAllowed: self = .refused(.gatewayPolicy)
        case .notDeclared: self = .refused(.notDeclared)
        case .unknownNode: return nil
        case .offline: self = .offline
        case .queued(let action): self = .queued(actionID: action)
        case .background: self = .background
        case .permission(let name): self = .permission(name == "unnamed" ? nil : name)
        case .timeout: self = .timeout
        case .failed: self = .failed
        }
    }
}
