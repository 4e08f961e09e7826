import Commands
import DemoGateway
import EventLoops

/// `ladle demo-gateway`: the gateway alone, for trying other clients and for tests.
enum DemoGatewayCommand {
    static func run(_ command: ParsedCommand) async throws(CommandFailure) -> ExitCode {
        ProcessLimits.raiseDescriptors()
        ProcessLimits.ignoreBrokenPipes()
        var options = DemoGatewayOptions()
        do throws(DemoGatewayOptionError) {
            for name in DemoGatewayOptions.names where command.has("--\(name)") {
                for value in command.all("--\(name)") { try options.set(name, to: value.isEmpty ? "true" : value) }
            }
        } catch {
            throw CommandFailure(UsageError("\(error)", command: command.path))
        }
        do {
            let loop = try EventLoop(label: "ladle.demo")
            loop.start()
            let gateway = try await loop.startDemo(options)
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
