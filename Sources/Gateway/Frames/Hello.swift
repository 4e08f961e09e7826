package import JSONBytes

/// The gateway's answer to an accepted `connect`. Every member may be absent or of another kind; figures are clamped to
/// sensible bounds.
package struct Hello: Sendable {
    package struct Policy: Sendable, Equatable {
        /// The largest frame that the gateway accepts.
        package var maxPayload: Int
        package var tickIntervalMs: Int64
        /// Newer gateways: decoded bytes of one attachment, and of one image.
        package var attachmentBytes: Int?
        package var imageBytes: Int?

        /// The gateway's own defaults.
        package static let standard = Policy(
            maxPayload: 26_214_400,
            tickIntervalMs: 30_000
        )
        static let payloads = 65_536...67_108_864
        /// A shorter interval would make the watchdog a busy loop, a longer one would leave a dead link unnoticed.
        static let ticks: ClosedRange<Int64> = 100...600_000
        /// At most a hundred years, so that sums cannot overflow.
        static let uptimes: ClosedRange<Int64> = 0...3_155_760_000_000
    }

    package let protocolVersion: Int
    package let serverVersion: String?
    /// The id of the gateway's process; the newest gateways name it.
    package let bootID: String?
    package let policy: Policy
    /// The scopes of this connection: the requested ones that the gateway's grant covers.
    package let scopes: [String]
    package let deviceToken: DeviceToken?
    package let uptimeMs: Int64?
    /// The newest gateways: how far their host is with a suspension.
    package let suspension: String?
    package let defaultAgentId: String?
    package let mainKey: String?
    package let mainSessionKey: String?
    /// A hint only: callable methods may be missing from it.
    package let methods: Set<String>
    /// The promises of the newest gateways beside their methods; nil from an earlier one.
    package let capabilities: Set<String>?

    /// Nil if the payload is not a hello.
    package init?(_ payload: JSONValue?, requested: [String]) {
        guard let payload, payload["type"]?.string == "hello-ok", let version = payload["protocol"]?.int else {
            return nil
        }
        protocolVersion = Int(version)
        serverVersion = payload["server"]?["version"]?.string
        bootID = payload["server"]?["bootId"]?.wholeIdentifier
        methods = Set(payload["features"]?["methods"]?.elements.compactMap(\.string) ?? [])
        capabilities = payload["features"]?["capabilities"].map { Set($0.elements.compactMap(\.string)) }
        let snapshot = payload["snapshot"]
        uptimeMs = snapshot?["uptimeMs"]?.int.flatMap { Policy.uptimes.contains($0) ? $0 : nil }
        suspension = snapshot?["suspension"]?["phase"]?.string
        let defaults = snapshot?["sessionDefaults"]
        defaultAgentId = defaults?["defaultAgentId"]?.string
        mainKey = defaults?["mainKey"]?.string
        mainSessionKey = defaults?["mainSessionKey"]?.string
        let auth = payload["auth"]
        let granted = auth?["scopes"].map { $0.elements.compactMap(\.string) }
        // Older gateways send `auth` only with a new token; without it, the requested scopes are in effect.
        // A grant that is narrower than what was requested still lets the person's own sessions be read or written.
        scopes =
            granted.map { grant in
                let covered = requested.filter { Scopes.covers(grant, $0) }
                return covered + Scopes.ofSessions.filter { Scopes.covers(grant, $0) && !Scopes.covers(covered, $0) }
            } ?? requested
        deviceToken = auth?["deviceToken"]?.string.flatMap { token in
            token.isEmpty ? nil : DeviceToken(token: token, scopes: granted ?? [], issuedAtMs: auth?["issuedAtMs"]?.int)
        }
        policy = Self.policy(payload["policy"])
    }

    private static func policy(_ value: JSONValue?) -> Policy {
        var policy = Policy.standard
        if let bytes = value?["maxPayload"]?.int { policy.maxPayload = Policy.payloads.clamping(bytes) }
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
