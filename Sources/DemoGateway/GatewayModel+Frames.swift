import JSONBytes

/// What goes out: frames to one connection, to chosen ones, and to everybody entitled.
extension GatewayModel {
    func record(_ value: WireValue) {
        let line = value.bytes
        recorded.append(line)
        actions.append(.record(line))
    }

    func emit(_ bytes: [UInt8], to connection: GatewayConnection) {
        guard !connection.isClosed, !faults.mute else { return }
        actions.append(.send(connection.id, bytes))
    }

    func emitRaw(_ bytes: [UInt8], to connection: GatewayConnection) {
        guard !connection.isClosed else { return }
        actions.append(.sendRaw(connection.id, bytes))
    }

    func frame(event: String, payload: WireValue, seq: Int64? = nil, withState: Bool = false) -> [UInt8] {
        frame(event: event, payload: payload.bytes, seq: seq, withState: withState)
    }

    private func frame(event: String, payload: [UInt8], seq: Int64?, withState: Bool) -> [UInt8] {
        var writer = JSONWriter(capacity: payload.count + 96)
        writer.object { writer in
            writer.member("type", "event")
            writer.member("event", event)
            writer.member("payload", raw: payload)
            writer.member("seq", seq)
            if withState {
                writer.object("stateVersion") { writer in
                    writer.member("presence", presenceVersion)
                    writer.member("health", healthVersion)
                }
            }
        }
        return writer.bytes
    }

    /// To everybody entitled, with a frame number: one for the whole server, or each connection's own.
    func broadcast(_ event: String, _ payload: WireValue, scope: String? = nil, withState: Bool = false) {
        guard !faults.silence else { return }
        let entitled = connections.values.filter { connection in
            connection.isOpen && (scope.map { connection.may($0) } ?? true)
        }
        broadcasts += 1
        let isLost = faults.seqGapEvery > 0 && broadcasts % faults.seqGapEvery == 0
        if release.countsFramesPerServer {
            serverSeq += 1
            guard !isLost, !entitled.isEmpty else { return }
            let bytes = frame(event: event, payload: payload, seq: serverSeq, withState: withState)
            for connection in entitled.sorted(by: { $0.id < $1.id }) { emit(bytes, to: connection) }
            return
        }
        let body = entitled.isEmpty ? [] : payload.bytes
        for connection in entitled.sorted(by: { $0.id < $1.id }) {
            connection.seq += 1
            if isLost { continue }
            emit(frame(event: event, payload: body, seq: connection.seq, withState: withState), to: connection)
        }
    }

    /// To chosen connections; such frames carry no number.
    func send(_ event: String, _ payload: WireValue, to chosen: some Sequence<GatewayConnection>) {
        guard !faults.silence else { return }
        let open = chosen.filter { $0.isOpen }.sorted { $0.id < $1.id }
        guard !open.isEmpty else { return }
        let bytes = frame(event: event, payload: payload)
        for connection in open { emit(bytes, to: connection) }
    }

    /// The scope for events that later releases give to readers only.
    var readerScope: String? { release.needsReadScopeForEvents ? "operator.read" : nil }
}
