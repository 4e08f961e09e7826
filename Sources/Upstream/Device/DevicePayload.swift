/// The text that a device signs when it connects: fields joined with `|`, without escapes.
package struct DevicePayload: Sendable {
    package enum Version: String, Sendable {
        case v2
        /// Adds platform and device family. Every supported release verifies this version.
        case v3
    }

    package var version = Version.v3
    package var deviceId: String
    package var clientId: String
    package var clientMode: String
    package var role: String
    /// The scopes in the order in which the request lists them.
    package var scopes: [String]
    package var signedAtMs: Int64
    /// The token of the request: `auth.token`, else `auth.deviceToken`, else `auth.bootstrapToken`. Never a password.
    package var token: String?
    package var nonce: String
    package var platform: String?
    package var deviceFamily: String?

    package init(
        version: Version = .v3,
        deviceId: String,
        clientId: String,
        clientMode: String,
        role: String,
        scopes: [String],
        signedAtMs: Int64,
        token: String?,
        nonce: String,
        platform: String?,
        deviceFamily: String?
    ) {
        self.version = version
        self.deviceId = deviceId
        self.clientId = clientId
        self.clientMode = clientMode
        self.role = role
        self.scopes = scopes
        self.signedAtMs = signedAtMs
        self.token = token
        self.nonce = nonce
        self.platform = platform
        self.deviceFamily = deviceFamily
    }

    package var text: String {
        var fields = [
            version.rawValue, deviceId, clientId, clientMode, role, scopes.joined(separator: ","), String(signedAtMs),
            token ?? "", nonce,
        ]
        if version == .v3 { fields += [Self.pinned(platform), Self.pinned(deviceFamily)] }
        return fields.joined(separator: "|")
    }

    /// Normalises a value as the gateway does before it compares: trimmed, with only A to Z in lower case.
    private static func pinned(_ value: String?) -> String {
        guard let value else { return "" }
        var scalars = Array(value.unicodeScalars)
        while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
        let text = scalars.drop { $0.properties.isWhitespace }.map { scalar in
            ("A"..."Z").contains(scalar) ? Unicode.Scalar(UInt8(scalar.value + 32)) : scalar
        }
        return String(String.UnicodeScalarView(text))
    }
}
