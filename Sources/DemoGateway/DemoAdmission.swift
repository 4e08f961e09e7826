import Basics
import JSONBytes

/// Decides about `connect`, the first request of a connection: schema, protocol, client, device signature, secret, pairing.
struct DemoAdmission {
    enum Decision {
        case admitted(Admitted)
        case refused(Rejection)
    }

    struct Admitted {
        var client: DemoConnection.Client
        var role: String
        var caps: Set<String>
        var deviceID: String?
        var scopes: [String] = []
        /// `hello-ok.auth`.
        var auth: WireValue?
    }

    struct Rejection {
        var error: DemoError
        var close: DemoClose
        /// A new pairing request, to be announced to clients with the pairing scope.
        var newRequest: DeviceRegistry.Request?
    }

    private let options: DemoGatewayOptions
    private let primitives: DemoPrimitives
    private(set) var devices: DeviceRegistry
    private var release: DemoRelease { options.release }

    init(_ options: DemoGatewayOptions, _ primitives: DemoPrimitives, devices: DeviceRegistry?) {
        self.options = options
        self.primitives = primitives
        self.devices = devices ?? DeviceRegistry()
    }

    mutating func decide(_ params: JSONValue?, for connection: DemoConnection, now: Int64) -> Decision {
        guard let params, params.kind == .object else { return invalid("invalid connect params: must be object") }
        if let failure = schemaFailure(params) { return invalid("invalid connect params: \(failure)") }
        let spoken = Int64(release.protocolVersion)
        guard let low = params["minProtocol"]?.int, let high = params["maxProtocol"]?.int, low <= spoken, spoken <= high
        else {
            let error = Refusal.protocolMismatch(params, release)
            return .refused(Rejection(error: error, close: DemoClose(1002, error.message)))
        }
        let role = params["role"]?.string ?? "operator"
        guard role == "operator" || role == "node" else { return invalid("invalid role") }
        let asked = Asked(params, role: role)
        let isBrowser = asked.client.id == "openclaw-control-ui" || asked.client.mode == "webchat"
        if connection.peer.origin != nil || isBrowser, !isAllowedOrigin(connection.peer) {
            return refused(.originNotAllowed)
        }
        if let device = params["device"] {
            if let refusal = deviceFailure(device, asked, nonce: connection.nonce, now: now) { return refused(refusal) }
        } else if isBrowser {
            return refused(.controlUIIdentityRequired)
        } else if asked.presentsNothing {
            return refused(.identityRequired)
        }
        return admit(asked, connection.peer, now: now)
    }

    /// Approves a pairing request, the newest one unless an id is given.
    mutating func approve(_ requestID: String?, now: Int64) -> DeviceRegistry.Request? {
        devices.approve(requestID, now: now, token: primitives.token)
    }

    // MARK: - Rejections

    private func invalid(_ message: String) -> Decision {
        .refused(Rejection(error: .invalid(message), close: DemoClose(1008, message)))
    }

    private func refused(_ refusal: Refusal, mayRetryWithDeviceToken: Bool = false) -> Decision {
        let error = refusal.error(for: release, mayRetryWithDeviceToken: mayRetryWithDeviceToken)
        return .refused(Rejection(error: error, close: DemoClose(1008, refusal.message)))
    }

    // MARK: - Schema

    private static let clientIDs = [
        "webchat-ui", "openclaw-control-ui", "webchat", "cli", "gateway-client", "openclaw-macos", "openclaw-ios",
        "openclaw-android", "node-host", "test", "fingerprint", "openclaw-probe",
    ]
    private static let laterClientIDs = ["openclaw-tui"]
    private static let latestClientIDs = [
        "openclaw-linux", "openclaw-watchos", "openclaw-browser-copilot", "openclaw-worker",
    ]
    private static let clientModes = ["webchat", "cli", "ui", "backend", "node", "probe", "test"]

