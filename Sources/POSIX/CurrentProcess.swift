import CSystem

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// This process: its identity, environment, resource use and exit.
package enum CurrentProcess {
    package static var id: Int32 { getpid() }
    package static var effectiveUser: UInt32 { geteuid() }

    package static var environment: [String: String] {
        var environment: [String: String] = [:]
        var index = 0
        while let entry = unsafe cs_environment(index) {
            let text = unsafe String(cString: entry)
            if let equals = text.firstIndex(of: "="), equals != text.startIndex {
                environment[String(text[..<equals])] = String(text[text.index(after: equals)...])
            }
            index += 1
        }
        return environment
    }

    /// The bytes of the arguments that are not UTF-8; Swift repairs such arguments, so that they name something else.
    package static var malformedArguments: [String] {
        var malformed: [String] = []
        for index in 1..<max(Int(CommandLine.argc), 1) {
            guard let argument = unsafe CommandLine.unsafeArgv[index] else { break }
            if unsafe String(validatingCString: argument) == nil { malformed.append(CommandLine.arguments[index]) }
        }
        return malformed
    }

    /// Ends the process; buffered output is written before. The clean-up that libraries register for `exit` does not run: OpenSSL's
    /// takes away what threads that still run use.
    package static func end(status: Int32) -> Never {
        _ = fflush(nil)
        _exit(status)
    }

    /// Ends the process without running anything else.
    package static func endAtOnce(status: Int32) -> Never { _exit(status) }
    /// Blocks until a signal has been handled.
    package static func waitForSignal() { _ = pause() }
    /// Ends the process as a power cut would.
    package static func kill() { _ = killProcess() }

    /// CPU time, memory and open descriptors; negative if the system does not report them.
    package struct Usage: Sendable {
        package let cpuSeconds: Double
        package let residentBytes: Int64
        package let virtualBytes: Int64
        package let openDescriptors: Int64
        package let mostDescriptors: Int64
        /// In Unix seconds.
        package let startedAt: Double
    }

    package static var usage: Usage {
        var raw = cs_process_usage()
        unsafe cs_process_usage(&raw)
        return Usage(
            cpuSeconds: raw.cpu_seconds,
            residentBytes: raw.resident_bytes,
            virtualBytes: raw.virtual_bytes,
            openDescriptors: raw.open_descriptors,
            mostDescriptors: raw.most_descriptors,
            startedAt: raw.started_at
        )
    }

    /// Replaces this program by another one, found on the path. Returns only if that fails.
    package static func replace(with words: [String]) -> SystemError {
        var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
        return SystemError(number: -(unsafe cs_execute(&arguments)), attempt: "run \(words.first ?? "nothing")")
    }

    /// Runs `sh -c 'COMMAND "$1"'` on the path with this terminal; the result is its exit status.
    package static func edit(_ path: String, with command: String) -> Int { Int(unsafe cs_edit(command, path)) }
}

/// At file level, because the type's own function hides the system's name.
private func killProcess() -> Int32 { kill(getpid(), SIGKILL) }
