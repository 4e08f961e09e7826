/// A pause of the gateway: its host wants to freeze it, or its process is about to be replaced.
package enum DemoPause: String, Sendable, CaseIterable {
    case accepting
    /// The host asks whether there is work; everything is still taken.
    case preparing
    /// Work that has begun goes on; only decisions about it are taken.
    case draining
    /// The process may be frozen at any time.
    case prepared
    /// The process drains before a restart.
    case restarting

    /// The phase that clients are told of. A restart is none.
    var phase: String { self == .restarting ? "accepting" : rawValue }

    /// The calls that running work may wait for.
    private static let decisions: Set<String> = [
        "exec.approval.resolve", "plugin.approval.resolve", "question.get", "question.resolve",
    ]

    func refusal(of method: String) -> DemoError? {
        let isRestart = self == .restarting
        switch self {
        case .accepting, .preparing: return nil
        case .draining where Self.decisions.contains(method): return nil
        case .draining, .prepared, .restarting: break
        }
        return .later(
            1_000,
            "\(method) unavailable during gateway \(isRestart ? "restart" : "suspension")",
            details: [
                "method": method, "reason": isRestart ? "gateway-restarting" : "gateway-suspending", "phase": phase,
            ]
        )
    }
}

extension DemoHost {
    /// Begins or ends a pause. Earlier releases have none.
    func enter(_ next: DemoPause) {
        guard release.hasPauses, pause != next else { return }
        let isTold = next.phase != pause.phase
        pause = next
        if isTold { connections.broadcastToReaders("gateway.suspension", ["phase": next.phase]) }
    }

    /// A whole suspension, as a container platform does one: it waits for the end of all work.
    func suspend(forMs length: Int) {
        clock.after(ms: 100) { [weak self] in self?.enter(.preparing) }
        clock.after(ms: 200) { [weak self] in self?.drain(thenForMs: length) }
    }

    private func drain(thenForMs length: Int) {
        enter(.draining)
        let isBusy = sessions.all.values.contains { $0.run != nil || !$0.queue.isEmpty }
        guard !isBusy else { return clock.after(ms: 100) { [weak self] in self?.drain(thenForMs: length) } }
        clock.after(ms: 100) { [weak self] in self?.enter(.prepared) }
        clock.after(ms: 100 + length) { [weak self] in self?.enter(.accepting) }
    }
}
