import CSystem
package import POSIX

/// Owns one file descriptor and closes it.
@safe package struct Descriptor: ~Copyable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    /// Takes over a descriptor inherited from the parent process, as socket activation does.
    package init(adopting number: Int32) throws(SystemError) {
        try SystemError.check(cs_adopt(number), "take over descriptor \(number)")
        self.number = number
    }

    deinit {
        cs_close(number)
    }

    /// For other look-ups about the socket, such as peer credentials. Valid while this value lives.
    package var rawNumber: Int32 { number }
}

/// The result of one attempt to read or write.
package enum Transfer: Equatable, Sendable {
    case moved(Int)
    case wouldBlock
    /// The peer ended its direction (reading only).
    case ended
    case failed(SystemError)
}
