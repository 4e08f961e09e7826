import Basics
import EventLoops
import POSIX
import TLS

/// One socket of the link. A detached connection reports nothing more, so that a late callback cannot touch the next
/// attempt.
final class LinkConnection: StreamHandler {
    /// Time for the close frame to arrive; then the socket is closed in any case.
    private static let farewellMs: Int64 = 5_000

    let stream: StreamConnection
    private let session: TLSSession?
    private let isPinned: Bool
    private weak var link: UpstreamLink?

    init(_ stream: StreamConnection, session: TLSSession?, isPinned: Bool, link: UpstreamLink) {
        self.stream = stream
        self.session = session
        self.isPinned = isPinned
        self.link = link
    }

    /// Sends the bytes that were written, then closes.
    func detach(on loop: isolated EventLoop) {
        link = nil
        // If bytes are still waiting, the peer has stopped reading and would not read our close frame either.
        guard stream.isOpen, stream.waitingBytes == 0 else { return stream.close(on: loop) }
        stream.closeWhenSent(on: loop)
        loop.after(milliseconds: Self.farewellMs) { [weak stream] in stream?.close(on: loop) }
    }

    func connected(on loop: isolated EventLoop) { link?.opened(on: loop) }
    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) { link?.received(bytes, on: loop) }
    func drained(on loop: isolated EventLoop) { link?.drained(on: loop) }

    func receivedEnd(on loop: isolated EventLoop) {
        let owner = link
        link = nil
        stream.close(on: loop)
        owner?.failed(.dropped, on: loop)
    }

    func closed(_ reason: CloseReason, on loop: isolated EventLoop) {
        let owner = link
        link = nil
        owner?.failed(failure(reason), on: loop)
    }

    private func failure(_ reason: CloseReason) -> Rejection.TransportFailure {
        switch reason {
        case .closedHere: return .dropped
        case .lost(let error): return .unreachable(error.reason)
        case .tls(let error):
            let unverified = error.reasons.contains { $0.contains("certificate verify failed") }
            if unverified, isPinned { return .pinMismatch(seen: session?.peerCertificateSHA256.map { Hex.encode($0) }) }
            if unverified { return .certificateNotTrusted(error.reasons.first ?? error.operation) }
            return .tls("\(error)")
        }
    }
}
