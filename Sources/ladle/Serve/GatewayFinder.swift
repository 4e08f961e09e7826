import Basics
import Configuration
import DemoGateway
import JSONBytes
import TLS
import Upstream

/// Which gateway to link to: the demo's, the configured one, or the one this host's OpenClaw configuration tells of.
struct GatewayFinder: Sendable {
    let settings: Settings
    let places: SettingsPlaces

    func target(demo: DemoGatewayHandle?) throws -> LinkTarget {
        if let demo {
            return configured(url: "ws://127.0.0.1:\(demo.port)", token: demo.token, password: nil)
        }
        if let url = settings.text(.gatewayURL) {
            return configured(
                url: url,
                token: try secret(.gatewayTokenFile),
                password: try secret(.gatewayPasswordFile)
            )
        }
        return try discovered() ?? .notFound
    }

    private func discovered() throws -> LinkTarget? {
        let found = try OpenClawConfig.discover(
            environment: Program.environment,
            readFile: { try? TextFile.read($0) },
            exists: { SystemPath.exists($0) },
            parseJSON5: { try JSON5Text(parsing: $0).document }
        )
        guard let found, let url = found.urls().first else { return nil }
        return configured(
            url: url,
            token: try secret(.gatewayTokenFile) ?? found.token.value,
            password: try secret(.gatewayPasswordFile) ?? found.password.value,
            pin: found.pin
        )
    }

    private func configured(url text: String, token: String?, password: String?, pin: String? = nil) -> LinkTarget {
        do throws(GatewayURL.Problem) {
            let url = try GatewayURL(
                text,
                pin: settings.text(.gatewayPin) ?? pin,
                allowPlaintext: settings.bool(.gatewayAllowPlaintext)
            )
            let scopes = settings.list(.gatewayScopes)
            return .gateway(
                LinkConfiguration(
                    url: url,
                    token: token,
                    password: password,
                    scopes: scopes.isEmpty ? nil : scopes.map { $0.hasPrefix("operator.") ? $0 : "operator.\($0)" },
                    clientVersion: Version.text,
                    displayName: settings.text(.gatewayClientName) ?? "Ladle"
                )
            )
        } catch {
            return LinkTarget(error, url: text)
        }
    }

    private func secret(_ key: ConfigurationKey) throws -> String? {
        guard let path = settings.text(key) else { return nil }
        guard let bytes = try? TextFile.read(path) else {
            throw StartFailure(message: "\(key.name): cannot read \(path)", status: .configuration)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.split(whereSeparator: \.isNewline).first.map(String.init)
    }
}
