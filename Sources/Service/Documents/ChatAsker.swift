import Basics
import Documents
import EventLoops
import Gateway
import TLS
import Upstream

/// Asks the agent by a hidden chat message when the link may not use the file calls. The configuration must allow it.
final class ChatAsker {
    /// An agent reads or writes a file within one turn; a longer turn is stuck.
    private static let patienceMilliseconds: Int64 = 120_000

    private struct Waiting {
        let done: (Result<String, DocumentFault>) -> Void
        let timer: TimerID
    }

    private unowned let gateway: any GatewayCalls
    private let runs: RunService
    private var waiting: [String: Waiting] = [:]

    init(gateway: any GatewayCalls, runs: RunService) {
        self.gateway = gateway
        self.runs = runs
    }

    func ask(
        _ text: String,
        agent: String,
        on loop: isolated EventLoop,
        then done: @escaping (Result<String, DocumentFault>) -> Void
    ) {
        let key = UUIDv7.make(milliseconds: loop.wallClock.milliseconds, random: SecureRandom.bytes(10))
        runs.hide(key)
        let timer = loop.after(milliseconds: Self.patienceMilliseconds) { [weak self] in
            self?.finish(key, .failure(.agentSilent), on: loop)
        }
        waiting[key] = Waiting(done: done, timer: timer)
        let call = ChatSend(sessionKey: "agent:\(agent):main", message: text, idempotencyKey: key)
        gateway.call(call, on: loop) { [weak self] result in
            guard let self, case .failure(let failure) = result else { return }
            let fault = GatewayFault(failure, over: self.gateway)
            self.finish(key, .failure(.gateway(fault, about: "the agent's answer")), on: loop)
        }
    }

    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        guard !waiting.isEmpty, case .chat(let chat) = event.payload, let run = chat.runId, waiting[run] != nil else {
            return
        }
        switch chat.state {
        case .final: finish(run, .success(chat.message?.text ?? ""), on: loop)
        case .error, .aborted: finish(run, .failure(.agentSilent), on: loop)
        case .delta, .other, nil: return
        }
    }

    func linkClosed() {
        let all = waiting.values
        waiting = [:]
        for item in all { item.done(.failure(.agentSilent)) }
    }

    private func finish(_ key: String, _ result: Result<String, DocumentFault>, on loop: isolated EventLoop) {
        guard let item = waiting.removeValue(forKey: key) else { return }
        loop.cancel(item.timer)
        item.done(result)
    }
}
