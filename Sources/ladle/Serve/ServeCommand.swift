import Access
import Basics
import Bridge
import CSystem
import Configuration
import DemoGateway
import EventLog
import EventLoops
import JSONBytes
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
    static func run(_ settings: Settings, places: SettingsPlaces) async -> ExitStatus {
        ProcessLimits.raiseDescriptors()
        ProcessLimits.ignoreBrokenPipes()
        do {
            try await Service.start(settings, places: places).run()
            return .ok
        } catch let error as StartFailure {
            Console.warn(error.message)
            return error.status
        } catch {
            Console.warn("\(error)")
            return .software
        }
    }
}

/// Why serving did not begin, for the person who typed the command.
struct StartFailure: Error {
    let message: String
    let status: ExitStatus
}
