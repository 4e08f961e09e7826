import Basics
package import DemoGateway
import EventLoops
import JSONBytes
package import POSIX

/// A demo gateway that misbehaves on purpose. It sits between the server and the model, and changes the frames that
/// pass.
///
/// One event loop (or one test) owns it.
package final class FaultyGateway: DemoGatewayCore {
    package var faults: FaultSettings
    let options: DemoGatewayOptions
    private let primitives: DemoPrimitives
    private(set) var model: DemoGatewayModel
    private let record: SendRecord
    private let decisions: DecisionRecord?
    /// The connections by id, and whether each has had its hello.
    private var connections: [DemoConnectionID: Bool] = [:]
    /// Answers that a slow acknowledgement holds back.
    private var held = TimerQueue<DemoAction>()
    /// The time until which connects after a restart are told that the gateway is starting.
    private var startingUntil: UInt64 = 0
    /// The time until which a stopped recorded gateway answers upgrades with 503.
    private var stoppingUntil: UInt64 = 0
    /// The close frame of the last client that sent one.
    private(set) var lastClose: DemoClose?

    package init(_ options: FaultyGatewayOptions, primitives: DemoPrimitives, now: DemoInstant) throws(SystemError) {
        self.options = options.gateway
        self.primitives = primitives
        faults = options.faults
        record = try SendRecord(file: options.recordFile)
        if let file = options.decisionsFile { decisions = try DecisionRecord(file: file) } else { decisions = nil }
        model = DemoGatewayModel(options: options.gateway, primitives: primitives, now: now)
        guard options.recallsRecord else { return }
        for sent in record.earlier {
            model.restoreMessage(sent.text, key: sent.key, session: sent.session, at: sent.time.milliseconds)
        }
    }

    /// Requests of clients that have had their hello.
    private(set) var requestCount = 0
    var openConnections: [DemoConnectionID] { connections.filter(\.value).keys.sorted() }
    package var recordedLines: [[UInt8]] { record.lines }

    /// The gateway's own time, which may be wrong.
    func skewed(_ now: DemoInstant) -> DemoInstant {
        DemoInstant(wall: now.wall.adding(milliseconds: Int64(faults.clockSkewMs)), monotonic: now.monotonic)
    }

    // MARK: - Between server and model

    package var nextDeadline: UInt64? {
        [model.nextDeadline, held.nextDeadline()].compactMap(\.self).min()
    }

    package func advance(to now: DemoInstant) -> [DemoAction] {
        var actions: [DemoAction] = []
        while let action = held.popDue(now: now.monotonic) {
            if case .send(let id, _) = action, connections[id] != nil { actions.append(action) }
        }
        return actions + filtered(model.advance(to: skewed(now)))
    }

    package func connected(_ id: DemoConnectionID, peer: DemoPeer, now: DemoInstant) -> [DemoAction] {
        let isDown = options.shape.isRecorded && now.monotonic < startingUntil
        if isDown || FaultSettings.strikes(&faults.refuseConnections) { return [.drop(id)] }
        connections[id] = false
        var peer = peer
        // A client behind a proxy does not count as a program of the gateway's own host.
        if faults.pairing { peer.isForwarded = true }
        return filtered(model.connected(id, peer: peer, now: skewed(now)))
    }

    package func received(_ message: [UInt8], from id: DemoConnectionID, now: DemoInstant) -> [DemoAction] {
        guard let isOpen = connections[id] else { return [] }
        if faults.lostDedupe { model.forgetFinishedKeys() }
        let frame = (try? JSONDocument(parsing: message, limits: .gateway))?.root
        guard let frame, let method = frame["method"]?.string, let requestID = frame["id"]?.string else {
            return filtered(model.received(message, from: id, now: skewed(now)))
        }
        let request = Request(connection: id, id: requestID, params: frame["params"])
        if isOpen { requestCount += 1 }
        if method == "connect", !isOpen, let refused = refuseConnect(request, now) { return refused }
        if method == "chat.send", let refused = refuseSend(request, now) { return refused }
        if method == "exec.approval.resolve", FaultSettings.strikes(&faults.loseDecision) {
            note(request, "lost", now)
            return drop(request.connection, now)
        }
        var actions = model.received(message, from: id, now: skewed(now))
        switch method {
        case "connect" where !isOpen: helloSent(&actions, request)
        case "chat.send": sendAnswered(&actions, request, now)
        case _ where faults.slowAnswersMs > 0: delayAnswer(&actions, request, now)
        case "exec.approval.resolve": decisionAnswered(&actions, request, now)
        case "agents.files.get" where FaultSettings.strikes(&faults.editAfterRead): editFile(request, now)
        default: break
        }
        return filtered(actions)
    }

    package func closed(_ id: DemoConnectionID, _ close: DemoClose?, now: DemoInstant) -> [DemoAction] {
        if let close { lastClose = close }
        connections[id] = nil
        return filtered(model.closed(id, close, now: skewed(now)))
    }

    package func refusesUpgrade(now: DemoInstant) -> Bool {
        now.monotonic < stoppingUntil || FaultSettings.strikes(&faults.refuseUpgrades)
    }

    package func stop(now: DemoInstant) -> [DemoAction] { filtered(model.stop(now: skewed(now))) }

    // MARK: - From outside

    /// Restarts the gateway. Everything in memory is lost, including the transcripts unless they are kept. A crash ends
    /// the connections without a close. In a recorded shape nothing listens until the gateway is up again.
    package func restart(keepsTranscripts: Bool, crashes: Bool, downMs: Int, now: DemoInstant) -> [DemoAction] {
        let actions: [DemoAction] =
            crashes
            ? connections.keys.sorted().map { .drop($0) }
            : filtered(model.stop(restartingAfterMs: downMs, now: skewed(now)))
        connections = [:]
        let disk = model.disk(withTranscripts: keepsTranscripts)
        startingUntil = now.monotonic + UInt64(max(downMs, 0)) * 1_000_000
        var start = skewed(now)
        if options.shape.isRecorded {
            stoppingUntil = crashes ? 0 : min(startingUntil, now.monotonic + Self.stopNanoseconds)
            start = DemoInstant(wall: start.wall.adding(milliseconds: Int64(max(downMs, 0))), monotonic: startingUntil)
        }
        model = DemoGatewayModel(options: options, primitives: primitives, now: start, disk: disk)
        return actions
    }

    /// Begins or ends a pause of the gateway.
    func pause(_ pause: DemoPause, now: DemoInstant) -> [DemoAction] {
        filtered(model.pause(pause, now: skewed(now)))
    }

    /// Ends every connection without a close frame.
    func dropAll(now: DemoInstant) -> [DemoAction] { connections.keys.sorted().flatMap { drop($0, now) } }

    /// Sends a frame to every client that has had its hello.
    func sendToAll(_ frame: [UInt8]) -> [DemoAction] { openConnections.map { .send($0, frame) } }

    func filtered(_ actions: [DemoAction]) -> [DemoAction] {
        guard faults.silence || faults.seqGapEvery > 0 || faults.historyWithoutKeys else { return actions }
        return actions.compactMap { action in
            guard case .send(let id, let bytes) = action,
                let frame = (try? JSONDocument(parsing: bytes, limits: .gateway))?.root
            else { return action }
            if faults.silence, let event = frame["event"]?.string, event != "connect.challenge" { return nil }
            if faults.seqGapEvery > 0, let seq = frame["seq"]?.int, Int(seq) % faults.seqGapEvery == 0 { return nil }
            return faults.historyWithoutKeys ? .send(id, WireValue(frame).without("idempotencyKey").bytes) : action
        }
    }

    // MARK: - Single requests

    private struct Request {
        let connection: DemoConnectionID
        let id: String
        let params: JSONValue?
    }

    /// A recorded process ended within 0.6 s.
    private static let stopNanoseconds: UInt64 = 400_000_000
    private static let garbage = Array("\u{7b}\"type\":\"event\",,,".utf8)

    private func drop(_ id: DemoConnectionID, _ now: DemoInstant) -> [DemoAction] {
        connections[id] = nil
        return [.drop(id)] + filtered(model.closed(id, nil, now: skewed(now)))
    }

    private func refuseConnect(_ request: Request, _ now: DemoInstant) -> [DemoAction]? {
        guard let code = now.monotonic < startingUntil ? ConnectRejection.starting : faults.refuse else { return nil }
        let answer = ConnectRejection.answer(code, to: request.id, request.params, options.release)
        connections[request.connection] = nil
        return [.send(request.connection, answer.frame), .close(request.connection, answer.close)]
            + filtered(model.closed(request.connection, nil, now: skewed(now)))
    }

    private func refuseSend(_ request: Request, _ now: DemoInstant) -> [DemoAction]? {
        if FaultSettings.strikes(&faults.loseSend) { return drop(request.connection, now) }
        guard FaultSettings.strikes(&faults.sendError) else { return nil }
        var error = DemoError(faults.sendErrorCode, "demo: send refused")
        if faults.retryAfterMs > 0 {
            error.isRetryable = true
            error.retryAfterMs = faults.retryAfterMs
        }
        return [.send(request.connection, DemoFrame.response(request.id, error: error))]
    }

    /// The index and payload of the answer among the actions, if it is positive.
    private func answer(_ actions: [DemoAction], to request: Request) -> (place: Int, payload: JSONValue)? {
        for (place, action) in actions.enumerated() {
            guard case .send(request.connection, let bytes) = action,
                let frame = (try? JSONDocument(parsing: bytes, limits: .gateway))?.root,
                frame["id"]?.string == request.id, frame["ok"]?.bool == true, let payload = frame["payload"]
            else { continue }
            return (place, payload)
        }
        return nil
    }

    private func helloSent(_ actions: inout [DemoAction], _ request: Request) {
        guard let place = answer(actions, to: request)?.place else { return }
        connections[request.connection] = true
        model.withdraw(Set(faults.strippedScopes), from: request.connection)
        if FaultSettings.strikes(&faults.garbage) {
            actions.insert(.send(request.connection, Self.garbage), at: place + 1)
        }
    }

    private func sendAnswered(_ actions: inout [DemoAction], _ request: Request, _ now: DemoInstant) {
        guard let (place, payload) = answer(actions, to: request), payload["status"]?.string == "started" else {
            return
        }
        let id = request.connection
        record.append(
            SendRecord.Sent(
                key: request.params?["idempotencyKey"]?.string ?? "",
                session: DemoSessionKey.canonical(
                    request.params?["sessionKey"]?.string ?? "",
                    mainKey: options.mainKey
                ) ?? "",
                text: request.params?["message"]?.string ?? "",
                time: skewed(now).wall
            )
        )
        let ack = actions.remove(at: place)
        if FaultSettings.strikes(&faults.closeBeforeAck) {
            actions = drop(id, now) + actions
        } else if faults.slowAckMs > 0 {
            _ = held.add(deadline: now.monotonic + UInt64(faults.slowAckMs) * 1_000_000, ack)
        } else {
            var answers = [ack]
            if FaultSettings.strikes(&faults.doubleAck) { answers.append(ack) }
            if FaultSettings.strikes(&faults.garbage) { answers.append(.send(id, Self.garbage)) }
            if FaultSettings.strikes(&faults.ackThenClose) { answers += drop(id, now) }
            actions.insert(contentsOf: answers, at: place)
        }
    }

    private func delayAnswer(_ actions: inout [DemoAction], _ request: Request, _ now: DemoInstant) {
        guard let place = answer(actions, to: request)?.place else { return }
        let answer = actions.remove(at: place)
        _ = held.add(deadline: now.monotonic + UInt64(faults.slowAnswersMs) * 1_000_000, answer)
    }

    private func note(_ request: Request, _ outcome: String, _ now: DemoInstant) {
        let decision = request.params?["decision"]?.string ?? ""
        decisions?.append(request.params?["id"]?.string ?? "", decision, outcome, at: now)
    }

    private func decisionAnswered(_ actions: inout [DemoAction], _ request: Request, _ now: DemoInstant) {
        let isTaken = answer(actions, to: request) != nil
        let isTold = actions.contains { action in
            guard case .send(_, let bytes) = action else { return false }
            let frame = (try? JSONDocument(parsing: bytes, limits: .gateway))?.root
            return frame?["event"]?.string == "exec.approval.resolved"
        }
        note(request, !isTaken ? "refused" : isTold ? "applied" : "repeated", now)
        if isTaken, FaultSettings.strikes(&faults.decideThenDrop) {
            let id = request.connection
            actions = drop(id, now) + actions.filter { if case .send(id, _) = $0 { false } else { true } }
        }
    }

    private func editFile(_ request: Request, _ now: DemoInstant) {
        let agent = request.params?["agentId"]?.string ?? ""
        let name = request.params?["name"]?.string ?? ""
        guard let content = model.fileContent(name, agent: agent) else { return }
        let line = Array("\nAdded by someone else at \(skewed(now).wall.milliseconds).\n".utf8)
        _ = model.setFile(name, agent: agent, to: content + line, now: skewed(now))
    }
}

extension WireValue {
    /// A copy without the members of this name, at any depth.
    fileprivate func without(_ name: String) -> WireValue {
        switch self {
        case .array(let values): .array(values.map { $0.without(name) })
        case .object(let members):
            .object(
                members.filter { $0.name != name }.map { member in
                    var copy = member
                    copy.value = member.value.without(name)
                    return copy
                }
            )
        default: self
        }
    }
}
