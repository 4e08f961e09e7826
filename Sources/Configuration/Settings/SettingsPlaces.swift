/// The default places of files: the XDG directories, or the usual ones on macOS.
package struct SettingsPlaces: Sendable {
    package enum Platform: Sendable {
        case linux
        case macOS

        package static var current: Platform {
            #if os(macOS)
            .macOS
            #else
            .linux
            #endif
        }
    }

    private let environment: [String: String]
    private let platform: Platform

    package init(environment: [String: String], platform: Platform = .current) {
        self.environment = environment
        self.platform = platform
    }

    /// `config.json5`; nil without a home directory.
    package var configFile: String? {
        if let named = environment["LADLE_CONFIG"], !named.isEmpty { return expanded(named) }
        return configDirectory.map { $0 + "/config.json5" }
    }

    /// The directory of the files that a person keeps for Ladle; nil without a home directory.
    package var configDirectory: String? {
        if let base = absolute("XDG_CONFIG_HOME") { return base + "/ladle" }
        switch platform {
        case .linux: return home.map { $0 + "/.config/ladle" }
        case .macOS: return home.map { $0 + "/Library/Application Support/Ladle" }
        }
    }

    /// The configured state directory, or the default one.
    package func stateDirectory(_ settings: Settings) -> String? {
        if let path = settings.text(.state) { return expanded(path) }
        if let base = absolute("XDG_STATE_HOME") { return base + "/ladle" }
        return home.map { $0 + "/.local/state/ladle" }
    }

    /// Expands `~/` at the start of a path.
    package func expanded(_ path: String) -> String {
        guard path.hasPrefix("~/"), let home else { return path }
        return home + path.dropFirst(1)
    }

    private var home: String? { absolute("HOME") }

    /// The specification of XDG directories says to ignore relative values.
    private func absolute(_ name: String) -> String? {
        guard var path = environment[name], path.hasPrefix("/") else { return nil }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
