import Gateway
import JSONBytes
import WebSocket

extension LinkMachine {
    /// Sends a request, or reports at once why it cannot be sent. `params` is one JSON object.
    package mutating func request(
        _ id: CallID,
        method: String,
        params: [UInt8],
        timeoutMs: Int64,
        now: LinkTime
    ) -> [Action] {
        guard isOnline, let hello else { return [.outcome(id, .notDispatched(.offline))] }
        let wireId = newWireId()
        let frame = GatewayRequest.frame(id: wireId, method: method, params: params)
        guard frame.count <= hello.policy.maxPayload else {
            return [.outcome(id, .notDispatched(.tooLarge(bytes: frame.count, limit: hello.policy.maxPayload)))]
        }
        guard queuedBytes + frame.count <= Limit.queuedBytes,
            calls.add(id, wireId: wireId, now: now.milliseconds, timeoutMs: timeoutMs)
        else { return [.outcome(id, .notDispatched(.queueFull))] }
        queue.append(QueuedFrame(wireId: wireId, bytes: frame))
        queuedBytes += frame.count
        return sendQueued(at: now)
    }

    /// Moves requests from our queue to the connection until the connection takes no more.
    mutating func sendQueued(at now: LinkTime) -> [Action] {
        var actions: [Action] = []
        var sent = 0
        while sent < queue.count, unsentBytes <= Limit.highWater {
            let frame = queue[sent]
            sent += 1
            queuedBytes -= frame.bytes.count
            // The request was given up while it waited.
            guard calls.isPending(wireId: frame.wireId) else { continue }
            let written = writeFrame(frame.bytes, at: now)
            guard !written.isEmpty else { continue }
            calls.wrote(wireId: frame.wireId)
            actions += written
        }
        queue.removeFirst(sent)
        return actions
    }

    mutating func writeFrame(_ json: [UInt8], at now: LinkTime) -> [Action] {
        var output: [UInt8] = []
        output.reserveCapacity(json.count + 14)
        let key = UInt32(truncatingIfNeeded: random.next() as UInt64)
        guard session?.send(.text, json.span, maskKey: key, to: &output) == true else { return [] }
        counters.framesOut += 1
        return logged(json, at: now) + write(output)
    }

    private mutating func logged(_ json: [UInt8], at now: LinkTime) -> [Action] {
        guard log != nil else { return [] }
        let document = try? JSONDocument(parsing: json, limits: .gateway)
        return logged(.outbound, document, size: json.count, at: now)
    }

    /// Tells the frame log the secrets in use, so that it hides them wherever they stand in a frame.
    mutating func protectSecrets() {
        let own = [configuration?.token, configuration?.password].compactMap(\.self)
        log?.redaction = FrameRedaction(secrets: own + tokens.secrets)
    }

    mutating func logged(
        _ direction: FrameLog.Direction,
        _ document: JSONDocument?,
        size: Int,
        at now: LinkTime
    ) -> [Action] {
        guard let entry = log?.add(direction, document, size: size, at: now.wall) else { return [] }
        return [.logged(entry)]
    }

    mutating func write(_ bytes: [UInt8]) -> [Action] {
        unsentBytes += bytes.count
        counters.bytesOut += UInt64(bytes.count)
        return [.write(bytes)]
    }

    /// Unique across connections and, by its random part, across restarts, because an ID is never replayed.
    mutating func newWireId() -> String {
        defer { nextWireId += 1 }
        return "\(idPrefix)-\(nextWireId)"
    }
}
