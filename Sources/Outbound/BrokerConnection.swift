import Basics
package import EventLoops
package import MQTT
import POSIX
package import TLS

/// Receives what one connection to a broker reports, on its loop.
package protocol BrokerConnectionHandler: AnyObject {
    /// After `ended` nothing more is reported.
    func brokerReported(_ event: MQTTEvent, on loop: isolated EventLoop)
    /// The connection could not be opened, or broke below MQTT; the last call.
    func brokerUnreachable(_ failure: BrokerConnection.Failure, on loop: isolated EventLoop)
    /// Bytes that waited have gone, so more may be published.
    func brokerHasRoom(on loop: isolated EventLoop)
}

/// One connection to a broker as its user sees it.
package protocol BrokerLine: AnyObject {
    var limits: MQTTBrokerLimits? { get }
    /// Whether another message of QoS 1 may be published now.
    var hasRoom: Bool { get }
    /// The broker has not answered the subscriptions yet.
    var isSubscribing: Bool { get }
    func open(on loop: isolated EventLoop)
    /// - Returns: the QoS with which it went.
    func publish(_ message: MQTTMessage, token: UInt64, on loop: isolated EventLoop) throws(MQTTRefusal) -> MQTTQoS
    func acknowledge(_ delivery: MQTTDelivery.ID, _ reason: MQTTReason, on loop: isolated EventLoop)
    /// Says goodbye; nothing is reported after this.
    func close(final message: MQTTMessage?, on loop: isolated EventLoop)
}

/// The address of a broker, and how it is reached.
package struct BrokerTarget: Sendable {
    package var host: String
    package var port: UInt16
    /// The path of the WebSocket; nil without one.
    package var path: String?
    /// Nil without TLS.
    package var trust: TLSTrust?
    package var identity: TLSIdentity?

    package init(host: String, port: UInt16, path: String?, trust: TLSTrust?, identity: TLSIdentity?) {
        (self.host, self.port, self.path, self.trust, self.identity) = (host, port, path, trust, identity)
    }

    /// As in the `Host` field.
    fileprivate var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (trust == nil ? 80 : 443) ? name : "\(name):\(port)"
    }
}

