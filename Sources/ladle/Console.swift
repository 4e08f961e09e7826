#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What a command says to the person or the journal: whole lines, at once, so that a pipe sees them too.
enum Console {
    static func say(_ text: String) { put(text + "\n") }

    static func put(_ text: String) { put(text, on: STDOUT_FILENO) }

    static func warn(_ text: String) { put("ladle: \(text)\n", on: STDERR_FILENO) }

    static func put(_ text: String, on descriptor: Int32) {
        let bytes = Array(text.utf8)
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            sent += count
        }
    }
}
