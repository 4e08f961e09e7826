import Dispatch
package import EventLoops
package import Notifications
import POSIX

/// Runs the programs of command sinks, one at a time, beside the loop.
package final class ProgramRunner {
    /// The time after which the program is ended.
    private static let milliseconds: Int32 = 10_000
    /// The number of output bytes kept for the log.
    private static let outputBytes = 1024

    private let queue = DispatchQueue(label: "ladle.command")

    package init() {}

    /// - Parameter completion: gets the result, and the first part of the output.
    package func run(
        _ command: SinkCommand,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome, [UInt8]) -> Void
    ) {
        let bound = LoopBound(completion, on: loop)
        queue.async { [weak loop] in
            let (outcome, output) = Self.run(command)
            loop?.post { loop in bound.value(on: loop)?(outcome, output) }
        }
    }

    private static func run(_ command: SinkCommand) -> (DeliveryMachine.Outcome, [UInt8]) {
        do throws(SystemError) {
            let result = try ChildProcess.run(
                command.arguments,
                environment: command.environment,
                input: command.input,
                outputLimit: outputBytes,
                milliseconds: milliseconds
            )
            guard result.status == 0 else {
                let error = "the program ended with status \(result.status)"
                return (.failed(status: nil, error: error, retryAfterMs: nil), result.output)
            }
            return (.accepted(status: nil), result.output)
        } catch {
            return (.failed(status: nil, error: "\(error)", retryAfterMs: nil), [])
        }
    }
}
