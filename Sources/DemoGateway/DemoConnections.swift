/// All connections, and the frames and closes sent to them. The model hands the collected actions to its server.
final class DemoConnections {
    private let release: DemoRelease
    private var connections: [DemoConnectionID: DemoConnection] = [:]
    private var actions: [DemoAction] = []
    /// The number of the last broadcast, in releases that count for the whole server.
    private var seq: Int64 = 0
    var presenceVersion: Int64 = 1
    var healthVersion: Int64 = 1

    init(_ release: DemoRelease) { self.release = release }

    subscript(id: DemoConnectionID) -> DemoConnection? { connections[id] }

    var all: [DemoConnection] { connections.values.sorted { $0.id < $1.id } }

    func add(_ connection: DemoConnection) { connections[connection.id] = connection }

    func remove(_ id: DemoConnectionID) -> DemoConnection? { connections.removeValue(forKey: id) }

    func takeActions() -> [DemoAction] {
        defer { actions = [] }
        return actions
    }

    // MARK: - To one connection

    func emit(_ frame: [UInt8], to connection: DemoConnection) {
        guard !connection.isClosed else { return }
        actions.append(.send(connection.id, frame))
    }

    func close(_ connection: DemoConnection, _ code: UInt16, _ reason: String) {
        guard !connection.isClosed else { return }
        // A close frame holds 125 bytes with its code; the gateway cuts the reason at 120.
        var cut = reason
        while cut.utf8.count > 120 { cut.removeLast() }
        actions.append(.close(connection.id, DemoClose(code, cut)))
        connection.isClosed = true
    }

    // MARK: - To many

    /// Sends a numbered event to every open connection with the scope.
    func broadcast(_ event: String, _ payload: WireValue, scope: String? = nil, withVersions: Bool = false) {
        let entitled = all.filter { connection in connection.isOpen && (scope.map(connection.may) ?? true) }
        let versions = withVersions ? (presence: presenceVersion, health: healthVersion) : nil
        if release.countsFramesPerServer { seq += 1 }
        guard !entitled.isEmpty else { return }
        let bytes = payload.bytes
        if release.countsFramesPerServer {
            let frame = DemoFrame.event(event, payload: bytes, seq: seq, versions: versions)
            for connection in entitled { emit(frame, to: connection) }
        } else {
            for connection in entitled {
                connection.seq += 1
                emit(DemoFrame.event(event, payload: bytes, seq: connection.seq, versions: versions), to: connection)
            }
        }
    }

    /// Like `broadcast`, but later releases send the event only to readers.
    func broadcastToReaders(_ event: String, _ payload: WireValue) {
        broadcast(event, payload, scope: release.needsReadScopeForEvents ? release.eventScope : nil)
    }

    /// Sends an event without a number to the open ones among the given connections.
    func send(_ event: String, _ payload: WireValue, to chosen: some Sequence<DemoConnection>) {
        let open = chosen.filter(\.isOpen)
        guard !open.isEmpty else { return }
        let frame = DemoFrame.event(event, payload)
        for connection in open { emit(frame, to: connection) }
    }

    /// Connections that asked for session events and may read.
    var subscribers: [DemoConnection] {
        all.filter { $0.isOpen && $0.subscribesToSessions && $0.may(release.eventScope) }
    }
}
