/// All sources of values, gathered by the caller and combined here.
package struct SettingsSources: Sendable {
    package struct Flag: Sendable {
        package let key: ConfigurationKey
        package let spelling: String
        package let text: String

        package init(key: ConfigurationKey, spelling: String, text: String) {
            self.key = key
            self.spelling = spelling
            self.text = text
        }
    }

    package struct Found: Sendable {
        package let key: ConfigurationKey
        package let text: String
        package let source: String

        package init(key: ConfigurationKey, text: String, source: String) {
            self.key = key
            self.text = text
            self.source = source
        }
    }

    package struct File: Sendable {
        package let path: String
        package let bytes: [UInt8]

        package init(path: String, bytes: [UInt8]) {
            self.path = path
            self.bytes = bytes
        }
    }

    package var flags: [Flag] = []
    package var environment: [String: String] = [:]
    package var file: File?
    package var discovered: [Found] = []

    package init() {}

    /// Names with the prefix that are not keys: the file itself, and the server's address for client commands.
    private static let otherEnvironment: Set<String> = [
        "LADLE_CONFIG", "LADLE_SOCKET", "LADLE_URL", "LADLE_CONTEXT", "LADLE_CLIENT_TOKEN_FILE",
        // Set for a program that a notification starts, and that may call Ladle.
        "LADLE_TYPE", "LADLE_TITLE", "LADLE_SESSION",
    ]
    private static let testPrefix = "LADLE_TEST_"
    /// Names under which somebody might pass a secret directly; the error names the key for its file.
    private static let secrets = [
        "gateway.token": "gateway.tokenFile", "gateway.password": "gateway.passwordFile",
        "LADLE_GATEWAY_TOKEN": "LADLE_GATEWAY_TOKEN_FILE", "LADLE_TOKEN": "LADLE_GATEWAY_TOKEN_FILE",
        "LADLE_GATEWAY_PASSWORD": "LADLE_GATEWAY_PASSWORD_FILE", "LADLE_PASSWORD": "LADLE_GATEWAY_PASSWORD_FILE",
        "--gateway-token": "--token-file", "--token": "--token-file", "--gateway-password": "--password-file",
        "--password": "--password-file",
    ]

    /// The hint for a name that would hold a secret directly; nil for other names.
    package static func secretHint(_ name: String) -> String? {
        secrets[name].map { "a secret does not belong there: put it into a file of mode 0600 and set \($0)" }
    }

    /// All values and all problems together, so that a person can correct them in one go.
    package func resolved() -> (settings: Settings, problems: [ConfigurationProblem]) {
        var settings = Settings()
        var problems: [ConfigurationProblem] = []
        for found in discovered {
            set(found.key, found.text, from: .discovered(found.source), &settings, &problems)
        }
        if let file { FileSettings(file).apply(to: &settings, problems: &problems) }
        for (name, text) in environment.sorted(by: { $0.key < $1.key }) where name.hasPrefix("LADLE_") {
            apply(environment: name, text, &settings, &problems)
        }
        applyFlags(&settings, &problems)
        return (settings, problems)
    }

    private func apply(
        environment name: String,
        _ text: String,
        _ settings: inout Settings,
        _ problems: inout [ConfigurationProblem]
    ) {
        if Self.otherEnvironment.contains(name) || name.hasPrefix(Self.testPrefix) { return }
        let origin = ConfigurationOrigin.environment(name)
        guard let key = ConfigurationTable.key(environment: name) else {
            let hint =
                Self.secretHint(name) ?? ConfigurationTable.nearest(environment: name).map { "did you mean \($0)?" }
            problems.append(ConfigurationProblem(origin: origin, message: "unknown name", hint: hint))
            return
        }
        // Shells and unit files unset a variable by making it empty.
        if !text.isEmpty { set(key, text, from: origin, &settings, &problems) }
    }

    /// A list flag may be repeated; for other flags the last one counts.
    private func applyFlags(_ settings: inout Settings, _ problems: inout [ConfigurationProblem]) {
        var lists: [ConfigurationKey: [String]] = [:]
        for flag in flags {
            set(flag.key, flag.text, from: .flag(flag.spelling), &settings, &problems)
            guard flag.key.kind.isList else { continue }
            lists[flag.key, default: []] += settings.list(flag.key)
            settings.set(flag.key, .list(lists[flag.key] ?? []), from: .flag(flag.spelling))
        }
    }

    private func set(
        _ key: ConfigurationKey,
        _ text: String,
        from origin: ConfigurationOrigin,
        _ settings: inout Settings,
        _ problems: inout [ConfigurationProblem]
    ) {
        do throws(ConfigurationReader.Refusal) {
            settings.set(key, try ConfigurationReader.value(text, of: key), from: origin)
        } catch {
            problems.append(ConfigurationProblem(origin: origin, message: error.message))
        }
    }
}
