#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Exit codes, stable and documented (sysexits.h).
enum ExitStatus: Int32, Error {
    case ok = 0
    case failure = 1
    case usage = 64
    case unavailable = 69
    case software = 70
    case temporary = 75
    case noPermission = 77
    case configuration = 78

    static func exit(_ status: ExitStatus) -> Never {
        exitProcess(status.rawValue)
    }
}

private func exitProcess(_ code: Int32) -> Never { exit(code) }

/// What a command says to the person or the journal: whole lines, at once, so that a pipe sees them too.
enum Console {
    static func say(_ text: String) { put(text + "\n", on: STDOUT_FILENO) }

    static func warn(_ text: String) { put("ladle: \(text)\n", on: STDERR_FILENO) }

    private static func put(_ text: String, on descriptor: Int32) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            sent += count
        }
    }
}
