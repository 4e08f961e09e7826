import Configuration
import POSIX

/// Secrets from the service manager (systemd's `LoadCredential=`): files in `$CREDENTIALS_DIRECTORY`. Each is the
/// default of a key.
enum ServiceCredentials {
    private static let keys: [(name: String, key: ConfigurationKey)] = [
        ("ladle.gateway-token", .gatewayTokenFile),
        ("ladle.gateway-password", .gatewayPasswordFile),
        ("ladle.mqtt-password", .mqttPasswordFile),
        ("ladle.tls-cert", .tlsCert),
        ("ladle.tls-key", .tlsKey),
    ]

    static func found(_ environment: [String: String]) -> [SettingsSources.Found] {
        guard let directory = environment["CREDENTIALS_DIRECTORY"], directory.hasPrefix("/") else { return [] }
        return keys.compactMap { name, key in
            let path = directory + "/" + name
            return FileSystem.exists(path)
                ? SettingsSources.Found(key: key, text: path, source: "the service manager's credentials") : nil
        }
    }
}
