/// Paired devices, their tokens, and requests that wait for approval. A real host keeps them in a file, so they outlive
/// restarts.
struct DeviceRegistry {
    struct Token {
        var value: String
        var scopes: [String]
        var issuedAt: Int64
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
        var tokensByRole: [String: Token]
    }

    struct Request {
        var id: String
        /// The requesting device; its `scopes` are the union of all requested scopes.
        var device: Device
        var role: String
        /// The scopes requested this time.
        var requestedScopes: [String]
        var isRepair: Bool
        var ts: Int64
    }

    /// The lifetime of a request that is not repeated.
    private static let requestLifetimeMs: Int64 = 300_000

    private var devices: [String: Device] = [:]
    private var requests: [Request] = []

    subscript(id: String) -> Device? { devices[id] }

    func waiting(now: Int64) -> [Request] { requests.filter { $0.ts + Self.requestLifetimeMs > now } }

    private mutating func expire(now: Int64) {
        requests.removeAll { $0.ts + Self.requestLifetimeMs <= now }
    }

    /// Adds or refreshes a request. An identical one keeps its id; one with other scopes gets a new id (March keeps the
    /// id) and requests the union.
    mutating func ask(
        for candidate: Device,
        role: String,
        now: Int64,
        keepsID: Bool,
        newID: () -> String
    ) -> (request: Request, isNew: Bool) {
        expire(now: now)
        let old = requests.first { $0.device.id == candidate.id }
        var request = Request(
            id: newID(),
            device: candidate,
            role: role,
            requestedScopes: candidate.scopes,
            isRepair: devices[candidate.id] != nil,
            ts: now
        )
        var isNew = true
        if let old {
            let isSame =
                old.requestedScopes == candidate.scopes && old.role == role
                && old.device.publicKey == candidate.publicKey
            if isSame || keepsID {
                request.id = old.id
                isNew = false
            }
            request.device.scopes = old.device.scopes + candidate.scopes.filter { !old.device.scopes.contains($0) }
            requests.removeAll { $0.device.id == candidate.id }
        }
        requests.append(request)
        return (request, isNew)
    }

    /// Pairs the device of a request: the newest one unless an id is given.
    mutating func approve(_ id: String?, now: Int64, token: () -> String) -> Request? {
        expire(now: now)
        guard let place = requests.lastIndex(where: { id == nil || $0.id == id }) else { return nil }
        let request = requests.remove(at: place)
        pair(request.device, role: request.role, now: now, token: token)
        return request
    }

    /// Makes the token at once; the hello hands it out.
    mutating func pair(_ candidate: Device, role: String, now: Int64, token: () -> String) {
        var device = candidate
        let old = devices[device.id]
        device.approvedAt = now
        device.roles = (old?.roles ?? []).filter { $0 != role } + [role]
        device.tokensByRole = old?.tokensByRole ?? [:]
        let scopes = Set(device.scopes + (old?.scopes ?? []))
        device.scopes = device.scopes + (old?.scopes ?? []).filter { !device.scopes.contains($0) }
        let isSame = device.tokensByRole[role].map { Set($0.scopes) == scopes } ?? false
        if !isSame {
            device.tokensByRole[role] = Token(
                value: token(),
                scopes: role == "operator" ? scopes.sorted() : [],
                issuedAt: now
            )
        }
        devices[device.id] = device
    }
}

extension DeviceRegistry.Request {
    /// The payload of `device.pair.requested`.
    var wire: WireValue {
        [
            "deviceId": device.id, "publicKey": device.publicKey, "displayName": device.displayName,
            "platform": device.platform, "deviceFamily": device.deviceFamily, "clientId": device.clientID,
            "clientMode": device.clientMode, "role": device.roles.last ?? "operator", "roles": device.roles,
            "scopes": device.scopes, "requestId": id, "remoteIp": "192.168.77.2", "silent": false,
            "isRepair": isRepair, "ts": ts,
        ]
    }
}
