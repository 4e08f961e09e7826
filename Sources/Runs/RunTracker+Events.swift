package import Basics
package import JSONBytes
import Labels

/// Takes the gateway's events to the runs they belong to.
extension RunTracker {
    package mutating func receive(event name: String, payload: JSONValue, now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        switch name {
        case "agent": agent(payload, now: now, to: &changes)
        case "session.tool":
            // Who gets these gets them for every run.
            hasAllToolEvents = true
            agent(payload, now: now, to: &changes)
        case "chat": chat(payload, now: now, to: &changes)
        case "sessions.changed": sessionChanged(payload, now: now, to: &changes)
        case "session.message": sessionMessage(payload, now: now, to: &changes)
        case "exec.approval.requested", "exec.approval.resolved", "plugin.approval.requested",
            "plugin.approval.resolved":
            approval(payload, now: now, to: &changes)
        default: break
        }
        return changes + takeOverdue()
    }

    /// Runs end at last by the clock where the gateway never told the end. To be called about once a second.
    package mutating func tick(now: Timestamp) -> [RunChange] {
        var changes: [RunChange] = []
        for (session, runs) in sessions {
            for id in runs.active where reducers[id]?.settle(now: now) == true { publish(id, to: &changes) }
            expireWaiting(session, now: now, to: &changes)
        }
        return changes + takeOverdue()
    }

    /// Sends that were put off and never answered: one run may have answered several.
    private mutating func expireWaiting(_ session: SessionKey, now: Timestamp, to changes: inout [RunChange]) {
        guard let runs = sessions[session], !runs.waiting.isEmpty else { return }
        guard runs.active.allSatisfy({ runs.waiting.contains($0) }) else {
            sessions[session]?.quietSince = nil
            return
        }
        guard let since = runs.quietSince else {
            sessions[session]?.quietSince = now
            return
        }
        guard now.milliseconds - since.milliseconds >= Self.waitingGrace else { return }
        for id in runs.waiting {
            sessions[session]?.waiting.removeAll { $0 == id }
            reducers[id]?.began(at: now)
            reducers[id]?.evidence.finished()
            publish(id, to: &changes)
        }
    }

    /// How long a session is silent before a send that was put off counts as answered with the run before.
    static let waitingGrace: Int64 = 30_000

    // MARK: agent events

    private mutating func agent(_ payload: JSONValue, now: Timestamp, to changes: inout [RunChange]) {
        guard let id = known(payload) ?? adopt(payload, opens: Self.opensRun(payload), now: now, to: &changes) else {
            return
        }
        reducers[id]?.isQuiet = !tellsRows
        reducers[id]?.agent(payload, now: now)
        if !hasAllToolEvents { noteToolEvents(payload, id) }
        if !tellsRows, payload["stream"]?.equals("tool") ?? false { wantRows(id) }
        publish(id, to: &changes)
    }

    private mutating func wantRows(_ id: String) {
        reducers[id]?.needsRows = true
        isPageDue = true
    }

    private mutating func noteToolEvents(_ payload: JSONValue, _ id: String) {
        guard let stream = payload["stream"] else { return }
        if stream.equals("item") { hasAllToolEvents = true }
        if !hasOwnToolEvents, stream.equals("tool"), reducers[id]?.sentText != nil { hasOwnToolEvents = true }
    }

    /// Only what starts or carries on a run makes an unknown one; the end of a run that was never seen tells nothing.
    private static func opensRun(_ payload: JSONValue) -> Bool {
        guard let stream = payload["stream"] else { return false }
        if stream.equals("lifecycle") { return payload["data"]?["phase"]?.equals("start") ?? false }
        return stream.equals("assistant") || stream.equals("tool") || stream.equals("thinking") || stream.equals("item")
    }

    // MARK: chat events

    private mutating func chat(_ payload: JSONValue, now: Timestamp, to changes: inout [RunChange]) {
        guard let state = payload["state"] else { return }
        let isFinal = state.equals("final")
        let hasMessage = payload["message"].map { !$0.isNull } ?? false
        if isFinal, !hasMessage, let id = known(payload), wasPutOff(id) {
            return deferred(id, to: &changes)
        }
        let opens = state.equals("delta") || (isFinal && hasMessage)
        guard let id = known(payload) ?? adopt(payload, opens: opens, now: now, to: &changes) else { return }
        reducers[id]?.chat(payload, now: now)
        if !tellsRows, reducers[id]?.holdEnd(until: now.adding(milliseconds: Self.holdMilliseconds)) == true {
            wantRows(id)
        }
        publish(id, to: &changes)
    }

