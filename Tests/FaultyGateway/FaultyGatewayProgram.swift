import DemoGateway
import EventLoops
import POSIX

/// `faulty-gateway`: a demo gateway with faults, for tests that need it in a process of its own. Options are
/// `--NAME VALUE`; `--recall` and `--store-user-row` take no value.
@main
struct FaultyGatewayProgram {
    static func main() async {
        ProcessLimits.raiseDescriptors()
        ProcessLimits.ignoreBrokenPipes()
        do {
            let options = try read(Array(CommandLine.arguments.dropFirst()))
            let loop = try EventLoop(label: "faulty-gateway")
            loop.start()
            let (address, token, control) = try await loop.start(options)
            put(
                "faulty-gateway: listening on ws://127.0.0.1:\(address), token \(token), control http://127.0.0.1:\(control)\n"
            )
            // A signal ends the process.
            while true { CurrentProcess.waitForSignal() }
        } catch {
            put("faulty-gateway: \(error)\n")
            CurrentProcess.end(status: 1)
        }
    }

    private static func read(_ arguments: [String]) throws(DemoGatewayOptionError) -> FaultyGatewayOptions {
        var options = FaultyGatewayOptions()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            let name = argument.hasPrefix("--") ? String(argument.dropFirst(2)) : argument
            let takesValue = name != "recall" && name != "store-user-row"
            try options.set(name, to: takesValue ? rest.popFirst() ?? "" : "")
        }
        return options
    }

    private static func put(_ text: String) { StandardStream.output.write(Array(text.utf8)) }
}

extension EventLoop {
    fileprivate func start(_ options: FaultyGatewayOptions) throws -> (UInt16, String, UInt16) {
        let server = try FaultyGatewayServer.start(options, on: self)
        return (server.port, server.token, server.controlPort)
    }
}
