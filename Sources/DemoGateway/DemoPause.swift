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

    /// A whole suspension, as a container platform does one.
    func suspend(forMs length: Int) {
        let phases: [(ms: Int, pause: DemoPause)] = [
            (100, .preparing), (200, .draining), (300, .prepared), (300 + length, .accepting),
        ]
        for (delay, next) in phases { clock.after(ms: delay) { [weak self] in self?.enter(next) } }
    }
}
