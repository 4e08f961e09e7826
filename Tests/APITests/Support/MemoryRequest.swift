import EventLoops
import HTTPModel
import Server
import TestSupport

/// One request without a connection, which keeps everything the API sends.
final class MemoryRequest: ExchangeSink {
    private(set) var status: Int?
    private(set) var bytes: [UInt8] = []
    private(set) var hasEnded = false
    /// The API ended the request in the middle of an answer.
    private(set) var isCut = false
    private var fields: [(name: String, value: String)] = []
    private var exchange: Exchange?
    private var body: [UInt8] = []
    private let responder: any Responder
    private var room: Int

    /// - Parameters:
    ///   - isWhole: false while the end of the body is still on its way.
    ///   - room: how many pieces of a stream the client takes before it reads no more.
    init(
        _ head: RequestHead,
        _ body: [UInt8],
        isWhole: Bool,
        connection: ConnectionInfo,
        number: UInt64,
        room: Int = .max,
        to responder: any Responder,
        on loop: isolated EventLoop
    ) {
        self.responder = responder
        self.room = room
        self.body = body
        let exchange = Exchange(head: head, connection: connection, number: number, sink: self, on: loop)
        self.exchange = exchange
        if case .takes = responder.admit(exchange, on: loop), isWhole { endBody(on: loop) }
    }

    /// Delivers the rest of the body.
    func endBody(on loop: isolated EventLoop) {
        guard let exchange, exchange.isOpen else { return }
        exchange.body = body
        responder.respond(to: exchange, on: loop)
    }

    /// The client hangs up.
    func leave(on loop: isolated EventLoop) {
        exchange?.peerLeft(on: loop)
        finish(on: loop)
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }
    var answer: Answer? { status.map { Answer(status: $0, fields: fields, body: bytes) } }

    // MARK: ExchangeSink

    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {
        keep(response.head)
        bytes = response.body
        finish(on: loop)
    }

    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) { keep(head) }

    func write(_ more: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome {
        guard room > 0 else { return .full }
        room -= 1
        for place in more.indices { bytes.append(more[place]) }
        return .written
    }

    /// The client reads again.
    func readOn(on loop: isolated EventLoop) {
        room = .max
        exchange?.outputDrained(on: loop)
    }

    func end(_ exchange: Exchange, on loop: isolated EventLoop) { finish(on: loop) }

    func abort(_ exchange: Exchange, on loop: isolated EventLoop) {
        isCut = true
        finish(on: loop)
    }

    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop) { endBody(on: loop) }
    func directTarget(for exchange: Exchange) -> SharedBytesTarget? { nil }
    func directTargetWaits(for exchange: Exchange, on loop: isolated EventLoop) {}
    func waitingBytes(of exchange: Exchange) -> Int { 0 }
    func isBehind(_ exchange: Exchange) -> Bool { false }
    func limitWaiting(to bytes: Int, for exchange: Exchange) {}

    private func keep(_ head: ResponseHead) {
        status = Int(head.status.code)
        fields = head.fields.indices.map {
            (head.fields.name(at: $0), String(decoding: head.fields.value(at: $0), as: UTF8.self))
        }
    }

    private func finish(on loop: isolated EventLoop) {
        hasEnded = true
        guard let exchange else { return }
        self.exchange = nil
        responder.finished(exchange, on: loop)
    }
}
