/// Paired devices, their tokens, and requests waiting for approval. On a real host this is a file, so it outlives
/// restarts.
struct DeviceRegistry {
    struct Token {
        var value: String
        var scopes: [String]
        var issuedAt: Int64
        var rotatedAt: Int64?
        var isRevoked = false
    }

    struct Device {
        var id: String
        var publicKey: String
        var platform: String
        var deviceFamily: String?
        var clientID: String
        var clientMode: String
        var displayName: String?
        var roles: [String]
        var scopes: [String]
        var approvedAt: Int64
        /// By role.
        var tokens: [String: Token]
    }

    struct Pending {
        var requestID: String
        var device: Device
        var role: String
        /// Asked for this time; `device.scopes` is the union of what was asked so far.
        var requestedScopes: [String]
        var reason: String
        var isRepair: Bool
        var ts: Int64
    }

    /// A request that nobody repeats is forgotten.
    static let pendingLifetimeMs: Int64 = 300_000

    var devices: [String: Device] = [:]
    private(set) var pending: [Pending] = []

    mutating func expire(now: Int64) {
        pending.removeAll { $0.ts + Self.pendingLifetimeMs <= now }
    }

    /// Files or refreshes a request. An identical repeat keeps its id; other scopes make a new one over the union (March
    /// keeps the id all the same).
    mutating func file(
        _ candidate: Device,
        role: String,
        reason: String,
        now: Int64,
        keepsID: Bool,
        newID: () -> String
    ) -> (request: Pending, isNew: Bool) {
        expire(now: now)
        let old = pending.first { $0.device.id == candidate.id }
        var request = Pending(
            requestID: newID(),
            device: candidate,
            role: role,
            requestedScopes: candidate.scopes,
            reason: reason,
            isRepair: devices[candidate.id] != nil,
            ts: now
        )
        var isNew = true
        if let old {
            let isSame =
                old.requestedScopes == candidate.scopes && old.role == role
                && old.device.publicKey == candidate.publicKey
            if isSame || keepsID {
                request.requestID = old.requestID
                isNew = false
            }
            request.device.scopes = old.device.scopes + candidate.scopes.filter { !old.device.scopes.contains($0) }
            pending.removeAll { $0.device.id == candidate.id }
        }
        pending.append(request)
        return (request, isNew)
    }

    /// Pairs the device of a request; its token is made at once, as the hello will hand it out.
    mutating func approve(_ requestID: String, now: Int64, token: () -> String) -> Device? {
        expire(now: now)
        guard let request = take(requestID) else { return nil }
        return pair(request.device, role: request.role, now: now, token: token)
    }

    @discardableResult
    mutating func pair(_ candidate: Device, role: String, now: Int64, token: () -> String) -> Device {
        var device = candidate
        let old = devices[device.id]
        device.approvedAt = now
        device.roles = (old?.roles ?? []).filter { $0 != role } + [role]
        device.tokens = old?.tokens ?? [:]
        let scopes = Set(device.scopes + (old?.scopes ?? []))
        device.scopes = device.scopes + (old?.scopes ?? []).filter { !device.scopes.contains($0) }
        let kept = device.tokens[role].flatMap { $0.isRevoked ? nil : $0 }
        let isSame = kept.map { Set($0.scopes) == scopes } ?? false
        if !isSame {
            device.tokens[role] = Token(
                value: token(),
                scopes: role == "operator" ? scopes.sorted() : [],
                issuedAt: now
            )
        }
        devices[device.id] = device
        return device
    }

    mutating func take(_ requestID: String) -> Pending? {
        guard let place = pending.firstIndex(where: { $0.requestID == requestID }) else { return nil }
        return pending.remove(at: place)
    }
}

extension DeviceRegistry.Device {
    /// As the pairing list shows it; never with a token's value.
    var described: WireValue {
        let tokens = self.tokens.sorted { $0.key < $1.key }.map { role, token in
            wireObject([
                "role": role, "scopes": token.scopes, "createdAtMs": token.issuedAt, "rotatedAtMs": token.rotatedAt,
                "revokedAtMs": token.isRevoked ? token.issuedAt : nil,
            ])
        }
        return identity.adding(["createdAtMs": approvedAt, "approvedAtMs": approvedAt, "tokens": tokens])
    }

    var identity: WireValue {
        [
            "deviceId": id, "publicKey": publicKey, "displayName": displayName, "platform": platform,
            "deviceFamily": deviceFamily, "clientId": clientID, "clientMode": clientMode,
            "role": roles.last ?? "operator", "roles": roles, "scopes": scopes,
        ]
    }
}

extension DeviceRegistry.Pending {
    var described: WireValue {
        device.identity.adding([
            "requestId": requestID, "remoteIp": "192.168.77.2", "silent": false, "isRepair": isRepair, "ts": ts,
        ])
    }
}
