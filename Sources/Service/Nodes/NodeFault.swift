import Basics
import Gateway

/// The reason why a node did not act, or not yet.
package enum NodeFault: Error {
    /// The refusals of the gateway or the node.
    package enum Answer: Sendable {
        case refused(Node.Reason)
        /// Reported only after the gateway tried to wake the device.
        case offline
        /// The command will still run, once, when the app is in the foreground again.
        case queued(actionID: String?)
        case background
        /// The person at the device has not granted the permission; its name, such as `camera`.
        case permission(String?)
        case timeout
        case failed
    }

    /// The gateway's and the node's error codes, verbatim, and a sentence without paths of a host.
    package struct Words: Sendable {
        package let gatewayCode: String
        package let nodeCode: String?
        package let text: String
    }

    case gateway(GatewayFault)
    case notFound
    /// The node is busy with another call.
    case busy
    /// The refusal was certain before anything was sent.
    case refused(Node.Reason)
    case answered(Answer, Words)

    private static let longestWords = 300

    init(_ fault: GatewayFault) {
        guard case .refused(let refusal) = fault, let node = refusal.node, let answer = Answer(node.reason) else {
            if case .refused(let refusal) = fault, refusal.node != nil {
                self = .notFound
            } else {
                self = .gateway(fault)
            }
            return
        }
        let text = HostPaths.removed(from: node.nodeMessage ?? refusal.message).shown(bytes: Self.longestWords)
        self = .answered(answer, Words(gatewayCode: refusal.code, nodeCode: node.nodeCode, text: text))
    }

    var outcome: NodeOutcome {
        switch self {
        case .gateway(.unanswered): .unanswered
        case .gateway, .notFound: .failed
        case .busy: .busy
        case .refused, .answered(.refused, _): .refused
        case .answered(.queued, _): .queued
        case .answered(.offline, _): .offline
        case .answered(.background, _): .background
        case .answered(.permission, _): .permission
        case .answered(.timeout, _): .timeout
        case .answered(.failed, _): .failed
        }
    }
}

extension NodeFault.Answer {
    /// Nil for an unknown node.
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
