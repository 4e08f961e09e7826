import Dispatch
package import EventLoops
package import Notifications
package import POSIX

/// Runs the programs of command sinks, one at a time, beside the loop.
package final class ProgramRunner {
    /// The time after which the program is ended.
    private static let milliseconds: Int32 = 10_000
    /// The number of output bytes kept for the log.
    private static let outputBytes = 1024

    private let queue = DispatchQueue(label: "ladle.command")
    private let permit: Permit?

    /// - Parameter permit: of one of several hosts. Without it no program begins.
    package init(permit: Permit? = nil) { self.permit = permit }

    /// - Parameter completion: gets the result, and the first part of the output.
    package func run(
        _ command: SinkCommand,
        on loop: isolated EventLoop,
        completion: @escaping (DeliveryMachine.Outcome, [UInt8]) -> Void
    ) {
        let bound = LoopBound(completion, on: loop)
        queue.async { [weak loop, permit] in
            let (outcome, output) = Self.run(command, permit)
            loop?.post { loop in bound.value(on: loop)?(outcome, output) }
        }
    }

    private static func run(_ command: SinkCommand, _ permit: Permit?) -> (DeliveryMachine.Outcome, [UInt8]) {
        guard permit?.holds != false else {
            return (.failed(status: nil, error: "this host has lost the lease", retryAfterMs: nil), [])
        }
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