    private static let connectRules: [ParamsRule] = [
        .number("minProtocol", from: 1).required, .number("maxProtocol", from: 1).required,
        ParamsRule(name: "client", kind: .object).required, ParamsRule(name: "caps", kind: .strings(atLeast: 0)),
        ParamsRule(name: "commands", kind: .strings(atLeast: 0)), ParamsRule(name: "permissions", kind: .object),
        .text("pathEnv", atLeast: 0), .text("role"), ParamsRule(name: "scopes", kind: .strings(atLeast: 0)),
        ParamsRule(name: "device", kind: .object), ParamsRule(name: "auth", kind: .object),
        .text("locale", atLeast: 0), .text("userAgent", atLeast: 0),
    ]
    private static let deviceRules: [ParamsRule] = [
        .text("id").required, .text("publicKey").required, .text("signature").required, .number("signedAt").required,
        .text("nonce").required,
    ]
    private static let authRules: [ParamsRule] = [
        .text("token", atLeast: 0), .text("bootstrapToken", atLeast: 0), .text("deviceToken", atLeast: 0),
        .text("password", atLeast: 0),
    ]

    private var clientRules: [ParamsRule] {
        var ids = Self.clientIDs
        if release >= .june { ids += Self.laterClientIDs }
        if release >= .autumn { ids += Self.latestClientIDs }
        return [
            .choice("id", ids).required, .text("displayName"), .text("version").required, .text("platform").required,
            .text("deviceFamily"), .text("modelIdentifier"), .choice("mode", Self.clientModes).required,
            .text("instanceId"), .text("buildId", atMost: 96).since(.autumn),
            .text("timeZone", atMost: 64).since(.autumn),
        ]
    }

    private func schemaFailure(_ params: JSONValue) -> String? {
        let parts = [
            (params, Self.connectRules, ""), (params["client"], clientRules, "/client"),
            (params["device"], Self.deviceRules, "/device"), (params["auth"], Self.authRules, "/auth"),
        ]
        for (value, rules, path) in parts {
            guard let value else { continue }
            if let failure = ParamsRule.failure(in: value, against: rules, release: release, at: path) {
                return failure
            }
        }
        return nil
    }

    // MARK: - Device signature

    private func isAllowedOrigin(_ peer: DemoPeer) -> Bool {
        guard let origin = peer.origin, peer.isLoopback else { return false }
        return ["http://127.0.0.1", "http://localhost", "http://[::1]"].contains { origin.hasPrefix($0) }
    }

    /// Checks id, age, nonce and signature, in the gateway's order.
    private func deviceFailure(_ device: JSONValue, _ asked: Asked, nonce expected: String, now: Int64) -> Refusal? {
        guard let key = Self.publicKeyBytes(asked.publicKey) else { return .publicKeyInvalid }
        guard let id = asked.deviceID, id == Hex.encode(primitives.sha256(key)) else { return .deviceIDMismatch }
        guard let signedAt = device["signedAt"]?.int, abs(now &- signedAt) <= 120_000 else { return .signatureExpired }
        guard let nonce = device["nonce"]?.string, !nonce.isEmpty else { return .nonceRequired }
        guard nonce == expected else { return .nonceMismatch }
        guard let signature = device["signature"]?.string.flatMap(Self.base64Bytes), signature.count == 64 else {
            return .signatureInvalid
        }
        let isSigned = asked.signedPayloads(deviceID: id, signedAt, nonce).contains {
            primitives.verify(key, Array($0.utf8), signature)
        }
        return isSigned ? nil : .signatureInvalid
    }

    private static func base64Bytes(_ text: String) -> [UInt8]? {
        Base64.decode(text, as: .url) ?? Base64.decode(text, as: .standard)
    }

    /// Raw bytes in either base 64 alphabet, or a PEM block whose last 32 bytes are the key.
    private static func publicKeyBytes(_ text: String) -> [UInt8]? {
        if text.hasPrefix("-----BEGIN") {
            let body = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            guard let der = Base64.decode(body, as: .standard), der.count == 44 else { return nil }
            return Array(der.suffix(32))
        }
        guard let bytes = base64Bytes(text), bytes.count == 32 else { return nil }
        return bytes
    }

    // MARK: - Secret and pairing

