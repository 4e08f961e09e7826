#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A failed system call: what the program tried, and the system's reason.
package struct SystemError: Error, Equatable, Sendable {
    package let number: Int32
    package let attempt: String

    package init(number: Int32, attempt: String) {
        self.number = number
        self.attempt = attempt
    }

    /// The error of the last system call. `attempt` must not make another one.
    static func last(_ attempt: String) -> SystemError {
        SystemError(number: errno, attempt: attempt)
    }

    /// This process must not do it.
    package static func notPermitted(_ attempt: String) -> SystemError { SystemError(number: EPERM, attempt: attempt) }

    package var reason: String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }

    package var isNotFound: Bool { number == ENOENT }
    package var alreadyExists: Bool { number == EEXIST }
    package var isPermission: Bool { number == EACCES || number == EPERM }
    package var isFull: Bool { number == ENOSPC || number == EDQUOT }
    package var isAddressInUse: Bool { number == EADDRINUSE }
    package var isRefused: Bool { number == ECONNREFUSED }
    package var wouldBlock: Bool { number == EAGAIN || number == EWOULDBLOCK }
    /// No descriptor or no memory is left: the same call would fail again at once.
    package var isShortage: Bool { [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(number) }

    /// Checks a result from `CSystem`: a value below zero is minus errno.
    @discardableResult
    package static func check<Number: SignedInteger>(
        _ result: Number,
        _ attempt: @autoclosure () -> String
    ) throws(SystemError) -> Number {
        guard result >= 0 else { throw SystemError(number: Int32(truncatingIfNeeded: -result), attempt: attempt()) }
        return result
    }
}

extension SystemError: CustomStringConvertible {
    package var description: String { "cannot \(attempt): \(reason)" }
}
