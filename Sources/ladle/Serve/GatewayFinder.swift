import Access
import Basics
import Commands
import Configuration
import DemoGateway
import Gateway
import JSONBytes
import POSIX
import TLS
import Upstream

/// Finds the gateway to connect to: the demo's, the configured one, or the one in this host's OpenClaw configuration.
struct GatewayFinder: Sendable {
    let settings: Settings
    let places: SettingsPlaces

    func target(demo: DemoGatewayHandle?) throws -> LinkTarget {
        if let demo {
            return configured(url: "ws://127.0.0.1:\(demo.port)", token: demo.token, password: nil)
        }
        // The gateway is its leader's.
        if settings.text(.followURL) != nil { return .notFound }
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
        var files: [OpenClawFile] = []
        let found = try OpenClawConfig.discover(
            environment: Program.environment,
            readFile: { path in
                guard let file = try? TextFile.contents(path) else { return nil }
                files.append(
                    OpenClawFile(path: path, bytes: file.bytes, mode: file.mode, isExposed: file.isExposed)
                )
                return file.bytes
            },
            exists: { FileSystem.exists($0) },
            parseJSON5: { try JSON5Text(parsing: $0).document }
        )
        guard let found, let url = found.urls().first else { return nil }
        let own = (token: try secret(.gatewayTokenFile), password: try secret(.gatewayPasswordFile))
        let taken = [own.token == nil ? found.token.value : nil, own.password == nil ? found.password.value : nil]
        let secrets = taken.compactMap { $0 }
        if let file = OpenClawFile.showing(secrets, among: files, environment: Program.environment) {
            return .exposed(file, url: url)
        }
        return configured(
            url: url,
            token: own.token ?? found.token.value,
            password: own.password ?? found.password.value,
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
        do throws(SecretFile.Fault) {
            return try SecretFile.read(path).reveal().split(whereSeparator: \.isNewline).first.map(String.init)
        } catch {
            let hint = error.hint.map { " (\($0))" } ?? ""
            throw StartFailure(message: "\(key.name): \(error.description)\(hint)", status: .configuration)
        }
    }
}
