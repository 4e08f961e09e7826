/// Runs a command line: what is this target's own here, the rest handed back to the executable.
package enum CommandOutcome: Sendable {
    case finished(ExitCode)
    /// `serve`, `doctor`, `discover`, `demo-gateway`, `outbox recover`, `tls self-signed`: understood, and the executable's to run.
    case external(ParsedCommand)
}

package struct CommandRunner {
    typealias Handler = @Sendable (Invocation) throws(CommandFailure) -> ExitCode

    private let io: any CommandIO
    private let services: CommandServices

    package init(io: any CommandIO, services: CommandServices) {
        self.io = io
        self.services = services
    }

    package func run(_ arguments: [String]) -> CommandOutcome {
        let result: CommandLineParser.Result
        do throws(UsageError) {
            result = try CommandLineParser.parse(arguments)
        } catch {
            fail(CommandFailure(error), json: arguments.prefix { $0 != "--" }.contains("--json"))
            return .finished(.usage)
        }
        switch result {
        case .version:
            io.write("ladle \(services.version)\n")
            return .finished(.ok)
        case .help(let path, let spec):
            io.write(HelpText.text(path: path, spec: spec, width: min(io.columns, 100)))
            return .finished(.ok)
        case .run(let command):
            guard let handler = Self.handlers[command.name] else { return .external(command) }
            let invocation = Invocation(command: command, io: io, services: services)
            do throws(CommandFailure) {
                return .finished(try handler(invocation))
            } catch {
                fail(error, json: invocation.json)
                return .finished(error.exit)
            }
        }
    }

    /// Tells a failure in the form every command uses; for the executable's own commands too.
    package func fail(_ failure: CommandFailure, json: Bool) { failure.write(to: io, json: json) }

    static let handlers: [String: Handler] = [
        "send": SendCommand.run,
        "history": HistoryCommand.run,
        "watch": WatchCommand.run,
        "activity": RunCommands.activity,
        "runs": RunCommands.runs,
        "abort": RunCommands.abort,
        "outbox list": OutboxCommands.list,
        "outbox show": OutboxCommands.show,
        "outbox retry": OutboxCommands.retry,
        "outbox cancel": OutboxCommands.cancel,
        "identity show": DocumentCommands.show,
        "identity set": DocumentCommands.set,
        "identity edit": DocumentCommands.edit,
        "profile show": DocumentCommands.show,
        "profile set": DocumentCommands.set,
        "profile edit": DocumentCommands.edit,
        "status": StatusCommand.run,
        "token create": TokenCommands.create,
        "token list": TokenCommands.list,
        "token rotate": TokenCommands.rotate,
        "token revoke": TokenCommands.revoke,
        "clients list": PairingCommands.list,
        "clients approve": PairingCommands.approve,
        "clients reject": PairingCommands.reject,
        "config check": ConfigCommands.check,
        "config show": ConfigCommands.show,
        "config reference": ConfigCommands.reference,
        "completions": HelpCommands.completions,
        "man": HelpCommands.manual,
        "version": HelpCommands.version,
        "help": HelpCommands.help,
    ]
}
