import Gateway

/// The secrets and the key with which the link introduces itself, and the rules about the token that a gateway issued
/// to this device: it is sent if there is no other secret, or once beside one that the gateway refused.
struct DeviceCredentials {
    private let signer: any DeviceSigner
    private(set) var tokens: DeviceTokenStore
    /// The next attempt carries the device token beside the shared secret.
    private var sendsBoth = false
    private var hasTriedBoth = false
    private var hasSentToken = false

    init(signer: any DeviceSigner, tokens: DeviceTokenStore) {
        self.signer = signer
        self.tokens = tokens
    }

    var deviceId: String { signer.deviceId }

    /// All secrets that a frame may hold.
    func secrets(with configuration: LinkConfiguration?) -> [String] {
        [configuration?.token, configuration?.password].compactMap(\.self) + tokens.secrets
    }

    /// Parameters of `connect`; nil if the key cannot sign.
    mutating func answer(_ challenge: Challenge, for configuration: LinkConfiguration) -> [UInt8]? {
        var secrets = ConnectRequest.Credentials(token: configuration.token, password: configuration.password)
        if secrets.isEmpty || sendsBoth { secrets.deviceToken = tokens[key(for: configuration)]?.token }
        hasSentToken = secrets.deviceToken != nil
        sendsBoth = false
        let request = ConnectRequest(
            clientVersion: configuration.clientVersion,
            displayName: configuration.displayName,
            scopes: configuration.scopes,
            credentials: secrets
        )
        return request.params(challenge: challenge, signer: signer)
    }

    /// The last attempt, for the choice of the reaction to a refusal.
    func context(for configuration: LinkConfiguration) -> Rejection.Context {
        Rejection.Context(
            hasSharedSecret: configuration.token != nil || configuration.password != nil,
            sentDeviceToken: hasSentToken,
            hasStoredDeviceToken: tokens[key(for: configuration)] != nil,
            triedDeviceToken: hasTriedBoth,
            isTrustedPath: configuration.url.hostClass == .loopback || configuration.url.pin != nil
        )
    }

    /// Chooses the secrets of the next attempt. True if a stored token was deleted.
    mutating func prepare(for next: Rejection.Next, with configuration: LinkConfiguration) -> Bool {
        switch next {
        case .retryWithDeviceToken:
            sendsBoth = true
            hasTriedBoth = true
            return false
        case .dropDeviceToken: return forget(for: configuration)
        case .retry, .retryAfter, .waitForApproval, .stop: return false
        }
    }

    /// The gateway accepted the link, or the configuration has changed.
    mutating func reset() {
        sendsBoth = false
        hasTriedBoth = false
    }

    /// Stores a token that the gateway issued; false if it was stored before.
    mutating func keep(_ token: DeviceToken, from configuration: LinkConfiguration) -> Bool {
        let key = key(for: configuration)
        guard tokens[key] != token else { return false }
        tokens[key] = token
        return true
    }

    private mutating func forget(for configuration: LinkConfiguration) -> Bool {
        let key = key(for: configuration)
        guard tokens[key] != nil else { return false }
        tokens[key] = nil
        return true
    }

    private func key(for configuration: LinkConfiguration) -> DeviceTokenStore.Key {
        DeviceTokenStore.Key(
            gateway: configuration.url.description,
            deviceId: signer.deviceId,
            role: ConnectRequest.role
        )
    }
}
