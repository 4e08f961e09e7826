import Basics
import JSONBytes

/// The first request of a connection: schema, protocol, identity, secret, pairing, and the hello.
extension GatewayModel {
    private static let clientIDs = [
        "webchat-ui", "openclaw-control-ui", "webchat", "cli", "gateway-client", "openclaw-macos", "openclaw-ios",
        "openclaw-android", "node-host", "test", "fingerprint", "openclaw-probe",
    ]
    private static let laterClientIDs = ["openclaw-tui"]
    private static let latestClientIDs = [
        "openclaw-linux", "openclaw-watchos", "openclaw-browser-copilot", "openclaw-worker",
    ]
    private static let clientModes = ["webchat", "cli", "ui", "backend", "node", "probe", "test"]

    private var connectRules: [ParamsRule] {
        [
            .number("minProtocol", from: 1).required, .number("maxProtocol", from: 1).required,
            ParamsRule(name: "client", kind: .object).required, ParamsRule(name: "caps", kind: .strings(atLeast: 0)),
            ParamsRule(name: "commands", kind: .strings(atLeast: 0)), ParamsRule(name: "permissions", kind: .object),
            .text("pathEnv", atLeast: 0), .text("role"), ParamsRule(name: "scopes", kind: .strings(atLeast: 0)),
            ParamsRule(name: "device", kind: .object), ParamsRule(name: "auth", kind: .object),
            .text("locale", atLeast: 0), .text("userAgent", atLeast: 0),
        ]
    }

    private var clientRules: [ParamsRule] {
        var ids = Self.clientIDs
        if release >= .june { ids += Self.laterClientIDs }
        if release == .autumn { ids += Self.latestClientIDs }
        return [
            .choice("id", ids).required, .text("displayName"), .text("version").required, .text("platform").required,
            .text("deviceFamily"), .text("modelIdentifier"), .choice("mode", Self.clientModes).required,
            .text("instanceId"), .text("buildId", atMost: 96).since(.autumn),
            .text("timeZone", atMost: 64).since(.autumn),
        ]
    }

    private static let deviceRules: [ParamsRule] = [
        .text("id").required, .text("publicKey").required, .text("signature").required, .number("signedAt").required,
        .text("nonce").required,
    ]
    private static let authRules: [ParamsRule] = [
        .text("token", atLeast: 0), .text("bootstrapToken", atLeast: 0), .text("deviceToken", atLeast: 0),
        .text("password", atLeast: 0),
    ]

    func handleHandshake(_ bytes: [UInt8], from connection: GatewayConnection) {
        if let limit = release.preAuthFrameLimit, bytes.count > limit {
            return close(connection, 1009, "preauth payload too large")
        }
        guard let document = try? JSONDocument(parsing: bytes, limits: .gateway) else {
            return close(connection, 1000, "")
        }
        let frame = document.root
        guard frame.kind == .object, frame["type"]?.string == "req", let id = frame["id"]?.string, !id.isEmpty,
            let method = frame["method"]?.string
        else {
            return close(connection, 1008, "invalid request frame")
        }
        guard method == "connect" else {
            return reject(connection, id, "invalid handshake: first request must be connect")
        }
        guard let params = frame["params"], params.kind == .object else {
            return reject(connection, id, "invalid connect params: must be object")
        }
        if let failure = connectFailure(params) {
            return reject(connection, id, "invalid connect params: \(failure)")
        }
        connect(connection, id, params)
    }

    private func connectFailure(_ params: JSONValue) -> String? {
        ParamsRule.failure(in: params, against: connectRules, release: release)
            ?? ParamsRule.failure(in: params["client"], against: clientRules, release: release, at: "/client")
            ?? params["device"].flatMap {
                ParamsRule.failure(in: $0, against: Self.deviceRules, release: release, at: "/device")
            }
            ?? params["auth"].flatMap {
                ParamsRule.failure(in: $0, against: Self.authRules, release: release, at: "/auth")
            }
    }

