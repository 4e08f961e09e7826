import Access
import Commands
import Configuration
import JSONBytes
import POSIX

/// The program: runs the command that the arguments name. `Commands` runs the clients of the API; all others run here.
@main
enum Program {
    static func main() async {
        // `CommandLine.arguments` replaces bytes that are not UTF-8, so that a path would name another file.
        if let argument = CurrentProcess.malformedArguments.first {
            Console.warn("\(argument) is not UTF-8")
            CurrentProcess.end(status: ExitCode.usage.rawValue)
        }
        CurrentProcess.end(status: await run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    private static func run(_ arguments: [String]) async -> ExitCode {
        let io = ProcessIO()
        var services = CommandServices(
            version: Version.text,
            discover: { ServiceCredentials.found(io.environment) },
            secretFault: secretFault,
            startProblem: { settings in
                ServeConfiguration.problem(settings, places: SettingsPlaces(environment: io.environment))
                    ?? ServeConfiguration.gatewayProblem(settings)
            }
        )
        services.hosts = ClusterDatabase.hosts
        services.askToResign = ClusterDatabase.askToResign
        services.noteRestore = ClusterDatabase.noteRestore
        services.noteOnInterrupt = { note in
            Signals().watch(.interrupt) {
                Keyboard.end()
                Console.put(note(), on: .error)
                CurrentProcess.endAtOnce(status: Signals.Number.interrupt.exitStatus)
            }
        }
        let runner = CommandRunner(io: io, services: services)
        let command: ParsedCommand
        switch runner.run(arguments) {
        case .finished(let code): return code
        case .external(let found): command = found
        }
        do throws(CommandFailure) {
            let places = SettingsPlaces(environment: io.environment)
            let loader = SettingsLoader(command: command, io: io, services: services)
            switch command.name {
            case "serve":
                // SIGHUP may come before its handler is installed. It can be ignored: the files are about to be read.
                Signals.ignore(.hangUp)
                let (settings, problems, _) = loader.load()
                guard problems.isEmpty else {
                    for problem in problems { Console.warn("\(problem)") }
                    return .configuration
                }
                return await ServeCommand.run(settings, places: places)
            case "doctor":
                let (settings, problems, _) = loader.load()
                // The state directory that the user names wins over the environment, as for the client commands.
                let fallback = command.state == nil ? io.environment["LADLE_SOCKET"] : nil
                let named = [command["--socket"], fallback].compactMap(\.self).first { !$0.isEmpty }
                let doctor = Doctor(
                    settings: settings,
                    problems: problems,
                    places: places,
                    socket: named.map(places.expanded),
                    command: command
                )
                return command.has("--report")
                    ? doctor.report(json: json(command)) : await doctor.run(json: json(command))
            case "demo-gateway": return try await DemoGatewayCommand.run(command)
            case "discover":
                let (settings, _, _) = loader.load()
                return try DiscoverCommand.run(command, settings, width: io.columns)
            case "backup": return try BackupCommand.backup(command, loader.load().settings, places: places)
            case "restore": return try BackupCommand.restore(command, loader.load().settings, places: places)
            case "migrate": return try MigrateCommand.run(command, loader.load().settings, places: places)
            case "outbox recover": return try await RecoverCommand.run(command, loader.load().settings, places: places)
            case "cluster key": return try ClusterDatabase.makeKey(command)
            case "tls self-signed": return try SelfSignedCommand.run(command, loader.load().settings, places: places)
            default: throw CommandFailure(.internal, "NOT_BUILT", "\(command.name) is not built into this program")
            }
        } catch {
            runner.fail(error.placed(as: command), json: json(command))
            return error.exit
        }
    }

    static func json(_ command: ParsedCommand) -> Bool { command.has("--json") }

    /// Prints the JSON object of a command.
    static func say(json body: (inout JSONWriter) -> Void) {
        var writer = JSONWriter()
        body(&writer)
        Console.say(String(decoding: writer.bytes, as: UTF8.self))
    }

    static let environment: [String: String] = ProcessIO().environment

    private static func secretFault(_ path: String) -> (message: String, hint: String?)? {
        do throws(SecretFile.Fault) {
            _ = try SecretFile.read(path)
            return nil
        } catch {
            return (error.description, error.hint)
        }
    }
}
