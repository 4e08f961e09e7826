import CSystem

/// A socket that a C library has opened.
package enum ForeignSocket {
    package enum Interest: Int32, Sendable {
        case reading, writing, either
    }

    /// Blocks the thread. False if nothing could be read or written in time.
    package static func wait(_ number: Int32, for interest: Interest, milliseconds: Int) -> Bool {
        cs_wait(number, interest.rawValue, Int32(clamping: milliseconds)) > 0
    }
}