    /// A rejection without a code of its own.
    private func reject(_ connection: GatewayConnection, _ id: String, _ message: String) {
        emit(response(id, error: GatewayError("INVALID_REQUEST", message)), to: connection)
        close(connection, 1008, message)
    }

    private func refuse(
        _ connection: GatewayConnection,
        _ id: String,
        _ refusal: Refusal,
        mayRetryWithDeviceToken: Bool = false
    ) {
        let details = refusal.details(for: release, mayRetryWithDeviceToken: mayRetryWithDeviceToken)
        var error = GatewayError(refusal.errorCode, refusal.message, details: details)
        if let wait = refusal.retryAfterMs {
            error.isRetryable = true
            error.retryAfterMs = wait
        }
        emit(response(id, error: error), to: connection)
        close(connection, refusal.closeCode, refusal.closeReason)
    }

    private func connect(_ connection: GatewayConnection, _ id: String, _ params: JSONValue) {
        if now.monotonic < startingUntil, let starting = Refusal(code: "STARTUP_SIDECARS") {
            return refuse(connection, id, starting)
        }
        if let refusal = faults.refuse {
            if refusal.code == "PROTOCOL_MISMATCH" { return refuseProtocol(connection, id, params) }
            return refuse(connection, id, refusal, mayRetryWithDeviceToken: params["device"] != nil)
        }
        let spoken = Int64(release.protocolVersion)
        guard let low = params["minProtocol"]?.int, let high = params["maxProtocol"]?.int, low <= spoken, spoken <= high
        else {
            return refuseProtocol(connection, id, params)
        }
        let role = params["role"]?.string ?? "operator"
        guard role == "operator" || role == "node" else { return reject(connection, id, "invalid role") }
        let client = params["client"]
        connection.client = GatewayConnection.Client(
            id: client?["id"]?.string ?? "",
            mode: client?["mode"]?.string ?? "",
            version: client?["version"]?.string ?? "",
            platform: client?["platform"]?.string ?? "",
            deviceFamily: client?["deviceFamily"]?.string,
            displayName: client?["displayName"]?.string,
            instanceID: client?["instanceId"]?.string
        )
        connection.role = role
        connection.caps = Set(params["caps"]?.elements.compactMap(\.string) ?? [])
        let isBrowser = connection.client.id == "openclaw-control-ui" || connection.client.mode == "webchat"
        if connection.peer.origin != nil || isBrowser, !isAllowedOrigin(connection.peer) {
            return refuse(connection, id, .originNotAllowed)
        }
        var handshake = Handshake(params: params, role: role, options: options)
        if let device = params["device"] {
            if let refusal = check(device, handshake, connection) { return refuse(connection, id, refusal) }
            handshake.deviceID = device["id"]?.string
        } else if isBrowser {
            return refuse(connection, id, .controlUIIdentityRequired)
        } else if handshake.presentsNothing {
            return refuse(connection, id, .identityRequired)
        }
        admit(connection, id, handshake)
    }

    private func refuseProtocol(_ connection: GatewayConnection, _ id: String, _ params: JSONValue) {
        let spoken = release.protocolVersion
        let details: WireValue =
            release == .march
            ? ["expectedProtocol": spoken]
            : [
                "code": "PROTOCOL_MISMATCH", "clientMinProtocol": params["minProtocol"]?.int,
                "clientMaxProtocol": params["maxProtocol"]?.int, "expectedProtocol": spoken,
                "minimumProbeProtocol": release == .autumn ? 3 : spoken,
            ]
        emit(
            response(id, error: GatewayError("INVALID_REQUEST", "protocol mismatch", details: details)),
            to: connection
        )
        close(connection, 1002, "protocol mismatch")
    }

    private func isAllowedOrigin(_ peer: GatewayPeer) -> Bool {
        guard let origin = peer.origin, peer.isLoopback else { return false }
        return ["http://127.0.0.1", "http://localhost", "http://[::1]"].contains { origin.hasPrefix($0) }
    }

