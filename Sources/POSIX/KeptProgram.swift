import CSystem
import Synchronization

/// A program that runs beside this one until it ends or `stop` is called. On Linux it ends with this process, however
/// this process ends.
package final class KeptProgram: Sendable {
    /// The process id while the program runs; nil before and after, when the id may belong to another program.
    private let number = Mutex<Int32?>(nil)
    private let isStopped = Mutex(false)

    package init() {}

    /// Blocks its thread until the program has ended. The thread must live that long, because the program ends with it.
    /// - Parameters:
    ///   - arguments: the program's whole path, then its arguments.
    ///   - environment: `NAME=VALUE`; nothing else is passed on.
    /// - Returns: how it ended, and the beginning of its output.
    package func run(
        _ arguments: [String],
        environment: [String],
        outputLimit: Int
    ) throws(SystemError) -> ChildProcess.Result {
        var output: Int32 = -1
        let started = unsafe ChildProcess.withStrings(arguments) { arguments in
            unsafe ChildProcess.withStrings(environment) { environment in
                unsafe cs_start_program(arguments, environment, &output)
            }
        }
        guard started > 0 else { throw SystemError(number: -started, attempt: "run \(arguments.first ?? "")") }
        number.withLock { $0 = started }
        if isStopped.withLock({ $0 }) { end() }
        var text = [UInt8](repeating: 0, count: outputLimit)
        var count = 0
        unsafe text.withUnsafeMutableBytes { bytes in
            unsafe cs_await_program(started, output, bytes.baseAddress, bytes.count, &count)
        }
        // The process is a zombie until here, so its id still belongs to it.
        number.withLock { $0 = nil }
        return ChildProcess.Result(status: cs_reap_program(started), output: Array(text.prefix(count)))
    }

    /// Ends the program. If it has not started yet, it ends right after its start.
    package func stop() {
        isStopped.withLock { $0 = true }
        end()
    }

    private func end() {
        number.withLock { number in
            if let number { cs_end_program(number) }
        }
    }
}
