import Commands
import Configuration
import DemoGateway
import EventLoops
import POSIX

/// `ladle demo-gateway`: the demo gateway alone, to try other clients with.
enum DemoGatewayCommand {
    static func run(_ command: ParsedCommand) async throws(CommandFailure) -> ExitCode {
        ProcessLimits.raiseDescriptors()
        ProcessLimits.ignoreBrokenPipes()
        var options = DemoGatewayOptions()
        do throws(DemoGatewayOptionError) {
            for name in DemoGatewayOptions.names where command.has("--\(name)") {
                for value in command.all("--\(name)") { try options.set(name, to: value) }
            }
        } catch {
            throw CommandFailure(UsageError("\(error)", command: command.path))
        }
        do {
            let gateway = try await DemoGatewayHandle.start(options)
            Console.say("demo-gateway: listening on ws://127.0.0.1:\(gateway.port), token \(gateway.token)")
            await withCheckedContinuation { (done: CheckedContinuation<Void, Never>) in
                let once = Once { done.resume() }
                Signals().whenAskedToStop { once.run() }
            }
            return .ok
        } catch {
            throw CommandFailure(.unavailable, "NOT_STARTED", "\(error)")
        }
    }
}

extension DemoGatewayHandle {
    /// Starts a demo gateway on an event loop of its own.
    static func start(_ options: DemoGatewayOptions) async throws -> DemoGatewayHandle {
        let loop = try EventLoop(label: "ladle.demo")
        loop.start()
        return try await loop.run { try DemoGatewayServer.start(options, on: $0) }
    }

    /// The demo gateway of `ladle serve --demo`.
    static func start(_ settings: Settings) async throws -> DemoGatewayHandle {
        var options = DemoGatewayOptions()
        try options.set("protocol", to: settings.text(.demoProtocol) ?? "4")
        if let release = settings.text(.demoRelease) { try options.set("release", to: release) }
        options.port = UInt16(clamping: settings.int(.demoPort))
        options.speed = settings.fraction(.demoSpeed)
        return try await start(options)
    }
}
