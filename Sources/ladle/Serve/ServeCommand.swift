import Basics
import Commands
import Configuration
import EventLoops
import Observability
import POSIX

/// `ladle serve`: starts the process and serves until a signal asks it to stop.
enum ServeCommand {
    /// The threads of the start reserve up to 64 MiB of address space each. If a thread could not be made, the start would wait
    /// for ever.
    private static let leastAddressSpace = 320 << 20

    static func run(_ settings: Settings, places: SettingsPlaces) async -> ExitCode {
        ProcessLimits.limitHeaps()
        ProcessLimits.raiseDescriptors()
        ProcessLimits.forbidCoreFiles()
        ProcessLimits.ignoreBrokenPipes()
        let output = StartupOutput(settings)
        do {
            guard ProcessLimits.hasAddressSpace(leastAddressSpace) else {
                throw StartFailure(
                    message:
                        "the start needs \(leastAddressSpace >> 20) MiB of address space and the system gives less; "
                        + "raise it with ulimit -v (of a service: LimitAS= in its unit)",
                    status: .temporary
                )
            }
            let configuration = try ServeConfiguration(settings, places: places)
            let status = try await ServeProcess(configuration, output: output).run()
            output.log.flush()
            return status
        } catch is Leadership.Stopped {
            output.log.flush()
            return .ok
        } catch {
            let message = (error as? StoreError).map { "the database cannot be used: \($0.detail)" }
            let failure = error as? StartFailure ?? StartFailure(message: message ?? "\(error)", status: .internal)
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
