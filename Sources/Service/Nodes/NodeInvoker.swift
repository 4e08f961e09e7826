package import EventLoops
import Gateway
import JSONBytes
import Ledger

/// Sends commands to nodes: one call at a time per node, after a look at its declarations. Nothing is stored for later,
/// and nothing is sent twice.
package final class NodeInvoker {
    private unowned let gateway: any GatewayCalls
    private let nodes: NodeService
    private var busy: Set<String> = []
    /// Results since the start.
    package private(set) var counts: [NodeOutcome: UInt64] = [:]

    init(gateway: any GatewayCalls, nodes: NodeService) {
        self.gateway = gateway
        self.nodes = nodes
    }

    package var policy: NodePolicy { nodes.policy }

    /// Counts a call that Ladle itself refused.
    package func noteRefusal() { counts[.refused, default: 0] += 1 }

    package func invoke(_ call: NodeCall, on loop: isolated EventLoop) async throws(NodeFault) -> NodeAnswer {
        do throws(NodeFault) {
            let answer = try await carryOut(call, on: loop)
            counts[.done, default: 0] += 1
            return answer
        } catch {
            counts[error.outcome, default: 0] += 1
            throw error
        }
    }

    private func carryOut(_ call: NodeCall, on loop: isolated EventLoop) async throws(NodeFault) -> NodeAnswer {
        // The policy is checked for every caller.
        guard policy.permits(call.command) else { throw .refused(.ladlePolicy) }
        if let fault = gateway.obstacle(to: .nodesInvoke) { throw .gateway(fault) }
        guard busy.insert(call.node).inserted else { throw .busy }
        defer { busy.remove(call.node) }
        guard let node = try await nodes(on: loop).first(where: { $0.id == call.node }) else { throw .notFound }
        if let refusal = node.commands.first(where: { $0.name == call.command })?.refusal { throw .refused(refusal) }
        let start = loop.now
        let request = NodeInvoke(
            node: call.node,
            command: call.command,
            members: call.members,
            waitMs: call.waitMs,
            key: call.key
        )
        do throws(GatewayFault) {
            let answer = try await gateway.control(request, needing: .nodesInvoke, on: loop)
            return Self.answer(answer, Int64((loop.now - start) / 1_000_000))
        } catch {
            throw NodeFault(error)
        }
    }

    /// The nodes as the gateway lists them now.
    private func nodes(on loop: isolated EventLoop) async throws(NodeFault) -> [Node] {
        switch await loop.wait(for: { nodes.read(mayBeKept: false, on: loop, completion: $0) }) {
        case .success(let list) where list.isLive: return list.rows
        case .failure(.gateway(let fault)): throw .gateway(fault)
        case .success, .failure(.store): throw .gateway(.notConnected)
        }
    }

    private static func answer(_ answer: NodeInvoke.Answer, _ durationMs: Int64) -> NodeAnswer {
        guard let text = answer.text else {
            return NodeAnswer(result: answer.value.map { .value($0) } ?? .empty, durationMs: durationMs)
        }
        if let value = try? JSONDocument(parsing: Array(text.utf8)).root {
            return NodeAnswer(result: .value(value), durationMs: durationMs)
        }
        return NodeAnswer(result: .text(text), durationMs: durationMs)
    }
}
