import Access
import Commands
import Configuration

/// From arguments to a command. One table knows them all; what needs the serving side of the program is run here.
enum Program {
    static func run(_ arguments: [String]) async -> ExitStatus {
        let io = ProcessIO()
        let services = CommandServices(
            version: Version.text,
            discover: { ServiceCredentials.found(io.environment) },
            secretFault: secretFault
        )
        let runner = CommandRunner(io: io, services: services)
        switch runner.run(arguments) {
        case .finished(let code): return ExitStatus(rawValue: code.rawValue) ?? .software
        case .external(let command):
            let places = SettingsPlaces(environment: io.environment)
            switch command.name {
            case "serve":
                let (settings, problems, _) = SettingsLoader(command: command, io: io, services: services).load()
                guard problems.isEmpty else {
                    for problem in problems { Console.warn("\(problem)") }
                    return .configuration
                }
                return await ServeCommand.run(settings, places: places)
            case "demo-gateway": return await DemoGatewayCommand.run(command)
            case "discover": return DiscoverCommand.run(command)
            case "doctor":
                let (settings, problems, _) = SettingsLoader(command: command, io: io, services: services).load()
                return await Doctor(settings: settings, problems: problems, places: places, json: command.has("--json"))
                    .run()
            case "tls self-signed": return SelfSignedCommand.run(command, places: places)
            default:
                Console.warn("\(command.name) is not built into this program")
                return .software
            }
        }
    }

    static let environment: [String: String] = ProcessIO().environment

    static func secretFault(_ path: String) -> (message: String, hint: String?)? {
        do throws(SecretFile.Fault) {
            _ = try SecretFile.read(path)
            return nil
        } catch {
            return (error.description, error.hint)
        }
    }
}
