import Basics
import JSONBytes

/// Who comes in with which scopes, and the approval of devices.
extension GatewayModel {
    private enum Admission {
        case granted(scopes: [String], token: DeviceRegistry.Token?)
        case refused(Refusal)
        case mustPair(reason: String, DeviceRegistry.Device)
    }

    func admit(_ connection: GatewayConnection, _ id: String, _ handshake: Handshake) {
        var usesDeviceToken = false
        if !handshake.hasValidSecret {
            if holdsDeviceToken(handshake) {
                usesDeviceToken = true
            } else {
                let refusal = secretRefusal(handshake)
                let mayRetry = refusal.code == "AUTH_TOKEN_MISMATCH" && handshake.deviceID != nil
                let details = refusal.details(for: release, mayRetryWithDeviceToken: mayRetry)
                emit(
                    response(id, error: GatewayError(refusal.errorCode, refusal.message, details: details)),
                    to: connection
                )
                return close(connection, refusal.closeCode, refusal.closeReason)
            }
        }
        switch admission(connection, handshake, usesDeviceToken: usesDeviceToken) {
        case .refused(let refusal):
            let details = refusal.details(for: release, mayRetryWithDeviceToken: false)
            emit(
                response(id, error: GatewayError(refusal.errorCode, refusal.message, details: details)),
                to: connection
            )
            close(connection, refusal.closeCode, refusal.closeReason)
        case .mustPair(let reason, let device):
            askForPairing(connection, id, handshake, device, reason)
        case .granted(let scopes, let token):
            open(connection, id, handshake, scopes: scopes, token: token, byDeviceToken: usesDeviceToken)
        }
    }

    private func holdsDeviceToken(_ handshake: Handshake) -> Bool {
        guard let deviceID = handshake.deviceID, let shown = handshake.deviceToken ?? handshake.token,
            let known = devices.devices[deviceID]?.tokens[handshake.role]
        else { return false }
        return !known.isRevoked && known.value == shown
    }

    private func secretRefusal(_ handshake: Handshake) -> Refusal {
        if handshake.deviceToken != nil { return .deviceTokenMismatch }
        if handshake.bootstrapToken != nil, let found = Refusal(code: "AUTH_BOOTSTRAP_TOKEN_INVALID") { return found }
        if options.password != nil {
            return handshake.password == nil ? .passwordMissing : .passwordMismatch
        }
        return handshake.token == nil ? .tokenMissing : .tokenMismatch
    }

    /// A peer that the gateway takes for its own host, with nothing in between.
    private func isDirect(_ peer: GatewayPeer) -> Bool {
        guard !faults.pairing, peer.isLoopback, !peer.isForwarded, peer.origin == nil else { return false }
        return ["127.0.0.1", "localhost", "[::1]", "::1"].contains { peer.host == $0 || peer.host.hasPrefix("\($0):") }
    }

    private func admission(
        _ connection: GatewayConnection,
        _ handshake: Handshake,
        usesDeviceToken: Bool
    ) -> Admission {
        let direct = isDirect(connection.peer)
        let client = connection.client
        let isOwnBackend = direct && client.id == "gateway-client" && client.mode == "backend"
        guard let deviceID = handshake.deviceID else {
            let keeps = release.keepsScopesWithoutDevice || isOwnBackend
            return .granted(scopes: keeps ? handshake.requestedScopes : [], token: nil)
        }
        let candidate = DeviceRegistry.Device(
            id: deviceID,
            publicKey: handshake.publicKey,
            platform: client.platform,
            deviceFamily: client.deviceFamily,
            clientID: client.id,
            clientMode: client.mode,
            displayName: client.displayName,
            roles: [handshake.role],
            scopes: handshake.requestedScopes,
            approvedAt: wallMs,
            tokens: [:]
        )
        if let reason = upgradeReason(candidate, handshake) {
            if usesDeviceToken, reason == "scope-upgrade", release >= .june { return .refused(.scopeMismatch) }
            if isOwnBackend, release >= .june {
                return .granted(
                    scopes: handshake.requestedScopes,
                    token: devices.devices[deviceID]?.tokens[handshake.role]
                )
            }
            let isSilent =
                direct
                && (reason == "not-paired" || (reason == "scope-upgrade" && release.widensScopesSilently)
                    || (reason == "role-upgrade" && release >= .june))
            guard isSilent else { return .mustPair(reason: reason, candidate) }
            devices.pair(candidate, role: handshake.role, now: wallMs, token: newToken)
        }
        refreshRevokedToken(deviceID, handshake)
        return .granted(scopes: handshake.requestedScopes, token: devices.devices[deviceID]?.tokens[handshake.role])
    }

