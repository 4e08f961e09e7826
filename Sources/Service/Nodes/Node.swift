import Basics
import Gateway
package import JSONBytes

/// A device of the gateway as Ladle shows it, with the commands it may be sent.
package struct Node: Sendable, Equatable {
    package enum State: String, Sendable {
        case connected, disconnected, unpaired
    }

    /// The reason why a command is refused.
    package enum Reason: String, Sendable {
        case notDeclared = "not_declared"
        case gatewayPolicy = "gateway_policy"
        case ladlePolicy = "ladle_policy"
    }

    package struct Command: Sendable, Equatable {
        package let name: String
        /// The reason for a refusal; nil if the command is allowed.
        package let refusal: Reason?
    }

    /// In bytes, per text shown.
    private static let longestText = 512

    package let id: String
    package let name: String
    package let platform: String?
    let version: String?
    let model: String?
    let family: String?
    package let state: State
    /// Whether the gateway's operator has yet to approve the node's declarations.
    let awaitsApproval: Bool
    let connectedAt: Timestamp?
    let lastSeenAt: Timestamp?
    let capabilities: [String]
    package let commands: [Command]
    let permissions: [String: Bool]
    /// The commands that the gateway allows, as far as known.
    let declared: [String]

    /// - Parameter before: the node as last seen, because a gateway may forget a node's declarations while it is away.
    init(_ row: NodeRow, before: Node?, _ policy: NodePolicy) {
        id = row.id
        name = row.name.map { $0.shown(bytes: Self.longestText) } ?? row.id
        platform = row.platform
        version = row.version
        model = row.model
        family = row.family
        state = row.isPaired ? (row.isConnected ? .connected : .disconnected) : .unpaired
        awaitsApproval = row.isPending
        connectedAt = row.isConnected ? row.connectedAt : nil
        lastSeenAt = row.lastSeenAt ?? row.connectedAt
        let isForgotten = !row.isConnected && row.commands.isEmpty && row.pendingCommands.isEmpty
        capabilities = isForgotten && row.capabilities.isEmpty ? before?.capabilities ?? [] : row.capabilities
        declared = isForgotten ? before?.declared ?? [] : row.commands
        permissions = Dictionary(row.permissions.map { ($0.name.shown(bytes: Self.longestText), $0.isGranted) }) {
            $0 && $1
        }
        // If the declarations are forgotten, nothing is known about the commands.
        let isKnown = !isForgotten || !declared.isEmpty
        let (known, pending) = (Set(declared), Set(row.pendingCommands))
        let names = known.union(pending).union(isKnown ? policy.permitted : [])
        commands = names.sorted().map { name in
            let refusal: Reason? =
                if !policy.permits(name) {
                    .ladlePolicy
                } else if !known.contains(name) {
                    pending.contains(name) ? .gatewayPolicy : .notDeclared
                } else if let invocable = row.invocable, !invocable.contains(name) {
                    .gatewayPolicy
                } else {
                    nil
                }
            return Command(name: name, refusal: refusal)
        }
    }

    private init(gone node: Node) {
        id = node.id
        name = node.name
        platform = node.platform
        version = node.version
        model = node.model
        family = node.family
        state = .unpaired
        awaitsApproval = false
        connectedAt = nil
        lastSeenAt = node.lastSeenAt
        capabilities = node.capabilities
        commands = []
        permissions = [:]
        declared = []
    }

    /// The node after it left the gateway's list.
    var gone: Node { Node(gone: self) }

    /// Whether nothing changed but the time of the last contact.
    func isSame(as other: Node) -> Bool {
        (name, platform, version, model, state) == (other.name, other.platform, other.version, other.model, other.state)
            && (awaitsApproval, capabilities, commands, permissions) == (
                other.awaitsApproval, other.capabilities, other.commands, other.permissions
            )
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("platform", platform)
            object.member("version", version)
            object.member("model", model)
            object.member("family", family)
            object.member("state", state.rawValue)
            object.member("awaitsApproval", awaitsApproval ? true : nil)
            object.member("connectedAt", connectedAt)
            object.member("lastSeenAt", lastSeenAt)
            object.array("capabilities", of: capabilities)
            object.array("commands") { list in
                for command in commands {
                    list.object { item in
                        item.member("name", command.name)
                        item.member("allowed", command.refusal == nil)
                        item.member("why", command.refusal?.rawValue)
                    }
                }
            }
            guard !permissions.isEmpty else { return }
            object.object("permissions") { list in
                for (name, isGranted) in permissions.sorted(by: { $0.key < $1.key }) { list.member(name, isGranted) }
            }
        }
    }
}