    /// The order of the gateway's own checks: id, age, nonce, signature.
    private func check(_ device: JSONValue, _ handshake: Handshake, _ connection: GatewayConnection) -> Refusal? {
        guard let publicKey = device["publicKey"]?.string, let bytes = GatewayModel.publicKeyBytes(publicKey) else {
            return .publicKeyInvalid
        }
        guard device["id"]?.string == Hex.encode(primitives.sha256(bytes)) else { return .deviceIDMismatch }
        guard let signedAt = device["signedAt"]?.int, abs(wallMs &- signedAt) <= 120_000 else {
            return .signatureExpired
        }
        guard let nonce = device["nonce"]?.string, !nonce.isEmpty else { return .nonceRequired }
        guard nonce == connection.nonce else { return .nonceMismatch }
        guard let text = device["signature"]?.string, let signature = GatewayModel.base64Bytes(text),
            signature.count == 64
        else { return .signatureInvalid }
        for payload in handshake.signedPayloads(
            connection.client,
            deviceID: device["id"]?.string ?? "",
            signedAt,
            nonce
        )
        where primitives.verify(bytes, Array(payload.utf8), signature) {
            return nil
        }
        return .signatureInvalid
    }

    static func base64Bytes(_ text: String) -> [UInt8]? {
        Base64.decode(text, as: .url) ?? Base64.decode(text, as: .standard)
    }

    /// Raw bytes in either base 64 alphabet, or a PEM block whose last 32 bytes are the key.
    static func publicKeyBytes(_ text: String) -> [UInt8]? {
        if text.hasPrefix("-----BEGIN") {
            let body = text.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
            guard let der = Base64.decode(body, as: .standard), der.count == 44 else { return nil }
            return Array(der.suffix(32))
        }
        guard let bytes = base64Bytes(text), bytes.count == 32 else { return nil }
        return bytes
    }
}

/// What a connect asks for and what it shows.
struct Handshake {
    let role: String
    let requestedScopes: [String]
    let token: String?
    let password: String?
    let deviceToken: String?
    let bootstrapToken: String?
    let hasValidSecret: Bool
    var publicKey: String
    var deviceID: String?

    init(params: JSONValue, role: String, options: DemoGatewayOptions) {
        self.role = role
        var seen: Set<String> = []
        requestedScopes = (params["scopes"]?.elements.compactMap(\.string) ?? []).filter { seen.insert($0).inserted }
        let auth = params["auth"]
        token = auth?["token"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        password = auth?["password"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        deviceToken = auth?["deviceToken"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        bootstrapToken = auth?["bootstrapToken"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        let isPasswordMode = options.password != nil
        hasValidSecret = isPasswordMode ? options.password == password : options.token == token
        publicKey = params["device"]?["publicKey"]?.string ?? ""
    }

    var presentsNothing: Bool { token == nil && password == nil && deviceToken == nil && bootstrapToken == nil }

    /// The newer payload binds platform and family too; the older one is still accepted.
    func signedPayloads(
        _ client: GatewayConnection.Client,
        deviceID: String,
        _ signedAt: Int64,
        _ nonce: String
    ) -> [String] {
        let fields = [
            deviceID, client.id, client.mode, role, requestedScopes.joined(separator: ","), String(signedAt),
            token ?? deviceToken ?? bootstrapToken ?? "", nonce,
        ]
        let bound = [Handshake.normalised(client.platform), Handshake.normalised(client.deviceFamily ?? "")]
        return [(["v3"] + fields + bound).joined(separator: "|"), (["v2"] + fields).joined(separator: "|")]
    }

    /// Trimmed, and only A to Z lowered.
    static func normalised(_ text: String) -> String {
        var bytes = Array(text.utf8)[...]
        while let first = bytes.first, first <= 0x20 { bytes.removeFirst() }
        while let last = bytes.last, last <= 0x20 { bytes.removeLast() }
        return String(decoding: bytes.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