    private mutating func admit(_ asked: Asked, _ peer: DemoPeer, now: Int64) -> Decision {
        let isSecretValid = options.password.map { $0 == asked.password } ?? (options.token == asked.token)
        let usesDeviceToken = !isSecretValid && holdsDeviceToken(asked)
        guard isSecretValid || usesDeviceToken else {
            let refusal = secretRefusal(asked)
            let mayRetry = refusal == .tokenMismatch && asked.deviceID != nil
            return refused(refusal, mayRetryWithDeviceToken: mayRetry)
        }
        let isDirect = isDirect(peer)
        let client = asked.client
        let isOwnBackend = isDirect && client.id == "gateway-client" && client.mode == "backend"
        guard let deviceID = asked.deviceID else {
            let keepsScopes = release.keepsScopesWithoutDevice || isOwnBackend
            return admitted(asked, keepsScopes ? asked.scopes : [], token: nil, byDeviceToken: false)
        }
        let candidate = DeviceRegistry.Device(
            id: deviceID,
            publicKey: asked.publicKey,
            platform: client.platform,
            deviceFamily: client.deviceFamily,
            clientID: client.id,
            clientMode: client.mode,
            displayName: client.displayName,
            roles: [asked.role],
            scopes: asked.scopes,
            approvedAt: now,
            tokensByRole: [:]
        )
        if let reason = pairingReason(candidate, asked) {
            if usesDeviceToken, reason == "scope-upgrade", release >= .june { return refused(.scopeMismatch) }
            let isAlwaysTrusted = isOwnBackend && release >= .june
            if !isAlwaysTrusted {
                let isSilent =
                    isDirect
                    && (reason == "not-paired" || (reason == "scope-upgrade" && release.widensScopesSilently)
                        || (reason == "role-upgrade" && release >= .june))
                guard isSilent else { return askForPairing(asked, candidate, reason, now: now) }
                devices.pair(candidate, role: asked.role, now: now, token: primitives.token)
            }
        }
        let token = devices[deviceID]?.tokensByRole[asked.role]
        return admitted(asked, asked.scopes, token: token, byDeviceToken: usesDeviceToken)
    }

    private func admitted(
        _ asked: Asked,
        _ scopes: [String],
        token: DeviceRegistry.Token?,
        byDeviceToken: Bool
    ) -> Decision {
        let granted = asked.role == "operator" ? scopes : []
        var auth: WireValue?
        if let token {
            let shown: WireValue = [
                "deviceToken": token.value, "role": asked.role, "scopes": token.scopes, "issuedAtMs": token.issuedAt,
            ]
            auth = shown
        } else if release >= .june {
            auth = ["role": asked.role, "scopes": granted]
        }
        if release >= .autumn {
            let method = byDeviceToken ? "device-token" : options.password == nil ? "token" : "password"
            auth = auth?.adding(["method": method])
        }
        return .admitted(
            Admitted(
                client: asked.client,
                role: asked.role,
                caps: asked.caps,
                deviceID: asked.deviceID,
                scopes: granted,
                auth: auth
            )
        )
    }

    private func holdsDeviceToken(_ asked: Asked) -> Bool {
        guard let deviceID = asked.deviceID, let shown = asked.deviceToken ?? asked.token else { return false }
        return devices[deviceID]?.tokensByRole[asked.role]?.value == shown
    }

    private func secretRefusal(_ asked: Asked) -> Refusal {
        if asked.deviceToken != nil { return .deviceTokenMismatch }
        if asked.bootstrapToken != nil { return .bootstrapTokenInvalid }
        if options.password != nil { return asked.password == nil ? .passwordMissing : .passwordMismatch }
        return asked.token == nil ? .tokenMissing : .tokenMismatch
    }

    /// Whether the gateway takes this peer for a program on its own host, without a proxy in between.
    private func isDirect(_ peer: DemoPeer) -> Bool {
        guard peer.isLoopback, !peer.isForwarded, peer.origin == nil else { return false }
        return ["127.0.0.1", "localhost", "[::1]", "::1"].contains { peer.host == $0 || peer.host.hasPrefix("\($0):") }
    }

    /// The reason why the device needs an approval; nil if it has one that covers this connect.
    private func pairingReason(_ candidate: DeviceRegistry.Device, _ asked: Asked) -> String? {
        guard let known = devices[candidate.id], known.publicKey == candidate.publicKey else { return "not-paired" }
        guard known.roles.contains(asked.role) else { return "role-upgrade" }
        if asked.role == "operator", !Self.covers(known.scopes, asked.scopes) { return "scope-upgrade" }
        let isSameFamily = Asked.normalised(known.deviceFamily ?? "") == Asked.normalised(candidate.deviceFamily ?? "")
        let isSamePlatform = Asked.normalised(known.platform) == Asked.normalised(candidate.platform)
        return isSameFamily && (isSamePlatform || !release.pinsPlatform) ? nil : "metadata-upgrade"
    }

