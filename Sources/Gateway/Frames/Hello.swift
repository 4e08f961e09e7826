package import JSONBytes

/// What the gateway said when it accepted us. Every member may be absent or of another kind; figures are clamped to
/// what we are willing to live with.
package struct Hello: Sendable {
    package struct Policy: Sendable, Equatable {
        /// Largest frame the gateway takes from us.
        package var maxPayload: Int
        package var maxBufferedBytes: Int
        package var tickIntervalMs: Int64
        /// Newer gateways: decoded bytes of one attachment, and of one image.
        package var attachmentBytes: Int?
        package var imageBytes: Int?

        /// The gateway's own defaults.
        package static let standard = Policy(
            maxPayload: 26_214_400,
            maxBufferedBytes: 52_428_800,
            tickIntervalMs: 30_000
        )
        static let payloads = 65_536...67_108_864
        /// Shorter would make the watchdog a busy loop, longer would leave a dead link unnoticed.
        static let ticks: ClosedRange<Int64> = 100...600_000
        /// A hundred years: what is longer is no uptime, and is reckoned with.
        static let uptimes: ClosedRange<Int64> = 0...3_155_760_000_000
    }

    package let protocolVersion: Int
    package let serverVersion: String?
    package let connectionId: String?
    package let bootId: String?
    package let policy: Policy
    /// What this connection may do: the scopes we asked for, as far as the gateway's grant covers them.
    package let scopes: [String]
    /// What the gateway lists as approved; more than `scopes` when the device was approved for more than it asks now.
    package let approvedScopes: [String]?
    package let deviceToken: DeviceToken?
    package let role: String?
    package let uptimeMs: Int64?
    package let defaultAgentId: String?
    package let mainKey: String?
    package let mainSessionKey: String?
    /// A hint only: callable methods may be missing from it.
    package let methods: Set<String>
    package let snapshot: JSONValue?
    package let whole: JSONValue

    /// Nil when this is no hello at all.
    package init?(_ payload: JSONValue?, requested: [String]) {
        guard let payload, payload["type"]?.string == "hello-ok", let version = payload["protocol"]?.int else {
            return nil
        }
        whole = payload
        protocolVersion = Int(version)
        serverVersion = payload["server"]?["version"]?.string
        connectionId = payload["server"]?["connId"]?.string
        bootId = payload["server"]?["bootId"]?.string
        methods = Set(payload["features"]?["methods"]?.elements.compactMap(\.string) ?? [])
        snapshot = payload["snapshot"]
        uptimeMs = snapshot?["uptimeMs"]?.int.flatMap { Policy.uptimes.contains($0) ? $0 : nil }
        let defaults = snapshot?["sessionDefaults"]
        defaultAgentId = defaults?["defaultAgentId"]?.string
        mainKey = defaults?["mainKey"]?.string
        mainSessionKey = defaults?["mainSessionKey"]?.string
        let auth = payload["auth"]
        role = auth?["role"]?.string
        let granted = auth?["scopes"].map { $0.elements.compactMap(\.string) }
        approvedScopes = granted
        // Older gateways send no `auth` unless they issue a token; then nothing was taken away.
        scopes = granted.map { grant in requested.filter { Scopes.covers(grant, $0) } } ?? requested
        deviceToken = auth?["deviceToken"]?.string.flatMap { token in
            token.isEmpty ? nil : DeviceToken(token: token, scopes: granted ?? [], issuedAtMs: auth?["issuedAtMs"]?.int)
        }
        policy = Self.policy(payload["policy"])
    }

    private static func policy(_ value: JSONValue?) -> Policy {
        var policy = Policy.standard
        if let bytes = value?["maxPayload"]?.int { policy.maxPayload = Policy.payloads.clamping(bytes) }
        if let bytes = value?["maxBufferedBytes"]?.int {
            policy.maxBufferedBytes = (Policy.payloads.lowerBound...1 << 30).clamping(bytes)
        }
        if let interval = value?["tickIntervalMs"]?.int {
            policy.tickIntervalMs = min(max(interval, Policy.ticks.lowerBound), Policy.ticks.upperBound)
        }
        policy.attachmentBytes = value?["attachments"]?["maxBytes"]?.int.map {
            (0...Policy.payloads.upperBound).clamping($0)
        }
        policy.imageBytes = value?["attachments"]?["maxImageBytes"]?.int.map {
            (0...Policy.payloads.upperBound).clamping($0)
        }
        return policy
    }
}

extension ClosedRange<Int> {
    fileprivate func clamping(_ value: Int64) -> Int {
        Int(Swift.min(Swift.max(value, Int64(lowerBound)), Int64(upperBound)))
    }
}
