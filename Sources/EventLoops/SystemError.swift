#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A failed system call: what was tried and the system's own word for why not.
package struct SystemError: Error, Equatable, Sendable {
    package let number: Int32
    package let attempt: String

    package init(number: Int32, attempt: String) {
        self.number = number
        self.attempt = attempt
    }

    package var reason: String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }

    package var isAddressInUse: Bool { number == EADDRINUSE }
    package var isPermission: Bool { number == EACCES || number == EPERM }
    /// No descriptor or no memory: the same call at once would fail the same way.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(number) }
    package var wouldBlock: Bool { number == EAGAIN || number == EWOULDBLOCK }

    /// Results below zero are minus errno.
    @discardableResult
    static func check(_ result: Int32, _ attempt: String) throws(SystemError) -> Int32 {
        guard result >= 0 else { throw SystemError(number: -result, attempt: attempt) }
        return result
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "cannot \(attempt): \(reason)" }
}
