import Access
import Basics
import Broker
import EventLoops
import HTTPModel
import Server

/// A request that did not come over HTTP, such as a command from an MQTT broker. The API answers it like any other; the whole answer goes
/// to `completion`.
final class LocalRequest: ExchangeSink {
    struct Answer: Sendable {
        let status: Int
        let body: [UInt8]

        var isSuccess: Bool { (200..<300).contains(status) }
    }

    private let api: HTTPAPI
    private let completion: (Answer) -> Void

    private init(_ api: HTTPAPI, completion: @escaping (Answer) -> Void) {
        self.api = api
        self.completion = completion
    }

    /// - Parameter number: unique in this process.
    static func perform(
        _ request: BrokerRequest,
        query: String,
        key: String?,
        number: UInt64,
        by caller: Caller,
        _ api: HTTPAPI,
        on loop: isolated EventLoop,
        _ completion: @escaping (Answer) -> Void
    ) {
        let method = HTTPMethod(Array(request.method.rawValue.utf8))
        guard var head = try? RequestHead(method: method, target: request.path + query) else {
            return completion(Answer(status: 404, body: []))
        }
        if let type = request.contentType { head.fields.append(.contentType, type) }
        if !request.body.isEmpty { head.fields.append(.contentLength, request.body.count) }
        if let match = request.ifMatch { head.fields.append(.ifMatch, match) }
        if let key { head.fields.append(.idempotencyKey, key) }
        let exchange = Exchange(
            head: head,
            connection: ConnectionInfo(listener: .unix, remote: .unix(path: caller.label), local: .unix(path: "")),
            number: number,
            sink: LocalRequest(api, completion: completion),
            on: loop
        )
        exchange.body = request.body
        api.perform(exchange, by: caller, on: loop)
    }

    // MARK: ExchangeSink

    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {
        api.finished(exchange, on: loop)
        completion(Answer(status: Int(response.head.status.code), body: response.body))
    }

    /// The routes that are asked here stream nothing, because the request does not ask for a stream.
    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {}
    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome { .gone }
    func end(_ exchange: Exchange, on loop: isolated EventLoop) { abort(exchange, on: loop) }

    func abort(_ exchange: Exchange, on loop: isolated EventLoop) {
        api.finished(exchange, on: loop)
        completion(Answer(status: 503, body: []))
    }

    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop) {}
    func directTarget(for exchange: Exchange) -> SharedBytesTarget? { nil }
    func directTargetWaits(for exchange: Exchange, on loop: isolated EventLoop) {}
    func waitingBytes(of exchange: Exchange) -> Int { 0 }
    func isBehind(_ exchange: Exchange) -> Bool { false }
    func limitWaiting(to bytes: Int, for exchange: Exchange) {}
}