    /// The gateway queues our message behind the active run and answers under an id of its own.
    private mutating func deferred(_ id: String, to changes: inout [RunChange]) {
        guard let session = reducers[id]?.session, sessions[session]?.waiting.contains(id) == false else { return }
        sessions[session]?.waiting.append(id)
        // How long the session was silent before is about those that waited then.
        sessions[session]?.quietSince = nil
        changes.append(.deferred(id, session: session))
    }

    /// Our send, of which nothing but an empty final came, while another run of its session is active.
    private func wasPutOff(_ id: String) -> Bool {
        guard let reducer = reducers[id], reducer.sentText != nil, !reducer.hasBegun else { return false }
        return isBusy(reducer.session, besides: id)
    }

    /// Another run of the session is under way.
    func isBusy(_ session: SessionKey, besides id: String) -> Bool {
        sessions[session]?.active.contains { $0 != id && reducers[$0]?.hasBegun == true } ?? false
    }

    // MARK: finding runs

    private func known(_ payload: JSONValue) -> String? {
        guard let id = payload["runId"]?.string else { return nil }
        let found = resolved(id)
        return reducers.index(forKey: found) == nil ? nil : found
    }

    /// A run that starts elsewhere, or the one that answers a send that was put off.
    private mutating func adopt(_ payload: JSONValue, opens: Bool, now: Timestamp, to changes: inout [RunChange])
        -> String?
    {
        guard opens, let written = payload["runId"]?.string, !written.isEmpty, !written.hasPrefix("inject-"),
            written.utf8.count <= ActivityLimits.identifierBytes, !isHidden(written),
            let key = payload["sessionKey"]?.string ?? payload["session"]?["key"]?.string
        else { return nil }
        let session = defaults.tolerant(key)
        make(written, session: session, now: now)
        let isHeartbeat = payload["isHeartbeat"]?.bool ?? false
        if !isHeartbeat, let sent = sessions[session]?.waiting.first {
            let text = reducers[sent]?.sentText
            forget(sent, session: session)
            aliases[sent] = written
            reducers[written]?.sentText = text
            changes.append(.reassigned(from: sent, to: written))
        }
        return written
    }

    // MARK: session events

    private mutating func sessionChanged(_ payload: JSONValue, now: Timestamp, to changes: inout [RunChange]) {
        guard let phase = payload["phase"] else { return }
        let opens = phase.equals("start")
        guard opens || phase.equals("end"),
            let id = known(payload) ?? adopt(payload, opens: opens, now: now, to: &changes)
        else { return }
        let time = GatewayTime.read(payload[opens ? "startedAt" : "endedAt"]) ?? GatewayTime.read(payload["ts"]) ?? now
        if opens {
            reducers[id]?.began(at: time)
        } else if reducers[id]?.isActive == true {
            let aborted = payload["abortedLastRun"]?.bool ?? false
            reducers[id]?.evidence.ended(
                sequence: .max,
                error: nil,
                failed: false,
                aborted: aborted,
                isFinal: true,
                now: now
            )
        }
        publish(id, to: &changes)
    }

    private mutating func sessionMessage(_ payload: JSONValue, now: Timestamp, to changes: inout [RunChange]) {
        guard let key = payload["sessionKey"]?.string, let message = payload["message"], let row = HistoryRow(message)
        else { return }
        take([row], session: defaults.tolerant(key), isPage: false, to: &changes)
    }

    private mutating func approval(_ payload: JSONValue, now: Timestamp, to changes: inout [RunChange]) {
        guard let id = HistoryBlock.identifier(payload["id"]), let key = payload["request"]?["sessionKey"]?.string,
            let runs = sessions[defaults.tolerant(key)]
        else { return }
        let holder = runs.all.last { reducers[$0]?.records.contains { $0.approvalID == id } ?? false }
        let decision = payload["decision"]?.string
        guard let run = holder ?? (decision == nil ? runs.active.last { reducers[$0]?.hasBegun ?? false } : nil) else {
            return
        }
        let time = GatewayTime.read(payload["ts"]) ?? GatewayTime.read(payload["createdAtMs"]) ?? now
        reducers[run]?.approval(id: id, request: payload["request"], decision: decision, at: time)
        publish(run, to: &changes)
    }
}
