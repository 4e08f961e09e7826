package import Configuration
import HTTPModel
import JSONBytes

/// What the executable supplies, because the targets behind it are not this one's to import.
package struct CommandServices {
    package var version: String
    /// Values found in the OpenClaw configuration of this host.
    package var discover: () -> [SettingsSources.Found]
    /// What is wrong with a secret file, or nil.
    package var secretFault: (_ path: String) -> (message: String, hint: String?)?
    /// Says what `note` says then, before the first Ctrl-C ends the process.
    package var noteOnInterrupt: (_ note: @escaping @Sendable () -> String) -> Void = { _ in }

    package init(
        version: String,
        discover: @escaping () -> [SettingsSources.Found] = { [] },
        secretFault: @escaping (String) -> (message: String, hint: String?)? = { _ in nil }
    ) {
        self.version = version
        self.discover = discover
        self.secretFault = secretFault
    }
}

/// One command being run.
struct Invocation {
    let command: ParsedCommand
    let io: any CommandIO
    let services: CommandServices

    var json: Bool { command.has("--json") }
    var style: Style { io.style }

    func print(_ text: String) { io.write(text.hasSuffix("\n") || text.isEmpty ? text : text + "\n") }

    // MARK: The daemon

    func client() throws(CommandFailure) -> HTTPClient {
        HTTPClient(path: try socketPath(), io: io, version: services.version)
    }

    func perform(_ request: ClientRequest) throws(CommandFailure) -> ClientResponse {
        let client = try client()
        let response: ClientResponse
        do throws(ClientError) {
            response = try client.perform(request)
        } catch {
            throw CommandFailure(error)
        }
        guard response.head.status.isSuccess else { throw CommandFailure(response) }
        return response
    }

    /// The JSON of an answer; with `--json` it is printed as it came, and nil returned.
    func value(_ request: ClientRequest) throws(CommandFailure) -> JSONValue? {
        let response = try perform(request)
        if json {
            io.write(
                response.body.isEmpty ? Array("{}\n".utf8) : response.body + (response.body.last == 0x0A ? [] : [0x0A])
            )
            return nil
        }
        do throws(ClientError) {
            return try response.json()
        } catch {
            throw CommandFailure(error)
        }
    }

    /// `--socket` or `--state`, `LADLE_SOCKET`, else the socket in the state directory that is configured.
    private func socketPath() throws(CommandFailure) -> String {
        let places = SettingsPlaces(environment: io.environment)
        if let path = command["--socket"] { return places.expanded(path) }
        if let folder = command["--state"] { return places.expanded(folder) + "/ladle.sock" }
        if let path = io.environment["LADLE_SOCKET"], !path.isEmpty { return places.expanded(path) }
        var sources = SettingsSources()
        sources.environment = io.environment.filter { $0.key == "LADLE_STATE" }
        // A damaged configuration is for `ladle config check` to tell; here only the place matters.
        if let path = places.configFile, let bytes = try? io.readFile(path, limit: JSON5Text.maximumBytes) {
            sources.file = SettingsSources.File(path: path, bytes: bytes)
        }
        guard let folder = places.stateDirectory(sources.resolved().settings) else {
            throw CommandFailure(
                .usage,
                "NO_STATE",
                "there is no home directory to look for the control socket in",
                hint: "name it with --socket PATH"
            )
        }
        return folder + "/ladle.sock"
    }

    // MARK: Settings

    /// Everything that sets values, for commands that take all settings.
    func settings() -> (settings: Settings, problems: [ConfigurationProblem], file: String?) {
        SettingsLoader(command: command, io: io, services: services).load()
    }

    // MARK: Values of options

    func number(_ option: String) throws(CommandFailure) -> Int64? {
        guard let text = command[option], !text.isEmpty else { return nil }
        guard let number = Int64(text), number >= 0 else {
            throw CommandFailure(UsageError("\(option) must be a whole number, not \"\(text)\"", command: command.path))
        }
        return number
    }

    func milliseconds(_ option: String) throws(CommandFailure) -> Int64? {
        guard let text = command[option] else { return nil }
        guard let value = ConfigurationUnits.milliseconds(text) else {
            throw CommandFailure(
                UsageError(
                    "\(option) must be a duration, not \"\(text)\"",
                    hint: "write it like 90s, 10m, 48h or 7d",
                    command: command.path
                )
            )
        }
        return value
    }
}