    private static func covers(_ approved: [String], _ requested: [String]) -> Bool {
        let granted = Set(approved)
        return granted.contains("operator.admin") || requested.allSatisfy { DemoConnection.covers(granted, $0) }
    }

    private mutating func askForPairing(
        _ asked: Asked,
        _ device: DeviceRegistry.Device,
        _ reason: String,
        now: Int64
    ) -> Decision {
        let isMarch = release == .march
        let (request, isNew) = devices.ask(
            for: device,
            role: asked.role,
            now: now,
            keepsID: isMarch,
            newID: primitives.uuid
        )
        let known = devices[device.id]
        let texts = Self.pairingTexts(reason)
        let message = isMarch ? "pairing required" : "pairing required: \(texts.message)"
        let details: WireValue =
            isMarch
            ? ["code": "PAIRING_REQUIRED", "requestId": request.id, "reason": reason]
            : [
                "code": "PAIRING_REQUIRED", "reason": reason, "requestId": request.id,
                "remediationHint": texts.hint, "deviceId": device.id, "requestedRole": asked.role,
                "requestedScopes": asked.scopes, "approvedRoles": known?.roles,
                "approvedScopes": known?.scopes.sorted(),
                "recommendedNextStep": release >= .autumn ? "wait_then_retry" : nil,
            ]
        return .refused(
            Rejection(
                error: DemoError("NOT_PAIRED", message, details: details),
                close: DemoClose(1008, isMarch ? message : "\(message) (requestId: \(request.id))"),
                newRequest: isNew ? request : nil
            )
        )
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
}

/// The parameters of a connect that the checks use.
private struct Asked {
    let client: DemoConnection.Client
    let role: String
    let scopes: [String]
    let caps: Set<String>
    let token: String?
    let password: String?
    let deviceToken: String?
    let bootstrapToken: String?
    let deviceID: String?
    let publicKey: String

    init(_ params: JSONValue, role: String) {
        let client = params["client"]
        self.client = DemoConnection.Client(
            id: client?["id"]?.string ?? "",
            mode: client?["mode"]?.string ?? "",
            version: client?["version"]?.string ?? "",
            platform: client?["platform"]?.string ?? "",
            deviceFamily: client?["deviceFamily"]?.string,
            displayName: client?["displayName"]?.string,
            instanceID: client?["instanceId"]?.string
        )
        self.role = role
        var seen: Set<String> = []
        scopes = (params["scopes"]?.elements.compactMap(\.string) ?? []).filter { seen.insert($0).inserted }
        caps = Set(params["caps"]?.elements.compactMap(\.string) ?? [])
        let auth = params["auth"]
        func secret(_ name: String) -> String? { auth?[name]?.string.flatMap { $0.isEmpty ? nil : $0 } }
        token = secret("token")
        password = secret("password")
        deviceToken = secret("deviceToken")
        bootstrapToken = secret("bootstrapToken")
        deviceID = params["device"]?["id"]?.string
        publicKey = params["device"]?["publicKey"]?.string ?? ""
    }

    var presentsNothing: Bool { token == nil && password == nil && deviceToken == nil && bootstrapToken == nil }

    /// The texts a device may have signed: the newer one also covers platform and family, the older one is still
    /// accepted.
    func signedPayloads(deviceID: String, _ signedAt: Int64, _ nonce: String) -> [String] {
        let fields = [
            deviceID, client.id, client.mode, role, scopes.joined(separator: ","), String(signedAt),
            token ?? deviceToken ?? bootstrapToken ?? "", nonce,
        ]
        let bound = [Self.normalised(client.platform), Self.normalised(client.deviceFamily ?? "")]
        return [(["v3"] + fields + bound).joined(separator: "|"), (["v2"] + fields).joined(separator: "|")]
    }

    /// The text trimmed, with only A to Z in lower case.
    static func normalised(_ text: String) -> String {
        var bytes = Array(text.utf8)[...]
        while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return String(decoding: bytes.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
