import Basics
import Gateway
import JSONBytes

/// Parameters of `connect`, limited to the members and enum values that the oldest supported schema knows.
package struct ConnectRequest: Sendable {
    /// A constant, because the gateway pins the platform at pairing: a changed value needs a new approval.
    package static let platform: String = {
        #if os(macOS)
        "macos"
        #else
        "linux"
        #endif
    }()
    package static let deviceFamily = "server"
    package static let clientId = "gateway-client"
    package static let clientMode = "backend"
    package static let role = "operator"

    package var clientVersion: String
    package var displayName: String
    package var scopes: [String]
    package var credentials: Credentials

    /// The secrets that one attempt carries.
    package struct Credentials: Sendable, Equatable {
        package var token: String?
        package var password: String?
        package var deviceToken: String?

        package init(token: String? = nil, password: String? = nil, deviceToken: String? = nil) {
            self.token = token
            self.password = password
            self.deviceToken = deviceToken
        }

        /// The token in the signed text: the first one present, never the password.
        package var signed: String? { token ?? deviceToken }
        package var isEmpty: Bool { token == nil && password == nil && deviceToken == nil }
    }

    package init(clientVersion: String, displayName: String, scopes: [String], credentials: Credentials) {
        self.clientVersion = clientVersion
        self.displayName = displayName
        self.scopes = scopes
        self.credentials = credentials
    }

    /// The newest gateways send approvals only to clients that declare `approvals`. To those with `usage-refreshing` they say that they
    /// still ask the providers; others wait until all have answered.
    private var capabilities: [String] {
        ["tool-events", "usage-refreshing"] + (Scopes.covers(scopes, Scopes.approvals) ? ["approvals"] : [])
    }

    /// Nil if the key cannot sign.
    package func params(challenge: Challenge, signer: any DeviceSigner) -> [UInt8]? {
        let payload = DevicePayload(
            deviceId: signer.deviceId,
            clientId: Self.clientId,
            clientMode: Self.clientMode,
            role: Self.role,
            scopes: scopes,
            signedAtMs: challenge.timestampMs,
            token: credentials.signed,
            nonce: challenge.nonce,
            platform: Self.platform,
            deviceFamily: Self.deviceFamily
        )
        guard let signature = signer.sign(Array(payload.text.utf8)) else { return nil }
        var writer = JSONWriter(capacity: 1_024)
        writer.object { writer in
            writer.member("minProtocol", 3)
            writer.member("maxProtocol", 4)
            writer.object("client") { writer in
                writer.member("id", Self.clientId)
                writer.member("displayName", displayName)
                writer.member("version", clientVersion)
                writer.member("platform", Self.platform)
                writer.member("deviceFamily", Self.deviceFamily)
                writer.member("mode", Self.clientMode)
            }
            writer.member("role", Self.role)
            writer.array("scopes", of: scopes)
            writer.array("caps", of: capabilities)
            if !credentials.isEmpty {
                writer.object("auth") { writer in
                    writer.member("token", credentials.token)
                    writer.member("password", credentials.password)
                    writer.member("deviceToken", credentials.deviceToken)
                }
            }
            writer.member("userAgent", "ladle/\(clientVersion)")
            writer.object("device") { writer in
                writer.member("id", signer.deviceId)
                writer.member("publicKey", Base64.encode(signer.publicKey, as: .url))
                writer.member("signature", Base64.encode(signature, as: .url))
                writer.member("signedAt", challenge.timestampMs)
                writer.member("nonce", challenge.nonce)
            }
        }
        return writer.bytes
    }
}

/// The gateway's first frame. The signature uses its time, so that the two clocks need not agree.
package struct Challenge: Sendable, Equatable {
    package let nonce: String
    let timestampMs: Int64

    package init?(nonce: String?, timestampMs: Int64) {
        // The nonce becomes part of the signed text, where `|` separates the fields; its size is bounded.
        guard let nonce, !nonce.isEmpty, nonce.utf8.count <= 512, !nonce.contains("|") else { return nil }
        self.nonce = nonce
        self.timestampMs = timestampMs
    }
}
