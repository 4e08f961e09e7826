import CSystem
package import POSIX

/// Owns one descriptor and closes it.
@safe package struct Descriptor: ~Copyable {
    let number: Int32

    init(_ number: Int32) {
        self.number = number
    }

    /// Takes over one inherited from the parent process, as socket activation does.
    package init(adopting number: Int32) throws(SystemError) {
        try SystemError.check(cs_adopt(number), "take over descriptor \(number)")
        self.number = number
    }

    deinit {
        cs_close(number)
    }

    /// For look-ups about the socket elsewhere (peer credentials); valid while this lives.
    package var rawNumber: Int32 { number }
}

/// Outcome of one attempt to move bytes.
package enum Transfer: Equatable, Sendable {
    case moved(Int)
    case wouldBlock
    /// The peer ended its direction (reading only).
    case ended
    case failed(SystemError)
}