/// One connection to an MQTT broker: looks the host up, connects, moves the bytes of an `MQTTClient` and arms its timer.
package final class BrokerConnection: BrokerLine, StreamHandler {
    package enum Failure: Sendable, Equatable {
        case network(String)
        case tls(String)
        case webSocket(String)
    }

    /// The look-up, all addresses and the handshakes together.
    private static let connectMs: Int64 = 10_000
    /// Beyond what the window holds: acknowledgements and pings.
    private static let sendLimit = 4 << 20
    /// Above this, nothing more is published until the kernel has taken it.
    private static let mostWaiting = 1 << 20
    private static let farewellMs: Int64 = 2_000
    /// One message of a WebSocket may have several packets, the last of them large.
    private static let webSocketSlack = 1 << 20

    private let target: BrokerTarget
    private var client: MQTTClient
    private weak var handler: (any BrokerConnectionHandler)?
    private var addresses = AddressesToTry()
    private var stream: StreamConnection?
    private var webSocket: BrokerWebSocket?
    /// The stream is open, with TLS where it is used.
    private var isStreamOpen = false
    private var connectTimer: TimerID?
    private var timer: (id: TimerID, at: Int64)?
    private var isOver = false
    private var isSending = false

    package init(_ target: BrokerTarget, _ client: MQTTClient, _ handler: any BrokerConnectionHandler) {
        (self.target, self.client, self.handler) = (target, client, handler)
        webSocket = target.path.map { path in
            let limit = client.settings.maximumIncomingPacket + Self.webSocketSlack
            return BrokerWebSocket(host: target.authority, path: path, limit: limit)
        }
    }

    package func open(on loop: isolated EventLoop) {
        connectTimer = loop.after(milliseconds: Self.connectMs) { [weak self] in
            self?.fail(.network("no connection within 10 s"), on: loop)
        }
        if let address = SocketAddress(host: target.host, port: target.port) {
            addresses = AddressesToTry([address])
            // In a later turn, so that a refusal does not come before `open` has returned.
            loop.after(milliseconds: 0) { [weak self] in self?.connectNext(on: loop) }
            return
        }
        let bound = LoopBound(self, on: loop)
        Resolver.resolve(host: target.host, port: target.port, for: loop) { found, loop in
            guard let connection = bound.value(on: loop), !connection.isOver else { return }
            connection.addresses = AddressesToTry(found)
            connection.connectNext(on: loop)
        }
    }

    private func connectNext(on loop: isolated EventLoop) {
        guard !isOver else { return }
        do throws(TLSError) {
            stream = try addresses.next(for: self, sendLimit: Self.sendLimit, on: loop, session: session)
        } catch {
            return fail(.tls("\(error)"), on: loop)
        }
        if stream == nil { fail(.network(addresses.lastError), on: loop) }
    }

    private func session() throws(TLSError) -> TLSSession? {
        guard let trust = target.trust else { return nil }
        let context = try TLSClientContext(
            trust: trust,
            protocols: [target.path == nil ? "mqtt" : "http/1.1"],
            identity: target.identity
        )
        return try context.makeSession(host: target.host)
    }

    // MARK: Commands

    package var limits: MQTTBrokerLimits? { client.limits }

    package var isSubscribing: Bool { client.isSubscribing }

    package var hasRoom: Bool {
        client.freeWindow > 0 && (stream?.waitingBytes ?? Self.mostWaiting) < Self.mostWaiting
    }

    package func publish(
        _ message: MQTTMessage,
        token: UInt64,
        on loop: isolated EventLoop
    ) throws(MQTTRefusal) -> MQTTQoS {
        let qos = try client.publish(message, token: token, now: Self.time(loop))
        flush(on: loop)
        return qos
    }

    package func acknowledge(_ delivery: MQTTDelivery.ID, _ reason: MQTTReason, on loop: isolated EventLoop) {
        client.acknowledge(delivery, reason, now: Self.time(loop))
        flush(on: loop)
    }

    package func close(final message: MQTTMessage?, on loop: isolated EventLoop) {
        guard !isOver else { return }
        handler = nil
        _ = client.stop(final: message, now: Self.time(loop))
        if let stream, stream.isOpen {
            _ = stream.send(framed(client.takeOutput()) + closing(), on: loop)
            stream.closeWhenSent(on: loop)
            loop.after(milliseconds: Self.farewellMs) { [weak stream] in stream?.close(on: loop) }
        } else {
            stream?.close(on: loop)
        }
        end(on: loop)
    }

    // MARK: The stream

    package func connected(on loop: isolated EventLoop) {
        isStreamOpen = true
        guard let webSocket else { return opened(on: loop) }
        _ = stream?.send(webSocket.request, on: loop)
    }

    /// Packets may go.
    private func opened(on loop: isolated EventLoop) {
        if let connectTimer { loop.cancel(connectTimer) }
        connectTimer = nil
        report(client.opened(now: Self.time(loop)), on: loop)
    }

    package func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        guard !isOver else { return }
        if webSocket != nil { return unwrap(bytes, on: loop) }
        report(client.receive(bytes, now: Self.time(loop)), on: loop)
    }

    private func unwrap(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        var received = BrokerWebSocket.Received()
        do throws(BrokerWebSocket.Failure) {
            if let found = try webSocket?.receive(bytes) { received = found }
        } catch {
            return fail(.webSocket("\(error)"), on: loop)
        }
        if !received.answers.isEmpty { _ = stream?.send(received.answers, on: loop) }
        if received.isOpened { opened(on: loop) }
        for payload in received.payloads where !isOver {
            report(client.receive(payload.span, now: Self.time(loop)), on: loop)
        }
        if received.isClosed { report(client.closed(), on: loop) }
    }

    package func receivedEnd(on loop: isolated EventLoop) { gone(on: loop) }

    /// The broker closed the open stream.
    private func gone(on loop: isolated EventLoop) {
        guard connectTimer == nil else {
            return fail(.webSocket("the server closed the connection before the WebSocket was open"), on: loop)
        }
        report(client.closed(), on: loop)
    }

    package func drained(on loop: isolated EventLoop) {
        if !isOver { handler?.brokerHasRoom(on: loop) }
    }

    package func closed(_ reason: CloseReason, on loop: isolated EventLoop) {
        guard !isOver else { return }
        // A write that finds the broker gone is in the middle of its caller's work, which must not lose the ground under it.
        if isSending {
            loop.after(milliseconds: 0) { self.closed(reason, on: loop) }
            return
        }
        let wasOpen = isStreamOpen
        let hasSpoken = target.trust != nil && (stream?.takenBytes ?? 0) > 0
        stream = nil
        switch reason {
        // The name's other addresses have the same certificate.
        case .tls(let error): fail(.tls(error.reasons.first ?? error.operation), on: loop)
        // The handshake had begun, so something listens there.
        case .lost(let error) where !wasOpen && hasSpoken: fail(.tls(error.reason), on: loop)
        case .lost(let error) where !wasOpen:
            addresses.lastError = error.reason
            connectNext(on: loop)
        case .lost, .closedHere: gone(on: loop)
        }
    }

    // MARK: The session

    private func report(_ events: [MQTTEvent], on loop: isolated EventLoop) {
        flush(on: loop)
        for event in events {
            guard !isOver else { return }
            if case .ended = event {
                let (owner, last) = (handler, stream)
                end(on: loop)
                let farewell = closing()
                if !farewell.isEmpty, last?.waitingBytes == 0 { _ = last?.send(farewell, on: loop) }
                // Bytes that wait show that the broker has stopped reading.
                if last?.waitingBytes == 0 { last?.closeWhenSent(on: loop) } else { last?.close(on: loop) }
                owner?.brokerReported(event, on: loop)
                return
            }
            handler?.brokerReported(event, on: loop)
        }
    }

    private func flush(on loop: isolated EventLoop) {
        let bytes = client.takeOutput()
        if !bytes.isEmpty, let stream {
            isSending = true
            _ = stream.send(framed(bytes), on: loop)
            isSending = false
        }
        armTimer(on: loop)
    }

    private func framed(_ bytes: [UInt8]) -> [UInt8] { webSocket?.frame(bytes) ?? bytes }

    private func closing() -> [UInt8] { webSocket?.closing() ?? [] }

    private static func time(_ loop: isolated EventLoop) -> Int64 { Int64(loop.now / 1_000_000) }

    private func armTimer(on loop: isolated EventLoop) {
        guard !isOver, let at = client.nextDeadline else { return }
        if let timer, timer.at <= at { return }
        if let timer { loop.cancel(timer.id) }
        let id = loop.after(milliseconds: max(at - Self.time(loop), 0)) { [weak self] in
            guard let self, !self.isOver else { return }
            self.timer = nil
            self.report(self.client.tick(now: Self.time(loop)), on: loop)
        }
        timer = (id, at)
    }

    // MARK: The end

    private func fail(_ failure: Failure, on loop: isolated EventLoop) {
        guard !isOver else { return }
        let (owner, last) = (handler, stream)
        end(on: loop)
        last?.close(on: loop)
        owner?.brokerUnreachable(failure, on: loop)
    }

    private func end(on loop: isolated EventLoop) {
        isOver = true
        handler = nil
        stream = nil
        if let connectTimer { loop.cancel(connectTimer) }
        if let timer { loop.cancel(timer.id) }
        (connectTimer, timer) = (nil, nil)
    }
}
