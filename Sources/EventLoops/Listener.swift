package import POSIX

/// Accepts connections and hands them over. The number per turn is limited, so that a flood of connections cannot hold
/// the loop.
package final class Listener: Pollable {
    private static let acceptsPerTurn = 64
    /// Pause after descriptors or memory ran out. Without it accepting would spin, because the waiting peer keeps the
    /// listener readable.
    private static let pauseMilliseconds: Int64 = 100

    package let address: SocketAddress
    private let socket: Socket
    private var registration: Registration?
    private let accepted: (consuming Socket, SocketAddress) -> Void
    private let failed: (SystemError) -> Void
    private var isClosed = false
    /// True during a shortage, which is reported once and not at each attempt to accept.
    private var isShort = false

    package init(
        _ socket: consuming Socket,
        configured: SocketAddress,
        on loop: isolated EventLoop,
        failed: @escaping (SystemError) -> Void,
        accepted: @escaping (consuming Socket, SocketAddress) -> Void
    ) throws(SystemError) {
        if case .unix = configured { address = configured } else { address = socket.localAddress ?? configured }
        self.socket = socket
        self.accepted = accepted
        self.failed = failed
        registration = try loop.watch(self.socket.descriptor, for: .readable, owner: self)
    }

    package func ready(_ readiness: Readiness, on loop: isolated EventLoop) {
        for _ in 0..<Self.acceptsPerTurn {
            do throws(SystemError) {
                guard !isClosed, try socket.accept({ accepted($0, $1) }) else { return }
                isShort = false
            } catch {
                if !isShort { failed(error) }
                isShort = error.isShortage
                if isShort { pause(on: loop) }
                return
            }
        }
    }

    package func close(on loop: isolated EventLoop) {
        isClosed = true
        if let registration { loop.forget(registration, of: socket.descriptor) }
        registration = nil
    }

    private func pause(on loop: isolated EventLoop) {
        guard let registration else { return }
        loop.change(registration, of: socket.descriptor, to: [])
        loop.after(milliseconds: Self.pauseMilliseconds) { [weak self] in
            guard let self, let registration = self.registration else { return }
            loop.change(registration, of: self.socket.descriptor, to: .readable)
        }
    }
}
