import CSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// One run of another program. Its arguments go to the system unchanged: no shell reads them.
package enum ChildProcess {
    package struct Result: Sendable, Equatable {
        /// The exit status, or 128 plus the signal's number.
        package let status: Int32
        package let output: [UInt8]
    }

    /// Blocks until the program has ended or was stopped.
    /// - Parameters:
    ///   - arguments: the program's whole path, then its arguments.
    ///   - environment: `NAME=VALUE`; nothing else is passed on.
    package static func run(
        _ arguments: [String],
        environment: [String],
        input: [UInt8],
        outputLimit: Int,
        milliseconds: Int32
    ) throws(SystemError) -> Result {
        var output = [UInt8](repeating: 0, count: outputLimit)
        var count = 0
        let status = unsafe withStrings(arguments) { arguments in
            unsafe withStrings(environment) { environment in
                unsafe input.withUnsafeBytes { input in
                    unsafe output.withUnsafeMutableBytes { output in
                        unsafe cs_run_program(
                            arguments,
                            environment,
                            input.baseAddress,
                            input.count,
                            output.baseAddress,
                            output.count,
                            &count,
                            milliseconds
                        )
                    }
                }
            }
        }
        guard status >= 0 else { throw SystemError(number: -status, attempt: "run \(arguments.first ?? "")") }
        return Result(status: status, output: Array(output.prefix(count)))
    }

    static func withStrings<Value>(
        _ texts: [String],
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?) -> Value
    ) -> Value {
        var pointers = unsafe texts.map { unsafe strdup($0) } + [nil]
        defer {
            while unsafe !pointers.isEmpty { unsafe free(pointers.removeLast()) }
        }
        return unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress) }
    }
}
