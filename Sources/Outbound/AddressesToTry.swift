import EventLoops
import POSIX
import TLS

/// The addresses of one host, tried in turn.
struct AddressesToTry {
    private var left: ArraySlice<SocketAddress>
    /// Why the last one failed.
    var lastError = "the name is not known"

    init(_ found: [SocketAddress] = []) {
        left = found[...]
    }

    /// Begins to connect to the next address; nil if none is left. The handler hears how it went.
    /// - Parameter permit: asked before each write.
    mutating func next(
        for handler: any StreamHandler,
        sendLimit: Int,
        permit: Permit? = nil,
        on loop: isolated EventLoop,
        session: () throws(TLSError) -> TLSSession?
    ) throws(TLSError) -> StreamConnection? {
        while let address = left.popFirst() {
            let session = try session()
            do throws(SystemError) {
                let stream = StreamConnection(
                    try Socket.connect(to: address),
                    tls: session,
                    isConnected: false,
                    sendLimit: sendLimit,
                    permit: permit
                )
                try stream.start(handler, on: loop)
                return stream
            } catch {
                lastError = error.reason
            }
        }
        return nil
    }
}
