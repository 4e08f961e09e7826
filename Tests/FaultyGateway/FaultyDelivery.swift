import DemoGateway
import EventLoops
import WebSocket

/// Delivers the bytes of one connection as the faults require.
final class FaultyDelivery: DemoDelivery {
    private static let sendLimit = 64 << 20

    private unowned let gateway: FaultyGateway
    private let direct = DirectDelivery()
    private weak var stream: StreamConnection?
    /// Bytes still to be written in small pieces.
    private var torn: [UInt8] = []
    private var tornStart = 0
    private var isTearing = false
    private var endsAfterTorn = false

    init(_ gateway: FaultyGateway) { self.gateway = gateway }

    /// Writes bytes that belong to no WebSocket frame.
    func writeRaw(_ bytes: [UInt8], on loop: isolated EventLoop) {
        if let stream { write(bytes, to: stream, on: loop) }
    }

    func frames(for message: [UInt8]) -> [UInt8] {
        guard case .fragmented(let size) = gateway.faults.delivery else { return direct.frames(for: message) }
        var output: [UInt8] = []
        var start = 0
        repeat {
            let end = min(start + size, message.count)
            WebSocketEncoder.append(
                start == 0 ? .text : .continuation,
                message.span.extracting(start..<end),
                isFinal: end == message.count,
                mask: nil,
                to: &output
            )
            start = end
        } while start < message.count
        return output
    }

    func write(_ bytes: [UInt8], to stream: StreamConnection, on loop: isolated EventLoop) {
        self.stream = stream
        let delivery = gateway.faults.delivery
        guard case .torn(let size, let pause) = delivery else {
            // While older bytes are being torn, newer ones wait behind them.
            if isTearing { torn += bytes } else { direct.write(bytes, to: stream, on: loop) }
            return
        }
        guard torn.count - tornStart + bytes.count <= Self.sendLimit else { return stream.close(on: loop) }
        torn += bytes
        if !isTearing { tear(size, everyMs: pause, on: loop) }
    }

    func finish(_ stream: StreamConnection, on loop: isolated EventLoop) {
        if isTearing { endsAfterTorn = true } else { direct.finish(stream, on: loop) }
    }

    private func tear(_ size: Int, everyMs pause: Int, on loop: isolated EventLoop) {
        guard let stream else { return }
        let end = min(tornStart + size, torn.count)
        let outcome = stream.send(torn.span.extracting(tornStart..<end), on: loop)
        tornStart = end
        guard tornStart < torn.count, outcome != .closed, outcome != .overflow else {
            torn = []
            tornStart = 0
            isTearing = false
            if outcome == .overflow { stream.close(on: loop) } else if endsAfterTorn { stream.closeWhenSent(on: loop) }
            return
        }
        isTearing = true
        if tornStart > 1 << 16 {
            torn.removeSubrange(..<tornStart)
            tornStart = 0
        }
        loop.after(milliseconds: Int64(pause)) { [weak self] in self?.tear(size, everyMs: pause, on: loop) }
    }
}
