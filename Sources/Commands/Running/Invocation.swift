package import Configuration
import HTTPModel
import JSONBytes
import ReadableText

/// Functions of the executable, which may import more targets than this one.
package struct CommandServices {
    package var version: String
    /// The values found in the OpenClaw configuration of this host.
    package var discover: () -> [SettingsSources.Found]
    /// The fault of a secret file, or nil.
    package var secretFault: (_ path: String) -> (message: String, hint: String?)?
    /// Why `serve` would not start with these settings, or nil.
    package var startProblem: (_ settings: Settings) -> ConfigurationProblem?
    /// The hosts on the database that these settings name; nil where they name none.
    package var hosts: (_ settings: Settings) throws(CommandFailure) -> DatabaseHosts? = { _ in nil }
    /// Asks the leader to step down.
    package var askToResign: (_ settings: Settings, _ leader: DatabaseHosts.Leader) throws(CommandFailure) -> Void = {
        _,
        _ in
    }
    /// Notes that the database was restored from a backup; nil where the settings name none.
    package var noteRestore: (_ settings: Settings) throws(CommandFailure) -> Bool? = { _ in nil }
    /// Prints the result of `note` before the first Ctrl-C ends the process.
    package var noteOnInterrupt: (_ note: @escaping @Sendable () -> String) -> Void = { _ in }

    package init(
        version: String,
        discover: @escaping () -> [SettingsSources.Found] = { [] },
        secretFault: @escaping (String) -> (message: String, hint: String?)? = { _ in nil },
        startProblem: @escaping (Settings) -> ConfigurationProblem? = { _ in nil }
    ) {
        self.version = version
        self.discover = discover
        self.secretFault = secretFault
        self.startProblem = startProblem
    }
}

/// One command being run.
struct Invocation {
    let command: ParsedCommand
    let io: any CommandIO
    let services: CommandServices

    var json: Bool { command.has("--json") }
    var style: TextStyle { io.style }
    /// Formats times in this machine's time zone.
    var time: ReadableTime { ReadableTime(now: io.nowMilliseconds, utcOffset: io.utcOffset(atSeconds:)) }

    /// Whether a person is at the terminal who can answer a question.
    var mayAsk: Bool { io.isInputTerminal && io.isErrorTerminal && !json && !command.has("--yes") }

    /// Asks before something that cannot be undone. A script is not asked.
    func ask(_ question: String) throws(CommandFailure) {
        guard !mayAsk || io.confirms(question) else {
            throw CommandFailure(.temporary, "NOT_DONE", "nothing was done", hint: "to do it without a question: --yes")
        }
    }

    func print(_ text: String) { io.write(text.hasSuffix("\n") || text.isEmpty ? text : text + "\n") }

    /// - Parameter empty: printed if the table has no rows.
    func print(_ table: TextTable, orElse empty: String) -> ExitCode {
        print(table.isEmpty ? empty : table.text(width: io.tableWidth, style: style))
        return .ok
    }

    /// Notes that an answer is an earlier one of the gateway.
    func tellAge(_ answer: JSONValue) {
        guard answer["live"]?.bool == false else { return }
        io.writeError(
            io.errorStyle.warning("From the cache of \(time.short(answer["asOf"]?.string)): the gateway is away.\n")
        )
    }

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

    /// The answer; nil if nothing has changed.
    func changed(_ request: ClientRequest) throws(CommandFailure) -> ClientResponse? {
        let client = try client()
        let response: ClientResponse
        do throws(ClientError) {
            response = try client.perform(request)
        } catch {
            throw CommandFailure(error)
        }
        if response.head.status == .notModified { return nil }
        guard response.head.status.isSuccess else { throw CommandFailure(response) }
        return response
    }

    /// The JSON of an answer. With `--json` it is printed unchanged, with `--format` by the template, and the result is
    /// nil.
    func value(_ request: ClientRequest) throws(CommandFailure) -> JSONValue? {
        let template = try template()
        let response = try perform(request)
        if json {
            io.writeLines(response.body.isEmpty ? Array("{}".utf8) : response.body)
            return nil
        }
        do throws(ClientError) {
            let value = try response.json()
            guard let template else { return value }
            for row in Self.rows(value) { print(template.text(of: row)) }
            return nil
        } catch {
            throw CommandFailure(error)
        }
    }

    /// The rows of a list; anything else is one row.
    private static func rows(_ answer: JSONValue) -> [JSONValue] {
        let lists = [
            "entries", "runs", "approvals", "questions", "messages", "sessions", "agents", "tokens", "requests",
            "models", "days", "notifications", "sinks", "providers", "automations",
        ]
        // A question has such a list of its own.
        guard answer["id"] == nil else { return [answer] }
        return lists.lazy.compactMap { answer[$0] }.first { $0.kind == .array }?.list ?? [answer]
    }

    func template() throws(CommandFailure) -> OutputTemplate? {
        guard let text = command["--format"] else { return nil }
        guard !json else {
            throw CommandFailure(UsageError("--json and --format exclude each other", command: command.path))
        }
        do throws(OutputTemplate.Fault) {
            return try OutputTemplate(text)
        } catch {
            throw CommandFailure(UsageError("--format: \(error.message)", command: command.path))
        }
    }

    /// Argument 1 as an id; its end or its beginning is enough where it is unique.
    func id(of names: ListedNames) throws(CommandFailure) -> String {
        try names.completed(command.arguments.first ?? "", self)
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
