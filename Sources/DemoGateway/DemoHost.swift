/// The parts of the demo gateway that the others share.
final class DemoHost {
    let options: DemoGatewayOptions
    let primitives: DemoPrimitives
    let clock: DemoClock
    let connections: DemoConnections
    let sessions: DemoSessions
    let agents: DemoAgents
    let approvals: DemoApprovals
    let questions: DemoQuestions
    /// Whether the host found the disk of an earlier process.
    let isRestarted: Bool
    /// Set by `enter(_:)` alone.
    var pause = DemoPause.accepting
    private var toolCalls = 0

    init(_ options: DemoGatewayOptions, _ primitives: DemoPrimitives, _ now: DemoInstant, _ disk: DemoDisk?) {
        self.options = options
        self.primitives = primitives
        isRestarted = disk != nil
        clock = DemoClock(now, speed: options.speed)
        connections = DemoConnections(options.release)
        sessions = DemoSessions(options, clock, primitives, connections, kept: disk?.sessions ?? [:])
        approvals = DemoApprovals(options.release, clock, primitives, connections)
        questions = DemoQuestions(clock, primitives, connections)
        agents = DemoAgents(options.release, clock, primitives, workspaces: disk?.workspaces)
    }

    var release: DemoRelease { options.release }
    var shape: ReleaseShape { options.shape }

    func newCallID() -> String {
        toolCalls += 1
        return "call_\(clock.wallMs % 1_000_000_000)_\(toolCalls)"
    }
}

/// The state that a gateway's host keeps on disk. A new model can start with it, like a restarted gateway.
package struct DemoDisk {
    var devices: DeviceRegistry
    var workspaces: [AgentWorkspace]
    var sessions: [String: DemoSession]
    /// Whether the process was killed; otherwise it stopped in order.
    var isAfterCrash: Bool
}
