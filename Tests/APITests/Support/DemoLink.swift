import Basics
import DemoGateway
import EventLoops
import Gateway
import JSONBytes
import Service
import Testing
import Upstream

/// The demo gateway behind a `ServiceBench`, without sockets: it answers the services' calls and sends its events, on
/// the bench's clock.
final class DemoLink {
    let gateway: GatewayBench
    private unowned let bench: ServiceBench
    private var client: TestClient?
    private var frames = 0
    private var calls: [String: CallID] = [:]
    private var timer: TimerID?

    init(
        _ bench: ServiceBench,
        _ change: (inout DemoGatewayOptions) -> Void,
        on loop: isolated EventLoop
    ) throws {
        self.bench = bench
        gateway = try GatewayBench(startingAt: bench.clock.wall, change)
        bench.gateway.responder = { [unowned self] request in
            send(request, on: loop)
            return .later
        }
    }

    func open(on loop: isolated EventLoop) async throws {
        followClock()
        let client = gateway.client()
        let hello = try #require(Hello(client.response("c")?["payload"], requested: []))
        if hello.methods.contains("sessions.subscribe") { client.call("sessions.subscribe") }
        frames = client.frames.count
        self.client = client
        try await bench.open(hello, on: loop)
    }

    /// Ends the connection; the gateway continues its runs.
    func drop(on loop: isolated EventLoop) async throws {
        if let client { gateway.take(gateway.core.closed(client.id, nil, now: gateway.now)) }
        client = nil
        calls = [:]
        try await bench.drop(on: loop)
    }

    private func send(_ request: ScriptedGateway.Request, on loop: isolated EventLoop) {
        followClock()
        let id = "k\(request.id.number)"
        calls[id] = request.id
        let params = String(decoding: request.params.raw, as: UTF8.self)
        client?.send(#"{"type":"req","id":"\#(id)","method":"\#(request.method)","params":\#(params)}"#)
        loop.after(nanoseconds: 0) { self.deliver(on: loop) }
    }

    /// Also does the gateway's work that is due now.
    private func followClock() { gateway.run(ms: max(0, bench.clock.wall.milliseconds - gateway.wallMs)) }

    /// Delivers the received frames in order.
    private func deliver(on loop: isolated EventLoop) {
        followClock()
        guard let client else { return }
        while frames < client.frames.count {
            let frame = client.frames[frames]
            frames += 1
            if let id = frame["id"]?.string.flatMap({ calls.removeValue(forKey: $0) }) {
                let isOK = frame["ok"]?.bool == true
                bench.gateway.answer(
                    id,
                    isOK
                        ? .ok(frame["payload"]) : .failed(GatewayError(frame["error"]), payload: frame["payload"])
                )
            } else if let name = frame["event"]?.string, name != "tick" {
                bench.services.events.notify(.gatewayEvent(GatewayEvent(name: name, frame)), on: loop)
            }
        }
        watch(on: loop)
    }

    /// Wakes up when the gateway has something to send.
    private func watch(on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = gateway.core.nextDeadline.map { due in
            let now = gateway.now.monotonic
            // Whole milliseconds, the unit in which the two clocks are compared.
            let wait = due > now ? (due - now + 999_999) / 1_000_000 : 0
            return loop.after(milliseconds: Int64(wait)) { self.deliver(on: loop) }
        }
    }
}