    private func upgradeReason(_ candidate: DeviceRegistry.Device, _ handshake: Handshake) -> String? {
        guard let known = devices.devices[candidate.id], known.publicKey == candidate.publicKey else {
            return "not-paired"
        }
        guard known.roles.contains(handshake.role) else { return "role-upgrade" }
        if release >= .june, known.tokens[handshake.role]?.isRevoked == true { return "role-upgrade" }
        if handshake.role == "operator", !Self.covers(known.scopes, handshake.requestedScopes) {
            return "scope-upgrade"
        }
        let sameFamily =
            Handshake.normalised(known.deviceFamily ?? "") == Handshake.normalised(candidate.deviceFamily ?? "")
        let samePlatform = Handshake.normalised(known.platform) == Handshake.normalised(candidate.platform)
        return sameFamily && (samePlatform || !release.pinsPlatform) ? nil : "metadata-upgrade"
    }

    static func covers(_ approved: [String], _ requested: [String]) -> Bool {
        if approved.contains("operator.admin") { return true }
        return requested.allSatisfy { scope in
            approved.contains(scope) || (scope == "operator.read" && approved.contains("operator.write"))
        }
    }

    /// March hands a revoked device a new token when it comes back with the shared secret.
    private func refreshRevokedToken(_ deviceID: String, _ handshake: Handshake) {
        guard let known = devices.devices[deviceID]?.tokens[handshake.role], known.isRevoked else { return }
        devices.devices[deviceID]?.tokens[handshake.role] = DeviceRegistry.Token(
            value: newToken(),
            scopes: handshake.requestedScopes.sorted(),
            issuedAt: wallMs
        )
    }

    private func askForPairing(
        _ connection: GatewayConnection,
        _ id: String,
        _ handshake: Handshake,
        _ device: DeviceRegistry.Device,
        _ reason: String
    ) {
        let (request, isNew) = devices.file(
            device,
            role: handshake.role,
            reason: reason,
            now: wallMs,
            keepsID: release == .march,
            newID: primitives.uuid
        )
        if isNew { broadcast("device.pair.requested", request.described, scope: "operator.pairing") }
        let known = devices.devices[device.id]
        let texts = Self.pairingTexts(reason)
        let message = release == .march ? "pairing required" : "pairing required: \(texts.message)"
        let details: WireValue =
            release == .march
            ? ["code": "PAIRING_REQUIRED", "requestId": request.requestID, "reason": reason]
            : [
                "code": "PAIRING_REQUIRED", "reason": reason, "requestId": request.requestID,
                "remediationHint": texts.hint, "deviceId": device.id, "requestedRole": handshake.role,
                "requestedScopes": handshake.requestedScopes, "approvedRoles": known?.roles,
                "approvedScopes": known?.scopes.sorted(),
                "recommendedNextStep": release == .autumn ? "wait_then_retry" : nil,
            ]
        emit(response(id, error: GatewayError("NOT_PAIRED", message, details: details)), to: connection)
        let closing = release == .march ? message : "\(message) (requestId: \(request.requestID))"
        close(connection, 1008, closing)
    }

    private static func pairingTexts(_ reason: String) -> (message: String, hint: String) {
        switch reason {
        case "scope-upgrade":
            (
                "device is asking for more scopes than currently approved",
                "Review the requested scopes, then approve the pending upgrade."
            )
        case "role-upgrade":
            (
                "device is asking for a higher role than currently approved",
                "Review the requested role upgrade, then approve the pending request."
            )
        case "metadata-upgrade":
            (
                "device identity changed and must be re-approved",
                "Review the refreshed device details, then approve the pending request."
            )
        default:
            ("device is not approved yet", "Approve this device from the pending pairing requests.")
        }
    }

    func newToken() -> String { Base64.encode(primitives.randomBytes(32), as: .url) }

    /// Approves a request by id, or the only one there is.
    func approvePairing(_ requestID: String?) -> (requestID: String, device: DeviceRegistry.Device)? {
        devices.expire(now: wallMs)
        guard let wanted = requestID ?? devices.pending.last?.requestID,
            let device = devices.approve(wanted, now: wallMs, token: newToken)
        else { return nil }
        announcePairing(wanted, device.id, "approved")
        return (wanted, device)
    }

    func rejectPairing(_ requestID: String?) -> (requestID: String, deviceID: String)? {
        devices.expire(now: wallMs)
        guard let wanted = requestID ?? devices.pending.last?.requestID, let request = devices.take(wanted) else {
            return nil
        }
        announcePairing(wanted, request.device.id, "rejected")
        return (wanted, request.device.id)
    }

    private func announcePairing(_ requestID: String, _ deviceID: String, _ decision: String) {
        broadcast(
            "device.pair.resolved",
            ["requestId": requestID, "deviceId": deviceID, "decision": decision, "ts": wallMs],
            scope: "operator.pairing"
        )
    }

    /// Later releases close a device's connections when its token or pairing goes.
    func closeConnections(of deviceID: String) {
        guard release.closesRemovedDevices else { return }
        let affected = connections.values.filter { $0.deviceID == deviceID }.sorted { $0.id < $1.id }
        for connection in affected { close(connection, 4001, "device removed") }
    }
}
