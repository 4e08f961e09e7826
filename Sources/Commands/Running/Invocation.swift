package import Configuration
import HTTPModel
import JSONBytes
import ReadableText

/// Functions of the executable, which imports more targets than this one may.
package struct CommandServices {
    package var version: String
    /// Values found in the OpenClaw configuration of this host.
    package var discover: () -> [SettingsSources.Found]
    /// The fault of a secret file, or nil.
    package var secretFault: (_ path: String) -> (message: String, hint: String?)?
    /// Prints the result of `note` before the first Ctrl-C ends the process.
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
    var style: TextStyle { io.style }
    /// Times in the zone of this machine.
    var time: ReadableTime { ReadableTime(now: io.nowMilliseconds, utcOffset: io.utcOffset(atSeconds:)) }

    func print(_ text: String) { io.write(text.hasSuffix("\n") || text.isEmpty ? text : text + "\n") }

    // MARK: The daemon

    var finder: PlaceFinder { PlaceFinder(command: command, io: io) }

    func client() throws(CommandFailure) -> HTTPClient {
        HTTPClient(try finder.place(), io: io, version: services.version)
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

    /// The JSON of an answer. With `--json` it is printed as it came, and the result is nil.
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

    // MARK: Settings

    /// The settings of a command that takes every key as a flag.
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
