import Basics

/// The demo gateway without sockets and clocks: connections, frames and time come in, actions come out.
///
/// Owned by one event loop (or one test) and never shared; it is deliberately not Sendable.
package final class GatewayModel {
    /// Sessions kept at most; a demo that runs for weeks stays bounded.
    static let sessionLimit = 1_000
    static let rowLimit = 5_000
    static let maximumPayload = 26_214_400

    package let options: DemoGatewayOptions
    package var faults: GatewayFaults
    let primitives: GatewayPrimitives
    var release: GatewayRelease { options.release }

    var now: GatewayInstant
    var startedAt: GatewayInstant
    var connections: [ConnectionID: GatewayConnection] = [:]
    var sessions: [String: GatewaySession] = [:]
    var agents: [AgentWorkspace]
    var devices = DeviceRegistry()
    var dedupe = DedupeCache()
    /// By run id; at most one per session is in front, others wait in `queues`.
    var runs: [String: GatewayRun] = [:]
    var activeRuns: [String: String] = [:]
    var queues: [String: [QueuedMessage]] = [:]
    var finishedRuns: [String: FinishedRun] = [:]
    var finishedOrder: [String] = []
    var waits: [Wait] = []
    var approvals: [Approval] = []
    var presence: [String: WireValue] = [:]
    var presenceVersion: Int64 = 1
    var healthVersion: Int64 = 1
    var serverSeq: Int64 = 0
    var broadcasts = 0
    var callCounter = 0
    var accepted = 0
    var recorded = RecordRing()
    /// How the last client that closed in good order said goodbye.
    var lastClose: (code: UInt16, reason: String)?
    /// Until then connects are told that the gateway starts.
    var startingUntil: UInt64 = 0

    var actions: [GatewayAction] = []
    private var timers = TimerQueue()

    struct FinishedRun {
        var status: String
        var startedAt: Int64
        var endedAt: Int64
        var error: String?
    }

    struct Wait {
        var connection: ConnectionID
        var requestID: String
        var runID: String
        var number: Int
    }

    struct Approval {
        var id: String
        var runID: String
        var request: WireValue
        var createdAt: Int64
        var expiresAt: Int64
    }

    package init(options: DemoGatewayOptions, primitives: GatewayPrimitives, now: GatewayInstant) {
        self.options = options
        self.primitives = primitives
        faults = options.faults
        self.now = now
        startedAt = now
        agents = AgentWorkspace.demoAgents(now: now.wall.milliseconds)
        _ = session("agent:main:\(options.mainKey)")
        startClocks()
    }

    var wallMs: Int64 { now.wall.milliseconds &+ Int64(faults.clockSkewMs) }
    var mainSessionKey: String { "agent:main:\(options.mainKey)" }

    // MARK: - Inputs

    /// When `advance` wants to be called next, in monotonic nanoseconds.
    package var nextDeadline: UInt64? { timers.first }

    /// Does everything that is due.
    package func advance(to now: GatewayInstant) -> [GatewayAction] {
        self.now = now
        while let work = timers.take(dueBy: now.monotonic) { work(self) }
        return takeActions()
    }

    package func connected(_ id: ConnectionID, peer: GatewayPeer, now: GatewayInstant) -> [GatewayAction] {
        self.now = now
        if GatewayFaults.strikes(&faults.refuseConnections) {
            actions.append(.drop(id))
            return takeActions()
        }
        let connection = GatewayConnection(
            id: id,
            peer: peer,
            nonce: primitives.uuid(),
            challengedAt: wallMs,
            connID: primitives.uuid()
        )
        connections[id] = connection
        emit(frame(event: "connect.challenge", payload: ["nonce": connection.nonce, "ts": wallMs]), to: connection)
        schedule(afterMs: release.handshakeTimeoutMs) { model in
            guard let connection = model.connections[id], !connection.isOpen else { return }
            model.close(connection, 1000, "")
        }
        return takeActions()
    }

    package func received(_ bytes: [UInt8], from id: ConnectionID, now: GatewayInstant) -> [GatewayAction] {
        self.now = now
        if let connection = connections[id], !connection.isClosed {
            if connection.isOpen {
                handleRequest(bytes, from: connection)
            } else {
                handleHandshake(bytes, from: connection)
            }
        }
        return takeActions()
    }

    package func closed(_ id: ConnectionID, now: GatewayInstant) -> [GatewayAction] {
        self.now = now
        forget(id)
        return takeActions()
    }

    /// Says that the gateway stops and closes everybody.
    package func stop(now: GatewayInstant) -> [GatewayAction] {
        self.now = now
        announceShutdown(restartExpectedMs: nil)
        return takeActions()
    }

    /// Restarts: everything held in memory is lost, which here includes transcripts unless they are kept. Devices and
    /// agents' files are on disk and stay. A crash says nothing and cuts the connections.
    package func restart(keepsTranscripts: Bool, crashes: Bool, downMs: Int, now: GatewayInstant) -> [GatewayAction] {
        self.now = now
        if crashes {
            for id in connections.keys.sorted() { actions.append(.drop(id)) }
        } else {
            announceShutdown(restartExpectedMs: downMs)
        }
        connections = [:]
        timers = TimerQueue()
        runs = [:]
        activeRuns = [:]
        queues = [:]
        finishedRuns = [:]
        finishedOrder = []
        waits = []
        approvals = []
        presence = [:]
        dedupe = DedupeCache()
        serverSeq = 0
        broadcasts = 0
        presenceVersion = 1
        healthVersion = 1
        startedAt = now
        startingUntil = now.monotonic + UInt64(max(downMs, 0)) * 1_000_000
        if !keepsTranscripts { sessions = [:] }
        _ = session(mainSessionKey)
        startClocks()
        return takeActions()
    }

    /// Cuts every connection without a word.
    package func dropAll(now: GatewayInstant) -> [GatewayAction] {
        self.now = now
        for id in connections.keys.sorted() {
            actions.append(.drop(id))
            forget(id)
        }
        return takeActions()
    }

    func takeActions() -> [GatewayAction] {
        defer { actions = [] }
        return actions
    }

    // MARK: - Time

    func schedule(afterMs delay: Int, _ work: @escaping (GatewayModel) -> Void) {
        timers.add(at: now.monotonic + UInt64(max(delay, 0)) * 1_000_000, work)
    }

    /// A delay of a script at the chosen speed.
    func paced(_ delayMs: Int) -> Int {
        options.speed <= 0 ? 0 : Int(Double(delayMs) / options.speed)
    }

    private func startClocks() {
        tickAgain()
        healthAgain()
    }

    private func tickAgain() {
        schedule(afterMs: options.tickIntervalMs) { model in
            model.broadcast("tick", ["ts": model.wallMs])
            model.tickAgain()
        }
    }

    private func healthAgain() {
        schedule(afterMs: 60_000) { model in
            model.healthVersion += 1
            model.broadcast("health", model.healthPayload, withState: true)
            model.healthAgain()
        }
    }

    // MARK: - Connections

    func close(_ connection: GatewayConnection, _ code: UInt16, _ reason: String) {
        guard !connection.isClosed else { return }
        // A close frame holds 125 bytes with its code; the gateway cuts at 120.
        var cut = reason
        while cut.utf8.count > 120 { cut.removeLast() }
        actions.append(.close(connection.id, code: code, reason: cut))
        connection.isClosed = true
        forget(connection.id)
    }

    func drop(_ connection: GatewayConnection) {
        actions.append(.drop(connection.id))
        connection.isClosed = true
        forget(connection.id)
    }

    private func forget(_ id: ConnectionID) {
        guard let connection = connections.removeValue(forKey: id) else { return }
        waits.removeAll { $0.connection == id }
        guard connection.isOpen else { return }
        if connection.client.mode != "cli" {
            presence[connection.key] = presenceEntry(connection, reason: "disconnect")
            announcePresence()
        }
    }

    private func announceShutdown(restartExpectedMs: Int?) {
        let expected = restartExpectedMs.map { WireValue.int(Int64($0)) } ?? .null
        let reason = restartExpectedMs == nil ? "gateway stopping" : "gateway restarting"
        broadcast("shutdown", ["reason": reason, "restartExpectedMs": expected])
        for connection in connections.values.sorted(by: { $0.id < $1.id }) {
            close(connection, 1012, "service restart")
        }
    }
}
