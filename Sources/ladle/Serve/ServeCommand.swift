import Commands
import Configuration
import EventLoops
import Observability
import POSIX

/// `ladle serve`: starts the process and serves until a signal asks it to stop.
enum ServeCommand {
    static func run(_ settings: Settings, places: SettingsPlaces) async -> ExitCode {
        ProcessLimits.raiseDescriptors()
        ProcessLimits.forbidCoreFiles()
        ProcessLimits.ignoreBrokenPipes()
        let output = StartupOutput(settings)
        do {
            let configuration = try ServeConfiguration(settings, places: places)
            try await ServeProcess(configuration, output: output).run()
            output.log.flush()
            return .ok
        } catch {
            let failure = error as? StartFailure ?? StartFailure(message: "\(error)", status: .internal)
            output.complain(failure.message)
            return failure.status
        }
    }
}

/// The reason why a command cannot start, for the person who typed it.
struct StartFailure: Error {
    let message: String
    let status: ExitCode
}
