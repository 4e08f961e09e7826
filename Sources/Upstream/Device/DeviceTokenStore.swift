package import Gateway
package import JSONBytes

/// The device tokens of one state directory, as a value. `PrivateFile` stores the bytes.
package struct DeviceTokenStore: Sendable, Equatable {
    package struct Key: Hashable, Sendable, Comparable {
        /// The gateway's URL, normalised.
        package var gateway: String
        package var deviceId: String
        package var role: String

        package init(gateway: String, deviceId: String, role: String) {
            self.gateway = gateway
            self.deviceId = deviceId
            self.role = role
        }

        package static func < (a: Key, b: Key) -> Bool {
            (a.gateway, a.deviceId, a.role) < (b.gateway, b.deviceId, b.role)
        }
    }

    /// Far more gateways than a user has; keeps a file that another program wrote from growing without bound.
    private static let maxEntries = 256

    private var tokens: [Key: DeviceToken] = [:]

    package init() {}

    /// Skips unreadable entries. A file in another format is an error, so that the caller moves it aside instead of
    /// overwriting it.
    package init(parsing bytes: [UInt8]) throws(JSONError) {
        let root = try JSONDocument(parsing: bytes).root
        guard root["version"]?.int == 1 else { throw JSONError(offset: 0, reason: .unexpectedByte) }
        for entry in root["tokens"].map({ Array($0.elements.prefix(Self.maxEntries)) }) ?? [] {
            guard let gateway = entry["gateway"]?.string, let device = entry["deviceId"]?.string,
                let role = entry["role"]?.string, let token = entry["token"]?.string, !token.isEmpty
            else { continue }
            tokens[Key(gateway: gateway, deviceId: device, role: role)] = DeviceToken(
                token: token,
                scopes: entry["scopes"]?.elements.compactMap(\.string) ?? [],
                issuedAtMs: entry["issuedAtMs"]?.int
            )
        }
    }

    package subscript(key: Key) -> DeviceToken? {
        get { tokens[key] }
        set { tokens[key] = newValue }
    }

    var secrets: [String] { tokens.values.map(\.token) }

    package var bytes: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("version", 1)
            writer.array("tokens") { writer in
                for (key, token) in tokens.sorted(by: { $0.key < $1.key }) {
                    writer.object { writer in
                        writer.member("gateway", key.gateway)
                        writer.member("deviceId", key.deviceId)
                        writer.member("role", key.role)
                        writer.member("token", token.token)
                        writer.array("scopes", of: token.scopes)
                        writer.member("issuedAtMs", token.issuedAtMs)
                    }
                }
            }
        }
        return writer.bytes + [UInt8(ascii: "\n")]
    }
}
