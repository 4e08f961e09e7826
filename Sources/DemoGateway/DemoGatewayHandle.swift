import EventLoops

/// A running demo gateway, for the code that started it; usable on any thread.
package struct DemoGatewayHandle: Sendable {
    package let port: UInt16
    package let token: String
    private let server: LoopBound<DemoGatewayServer>
    private let loop: EventLoop

    init(_ server: DemoGatewayServer, token: String, on loop: isolated EventLoop) {
        port = server.port
        self.token = token
        self.server = LoopBound(server, on: loop)
        self.loop = loop
    }

    /// Announces the stop, closes every connection and stops listening.
    package func stop() {
        loop.post { [server] loop in server.value(on: loop)?.stop(on: loop) }
    }
}
