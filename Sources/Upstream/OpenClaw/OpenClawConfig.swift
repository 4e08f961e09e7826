import Basics
package import JSONBytes
import TLS

/// The gateway's settings in the OpenClaw configuration of this host.
package struct OpenClawConfig: Sendable, Equatable {
    package enum Secret: Sendable, Equatable {
        case absent
        case literal(String)
        /// The secret is kept elsewhere (a secret store, or a variable that is not set here), so the user has to supply
        /// it.
        case elsewhere(String)

        package var value: String? {
            if case .literal(let text) = self { text } else { nil }
        }
    }

    package enum Place: Sendable, Equatable {
        /// A gateway on this host.
        case local(bind: String, customHost: String?, port: UInt16, isTLS: Bool)
        /// `gateway.mode: "remote"`: no gateway runs here.
        case remote(url: String)
    }

    package let stateDirectory: String
    /// Nil if only the environment mentions a gateway.
    package let configPath: String?
    package let place: Place
    package let authMode: String?
    package let token: Secret
    package let password: Secret
    /// The pin of the local certificate, or of the remote profile.
    package let pin: String?

    /// The URLs to try, in order. On the gateway's own host loopback comes first, because only loopback grants scopes
    /// without a separate approval. `tailnetAddress` is the address of this host, if it has one.
    package func urls(tailnetAddress: String? = nil) -> [String] {
        switch place {
        case .remote(let url): return [url]
        case .local(let bind, let customHost, let port, let isTLS):
            let scheme = isTLS ? "wss" : "ws"
            var hosts = ["127.0.0.1"]
            if bind == "tailnet" || bind == "auto", let tailnetAddress { hosts.append(tailnetAddress) }
            if bind == "custom", let customHost, customHost != "0.0.0.0" { hosts.append(customHost) }
            return hosts.map { host in "\(scheme)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }
        }
    }

    /// Reads the configuration; nil if nothing on this host mentions a gateway.
    ///
    /// - Parameters:
    ///   - environment: of the process; `HOME` must be in it.
    ///   - readFile: the bytes of a file, nil when there is none.
    ///   - exists: whether a file or directory exists.
    ///   - parseJSON5: OpenClaw's files are JSON5; the result is the same value as JSON.
    package static func discover(
        environment: [String: String],
        readFile: @escaping (String) -> [UInt8]?,
        exists: (String) -> Bool,
        parseJSON5: @escaping ([UInt8]) throws -> JSONDocument
    ) throws(OpenClawConfigReader.Problem) -> OpenClawConfig? {
        let paths = OpenClawPaths(environment: environment, exists: exists)
        var surroundings = OpenClawEnvironment(process: environment)
        if let bytes = readFile(paths.state + "/.env") { surroundings.file = OpenClawEnvironment.parse(bytes) }
        var reader = OpenClawConfigReader(readFile: readFile, parseJSON5: parseJSON5)
        let tree = try reader.read(paths.config)
        let told = ["OPENCLAW_GATEWAY_TOKEN", "OPENCLAW_GATEWAY_PASSWORD", "OPENCLAW_GATEWAY_PORT"]
        guard tree != nil || told.contains(where: { surroundings[$0] != nil }) else { return nil }
        let found = tree ?? .object([:])
        if found["gateway", "mode"]?.string == "remote", let url = text(found["gateway", "remote", "url"], surroundings)
        {
            return remote(found, url, paths, surroundings)
        }
        return local(found, paths, surroundings, hasFile: tree != nil, readFile)
    }

    private static func remote(
        _ tree: OpenClawConfigTree,
        _ url: String,
        _ paths: OpenClawPaths,
        _ environment: OpenClawEnvironment
    ) -> OpenClawConfig {
        OpenClawConfig(
            stateDirectory: paths.state,
            configPath: paths.config,
            place: .remote(url: url),
            authMode: nil,
            token: secret(tree["gateway", "remote", "token"], "OPENCLAW_GATEWAY_TOKEN", environment),
            password: secret(tree["gateway", "remote", "password"], "OPENCLAW_GATEWAY_PASSWORD", environment),
            pin: text(tree["gateway", "remote", "tlsFingerprint"], environment)
        )
    }

    private static func local(
        _ tree: OpenClawConfigTree,
        _ paths: OpenClawPaths,
        _ environment: OpenClawEnvironment,
        hasFile: Bool,
        _ readFile: (String) -> [UInt8]?
    ) -> OpenClawConfig {
        let gateway = tree["gateway"] ?? .object([:])
        let port =
            environment["OPENCLAW_GATEWAY_PORT"].flatMap { UInt16($0) }
            ?? gateway["port"]?.int.flatMap { UInt16(exactly: $0) }
        let isTLS = gateway["tls", "enabled"]?.bool ?? false
        let certificate =
            text(gateway["tls", "certPath"], environment).map { paths.expanded($0) } ?? paths.state
            + "/gateway/tls/gateway-cert.pem"
        let pin =
            isTLS ? readFile(certificate).flatMap { try? CertificateInfo(pem: $0) }.map { Hex.encode($0.sha256) } : nil
        return OpenClawConfig(
            stateDirectory: paths.state,
            configPath: hasFile ? paths.config : nil,
            place: .local(
                bind: gateway["bind"]?.string ?? "loopback",
                customHost: text(gateway["customBindHost"], environment),
                port: port.flatMap { $0 == 0 ? nil : $0 } ?? GatewayURL.gatewayPort,
                isTLS: isTLS
            ),
            authMode: gateway["auth", "mode"]?.string,
            token: secret(gateway["auth", "token"], "OPENCLAW_GATEWAY_TOKEN", environment),
            password: secret(gateway["auth", "password"], "OPENCLAW_GATEWAY_PASSWORD", environment),
            pin: pin
        )
    }

    private static func text(_ value: OpenClawConfigTree?, _ environment: OpenClawEnvironment) -> String? {
        value?.string.flatMap { environment.substituted($0) }
    }

    /// The variable, or else the value in the file: a text, a text with `${NAME}`, or a reference into a secret store.
    private static func secret(
        _ value: OpenClawConfigTree?,
        _ variable: String,
        _ environment: OpenClawEnvironment
    ) -> Secret {
        if let set = environment[variable] { return .literal(set) }
        switch value {
        case .string(let raw):
            guard let text = environment.substituted(raw) else { return .elsewhere(raw) }
            return text.isEmpty ? .absent : .literal(text)
        case .object:
            let source = value?["source"]?.string ?? "unknown"
            let id = value?["id"]?.string ?? ""
            if source == "env", let set = environment[id] { return .literal(set) }
            return .elsewhere("\(source):\(id)")
        default: return .absent
        }
    }
}
