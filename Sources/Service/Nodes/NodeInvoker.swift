package import EventLoops
import Gateway
import JSONBytes
import Ledger

/// Sends commands to nodes: one call at a time per node, after a look at its declarations. Nothing is stored for later,
/// and nothing is sent twice.
package final class NodeInvoker {
    package typealias Completion = (Result<NodeAnswer, NodeFault>) -> Void

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

    package func invoke(_ call: NodeCall, on loop: isolated EventLoop, completion: @escaping Completion) {
        // The policy is checked for every caller.
        guard policy.permits(call.command) else { return end(call, .failure(.refused(.ladlePolicy)), completion) }
        if let fault = gateway.obstacle(to: .nodesInvoke) {
            return end(call, .failure(.gateway(fault)), completion)
        }
        guard busy.insert(call.node).inserted else { return end(call, .failure(.busy), completion) }
        nodes.read(mayBeKept: false, on: loop) { [self] result in
            switch result {
            case .failure(.gateway(let fault)): release(call, .failure(.gateway(fault)), completion)
            case .failure(.store): release(call, .failure(.gateway(.notConnected)), completion)
            case .success(let list) where !list.isLive: release(call, .failure(.gateway(.notConnected)), completion)
            case .success(let list):
                guard let node = list.rows.first(where: { $0.id == call.node })?.node else {
                    return release(call, .failure(.notFound), completion)
                }
                if let refusal = node.commands.first(where: { $0.name == call.command })?.refusal {
                    return release(call, .failure(.refused(refusal)), completion)
                }
                send(call, on: loop, completion)
            }
        }
    }

    private func send(_ call: NodeCall, on loop: isolated EventLoop, _ completion: @escaping Completion) {
        let start = loop.now
        let request = NodeInvoke(
            node: call.node,
            command: call.command,
            members: call.members,
            waitMs: call.waitMs,
            key: call.key
        )
        gateway.control(request, needing: .nodesInvoke, on: loop) { [self] result in
            let durationMs = Int64((loop.now - start) / 1_000_000)
            release(call, result.map { Self.answer($0, durationMs) }.mapError { NodeFault($0) }, completion)
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

    private func release(_ call: NodeCall, _ result: Result<NodeAnswer, NodeFault>, _ completion: Completion) {
        busy.remove(call.node)
        end(call, result, completion)
    }

    private func end(_ call: NodeCall, _ result: Result<NodeAnswer, NodeFault>, _ completion: Completion) {
        switch result {
        case .success: counts[.done, default: 0] += 1
        case .failure(let fault): counts[fault.outcome, default: 0] += 1
        }
        completion(result)
    }
}
