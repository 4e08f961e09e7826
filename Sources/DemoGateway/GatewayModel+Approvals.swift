import JSONBytes

/// Approvals of commands, devices, and waiting for runs.
extension GatewayModel {
    // MARK: - Commands

    /// Asks whoever may decide; false when nobody is there, which ends the question at once without a decision.
    func requestApproval(_ planned: RunTimeline.PlannedCall, _ command: String, _ run: GatewayRun) -> Bool {
        let deciders = connections.values.filter { $0.isOpen && $0.may("operator.approvals") }
        guard !deciders.isEmpty else {
            run.denied.insert(planned.id)
            return false
        }
        let later: WireValue = [
            "warningText": WireValue.null, "unavailableDecisions": [String](),
            "allowedDecisions": ["allow-once", "allow-always", "deny"],
            "commandAnalysis": wireObject([
                "commandCount": 1, "nestedCommandCount": 0, "riskKinds": ["delete"],
                "warningLines": ["Deletes files"],
            ]),
        ]
        let base: WireValue = [
            "command": command, "cwd": agent(run.session.agentID)?.path, "nodeId": WireValue.null, "host": "gateway",
            "security": "allowlist", "ask": "always", "agentId": run.session.agentID, "resolvedPath": "/usr/bin/rm",
            "sessionKey": run.session.key, "turnSourceChannel": "webchat", "turnSourceTo": WireValue.null,
            "turnSourceAccountId": WireValue.null, "turnSourceThreadId": WireValue.null,
            "systemRunBinding": WireValue.null, "systemRunPlan": WireValue.null,
        ]
        let approval = Approval(
            id: primitives.uuid(),
            runID: run.id,
            request: release >= .june ? base.adding(later) : base,
            createdAt: wallMs,
            expiresAt: wallMs + release.approvalLifetimeMs
        )
        approvals.append(approval)
        run.approvalID = approval.id
        let payload = described(approval)
        if release == .march {
            broadcast("exec.approval.requested", payload, scope: "operator.approvals")
        } else {
            send("exec.approval.requested", payload, to: deciders)
        }
        let callID = planned.id
        schedule(afterMs: Int(release.approvalLifetimeMs)) { model in
            guard model.approvals.contains(where: { $0.id == approval.id }) else { return }
            model.approvals.removeAll { $0.id == approval.id }
            guard let current = model.runs[run.id], current === run else { return }
            run.denied.insert(callID)
            run.approvalID = nil
            model.resume(run)
        }
        return true
    }

    private func described(_ approval: Approval) -> WireValue {
        [
            "id": approval.id, "request": approval.request, "createdAtMs": approval.createdAt,
            "expiresAtMs": approval.expiresAt,
        ]
    }

    func approvalList(_ request: GatewayRequest) -> GatewayReply { .ok(.array(approvals.map(described))) }

    func approvalGet(_ request: GatewayRequest) -> GatewayReply {
        guard let found = approval(request.string("id") ?? "") else { return unknownApproval }
        return .ok(described(found))
    }

    /// By id or by a prefix that only one has.
    private func approval(_ id: String) -> Approval? {
        if let exact = approvals.first(where: { $0.id == id }) { return exact }
        let found = approvals.filter { !id.isEmpty && $0.id.hasPrefix(id) }
        return found.count == 1 ? found.first : nil
    }

    private var unknownApproval: GatewayReply {
        let code = release >= .june ? "APPROVAL_NOT_FOUND" : "INVALID_REQUEST"
        return .failed(GatewayError(code, "unknown or expired approval id"))
    }

    func approvalResolve(_ request: GatewayRequest) -> GatewayReply {
        let decision = request.string("decision") ?? ""
        guard ["allow-once", "allow-always", "deny"].contains(decision) else { return .invalid("invalid decision") }
        guard let found = approval(request.string("id") ?? "") else { return unknownApproval }
        approvals.removeAll { $0.id == found.id }
        let payload: WireValue = [
            "id": found.id, "decision": decision,
            "resolvedBy": request.connection.client.displayName ?? request.connection.client.id, "ts": wallMs,
            "request": found.request,
        ]
        if release == .march {
            broadcast("exec.approval.resolved", payload, scope: "operator.approvals")
        } else {
            send("exec.approval.resolved", payload, to: connections.values.filter { $0.may("operator.approvals") })
        }
        if let run = runs[found.runID], run.approvalID == found.id {
            run.approvalID = nil
            if decision == "deny", case .toolResult(let planned) = run.timeline.beats[run.place].beat {
                run.denied.insert(planned.id)
            }
            resume(run)
        }
        return .ok(["ok": true])
    }

