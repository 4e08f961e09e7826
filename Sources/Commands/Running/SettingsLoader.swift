package import Configuration

/// Loads the settings from flags, environment, file and discovery, for `serve` and the `config` commands.
package struct SettingsLoader {
    private let command: ParsedCommand
    private let io: any CommandIO
    private let services: CommandServices

    package init(command: ParsedCommand, io: any CommandIO, services: CommandServices) {
        self.command = command
        self.io = io
        self.services = services
    }

    /// A file named by flag or environment must exist; the default one may be missing.
    package func load() -> (settings: Settings, problems: [ConfigurationProblem], file: String?) {
        var sources = SettingsSources()
        sources.flags = command.settings
        sources.environment = io.environment
        sources.discovered = services.discover()
        let places = SettingsPlaces(environment: io.environment)
        let named = command["--config"] ?? io.environment["LADLE_CONFIG"].flatMap { $0.isEmpty ? nil : $0 }
        var problems: [ConfigurationProblem] = []
        if let path = named.map(places.expanded) ?? places.configFile {
            do throws(FileFault) {
                sources.file = SettingsSources.File(
                    path: path,
                    bytes: try io.readFile(path, limit: JSON5Text.maximumBytes)
                )
            } catch {
                if named != nil || !error.message.hasSuffix("does not exist") {
                    let origin: ConfigurationOrigin =
                        command.has("--config")
                        ? .flag("--config") : named == nil ? .fallback : .environment("LADLE_CONFIG")
                    problems.append(
                        ConfigurationProblem(origin: origin, message: error.message, hint: "ls -l \(path)")
                    )
                }
            }
        }
        let (settings, found) = sources.resolved()
        problems += found
        for (key, path) in settings.secretFiles {
            guard let fault = services.secretFault(places.expanded(path)), let origin = settings[key]?.origin else {
                continue
            }
            problems.append(
                ConfigurationProblem(origin: origin, message: "\(key.name): \(fault.message)", hint: fault.hint)
            )
        }
        return (settings, problems, sources.file?.path)
    }
}
