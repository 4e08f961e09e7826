import EventLoops

/// A running demo gateway, for whoever started it, on any thread.
package struct DemoGatewayHandle: Sendable {
    package let port: UInt16
    package let token: String
    private let server: LoopBound<DemoGatewayServer>
    private let loop: EventLoop

    init(port: UInt16, token: String, server: LoopBound<DemoGatewayServer>, loop: EventLoop) {
        self.port = port
        self.token = token
        self.server = server
        self.loop = loop
    }

    package var url: String { "ws://127.0.0.1:\(port)" }

    /// Announces the end, closes every connection and stops listening.
    package func stop() {
        loop.post { [server] loop in server.value(on: loop)?.stop(on: loop) }
    }

    /// What a request to `/demo/...` would do, without HTTP.
    package func control(
        _ method: String,
        _ path: String,
        query: [(name: String, value: String)] = [],
        body: [UInt8] = []
    ) async -> (status: Int, body: [UInt8]) {
        await withCheckedContinuation { continuation in
            loop.post { [server] loop in
                guard let server = server.value(on: loop) else {
                    return continuation.resume(returning: (503, []))
                }
                let answer = server.control(method, path, query, body, on: loop)
                continuation.resume(returning: (answer.status, answer.body))
            }
        }
    }
}
