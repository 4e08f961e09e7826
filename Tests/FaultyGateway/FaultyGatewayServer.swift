import Basics
import DemoGateway
package import EventLoops
package import POSIX

/// A faulty gateway on an event loop: the demo gateway's own server, and a second listener for `/demo/…`.
package final class FaultyGatewayServer {
    package let token: String
    package var port: UInt16 { server.port }
    package private(set) var controlPort: UInt16 = 0

    private struct WeakDelivery {
        weak var delivery: FaultyDelivery?
    }

    private let gateway: FaultyGateway
    private let server: DemoGatewayServer
    private let deliveries: Deliveries
    private var listener: Listener?
    private var controls: [UInt64: ControlConnection] = [:]
    private var lastControl: UInt64 = 0

    private final class Deliveries {
        var all: [WeakDelivery] = []

        func make(_ gateway: FaultyGateway) -> FaultyDelivery {
            let made = FaultyDelivery(gateway)
            all.removeAll { $0.delivery == nil }
            all.append(WeakDelivery(delivery: made))
            return made
        }
    }

    private init(_ options: FaultyGatewayOptions, on loop: isolated EventLoop) throws(SystemError) {
        let gateway = try FaultyGateway(options, primitives: .system, now: DemoGatewayServer.now())
        let deliveries = Deliveries()
        self.gateway = gateway
        self.deliveries = deliveries
        token = options.gateway.token
        server = try DemoGatewayServer.start(
            gateway,
            port: options.gateway.port,
            delivery: { deliveries.make(gateway) },
            on: loop
        )
    }

    package static func start(
        _ options: FaultyGatewayOptions,
        on loop: isolated EventLoop
    ) throws(SystemError) -> FaultyGatewayServer {
        let made = try FaultyGatewayServer(options, on: loop)
        let address = SocketAddress.ip(.loopback4, port: 0)
        let listener = try Listener(
            Socket.listen(on: address),
            configured: address,
            on: loop,
            failed: { _ in },
            accepted: { socket, _ in made.acceptControl(socket, on: loop) }
        )
        made.listener = listener
        made.controlPort = listener.address.port ?? 0
        return made
    }

    package func stop(on loop: isolated EventLoop) {
        server.stop(on: loop)
        listener?.close(on: loop)
        listener = nil
    }

    private func acceptControl(_ socket: consuming Socket, on loop: isolated EventLoop) {
        lastControl += 1
        let number = lastControl
        let connection = ControlConnection(
            socket,
            answer: { [weak self] method, target, body in
                self?.control(method, target, body, on: loop) ?? .init(status: 503, body: [])
            },
            ended: { [weak self] in self?.controls[number] = nil }
        )
        controls[number] = connection
        do {
            try connection.start(on: loop)
        } catch {
            controls[number] = nil
        }
    }

    private func control(
        _ method: String,
        _ target: String,
        _ body: [UInt8],
        on loop: isolated EventLoop
    ) -> ControlSurface.Answer {
        let now = DemoGatewayServer.now()
        let answer = ControlSurface.answer(method, target, body: body, by: gateway, now: now)
        server.perform(answer.actions, on: loop)
        if !answer.rawBytes.isEmpty {
            for weak in deliveries.all { weak.delivery?.writeRaw(answer.rawBytes, on: loop) }
        }
        return answer
    }
}
