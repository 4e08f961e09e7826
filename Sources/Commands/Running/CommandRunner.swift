import ReadableText

/// The result of a command line: finished here, or handed back to the executable.
package enum CommandOutcome: Sendable {
    case finished(ExitCode)
    /// A parsed command that only the executable can run: `serve`, `doctor`, `backup`, `restore`, `discover`,
    /// `demo-gateway`, `outbox recover`, `tls self-signed`, `cluster key`.
    case external(ParsedCommand)
}

package struct CommandRunner {
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
            guard let handler = command.spec.run else { return .external(command) }
            let invocation = Invocation(command: command, io: io, services: services)
            if !invocation.json, let warning = invocation.finder.cleartextWarning {
                io.writeError(io.errorStyle.warning(warning + "\n"))
            }
            do throws(CommandFailure) {
                return .finished(try handler(invocation))
            } catch {
                fail(error.placed(as: command), json: invocation.json)
                return .finished(error.exit)
            }
        }
    }

    /// Prints a failure in the form that every command uses. The executable's own commands use it too.
    package func fail(_ failure: CommandFailure, json: Bool) { failure.write(to: io, json: json) }
}
