package import EventLoops
import WebSocket

/// The way from a connection's frames to its stream. A test double may cut frames or bytes in pieces.
package protocol DemoDelivery: AnyObject {
    /// The WebSocket frames that carry one text message.
    func frames(for message: [UInt8]) -> [UInt8]
    func write(_ bytes: [UInt8], to stream: StreamConnection, on loop: isolated EventLoop)
    /// Closes the stream after everything is written.
    func finish(_ stream: StreamConnection, on loop: isolated EventLoop)
}

/// One frame per message, written as a whole.
package final class DirectDelivery: DemoDelivery {
    package init() {}

    package func frames(for message: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(message.count + 10)
        WebSocketEncoder.append(.text, message.span, isFinal: true, mask: nil, to: &output)
        return output
    }

    package func write(_ bytes: [UInt8], to stream: StreamConnection, on loop: isolated EventLoop) {
        if stream.send(bytes, on: loop) == .overflow { stream.close(on: loop) }
    }

    package func finish(_ stream: StreamConnection, on loop: isolated EventLoop) { stream.closeWhenSent(on: loop) }
}