    // MARK: - Waiting

    func agentWait(_ request: GatewayRequest) -> GatewayReply {
        guard let runID = request.string("runId") else { return .invalid("invalid agent.wait params") }
        if finishedRuns[runID] != nil { return .ok(waitResult(runID)) }
        callCounter += 1
        let number = callCounter
        waits.append(Wait(connection: request.connection.id, requestID: request.id, runID: runID, number: number))
        schedule(afterMs: Int(clamping: request.int("timeoutMs") ?? 30_000)) { model in
            guard let place = model.waits.firstIndex(where: { $0.number == number }) else { return }
            let wait = model.waits.remove(at: place)
            guard let connection = model.connections[wait.connection] else { return }
            model.emit(
                model.response(wait.requestID, ok: ["runId": wait.runID, "status": "timeout"]),
                to: connection
            )
        }
        return .handled
    }

    func answerWaits(for runID: String) {
        let answered = waits.filter { $0.runID == runID }
        waits.removeAll { $0.runID == runID }
        for wait in answered {
            guard let connection = connections[wait.connection] else { continue }
            emit(response(wait.requestID, ok: waitResult(runID)), to: connection)
        }
    }

    private func waitResult(_ runID: String) -> WireValue {
        guard let run = finishedRuns[runID] else { return ["runId": runID, "status": "timeout"] }
        return [
            "runId": runID, "status": run.status, "startedAt": run.startedAt, "endedAt": run.endedAt,
            "error": run.error,
        ]
    }

    // MARK: - Devices

    func pairList(_ request: GatewayRequest) -> GatewayReply {
        devices.expire(now: wallMs)
        return .ok([
            "pending": devices.pending.map(\.described),
            "paired": devices.devices.values.sorted { $0.approvedAt < $1.approvedAt }.map(\.described),
        ])
    }

    func pairApprove(_ request: GatewayRequest) -> GatewayReply {
        guard let approved = approvePairing(request.string("requestId")) else { return .invalid("unknown requestId") }
        return .ok(["requestId": approved.requestID, "device": approved.device.described])
    }

    func pairReject(_ request: GatewayRequest) -> GatewayReply {
        guard let rejected = rejectPairing(request.string("requestId")) else { return .invalid("unknown requestId") }
        return .ok(["requestId": rejected.requestID, "deviceId": rejected.deviceID])
    }

    func pairRemove(_ request: GatewayRequest) -> GatewayReply {
        guard let id = request.string("deviceId"), devices.devices.removeValue(forKey: id) != nil else {
            return .invalid("unknown deviceId")
        }
        closeConnections(of: id)
        return .ok(["deviceId": id])
    }

    func tokenRotate(_ request: GatewayRequest) -> GatewayReply {
        guard let id = request.string("deviceId"), let role = request.string("role"),
            var token = devices.devices[id]?.tokens[role]
        else { return .invalid("unknown deviceId/role") }
        if let scopes = request.params?["scopes"]?.elements.compactMap(\.string), !scopes.isEmpty {
            guard Self.covers(devices.devices[id]?.scopes ?? [], scopes) else { return .invalid("scopes not approved") }
            token.scopes = scopes.sorted()
        }
        token.value = newToken()
        token.rotatedAt = wallMs
        token.isRevoked = false
        devices.devices[id]?.tokens[role] = token
        closeConnections(of: id)
        return .ok([
            "deviceId": id, "role": role, "token": release == .march ? token.value : nil, "scopes": token.scopes,
            "rotatedAtMs": wallMs,
        ])
    }

    func tokenRevoke(_ request: GatewayRequest) -> GatewayReply {
        guard let id = request.string("deviceId"), let role = request.string("role"),
            devices.devices[id]?.tokens[role] != nil
        else { return .invalid("unknown deviceId/role") }
        devices.devices[id]?.tokens[role]?.isRevoked = true
        closeConnections(of: id)
        return .ok(["deviceId": id, "role": role, "revokedAtMs": wallMs])
    }
}
