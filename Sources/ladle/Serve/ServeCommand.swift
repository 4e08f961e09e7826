import API
import Access
import Basics
import CSystem
import Commands
import Configuration
import DemoGateway
import EventLoops
import Gateway
import JSONBytes
import Observability
import Service
import Store
import TLS
import Upstream

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// `ladle serve`: from settings to a process that serves until it is told to stop.
enum ServeCommand {
    static func run(_ settings: Settings, places: SettingsPlaces) async -> ExitCode {
        ProcessLimits.raiseDescriptors()
        ProcessLimits.forbidCoreFiles()
        ProcessLimits.ignoreBrokenPipes()
        let voice = StartupOutput(settings)
        do {
            try await Service.start(settings, places: places, voice).run()
            voice.log.flush()
            return .ok
        } catch {
            let failure = error as? StartFailure ?? StartFailure(message: "\(error)", status: .internal)
            voice.complain(failure.message)
            return failure.status
        }
    }
}

/// Why serving did not begin, for the person who typed the command.
struct StartFailure: Error {
    let message: String
    let status: ExitCode
}
