import EventLoops
import HTTP1
import HTTPModel

/// Serialises answers as HTTP/1.1.
enum AnswerWriter {
    static func append(
        _ response: borrowing Response,
        to exchange: Exchange?,
        keepAlive: Bool,
        server: HTTPServer,
        into out: inout [UInt8],
        on loop: isolated EventLoop
    ) {
        if let exchange, ContentCoding.concerns(response, from: server.limits.compressFrom) {
            var coded = copy response
            ContentCoding.apply(to: &coded, accepted: exchange.head)
            appendWhole(coded, to: exchange, keepAlive: keepAlive, server: server, into: &out, on: loop)
        } else {
            appendWhole(response, to: exchange, keepAlive: keepAlive, server: server, into: &out, on: loop)
        }
    }

    private static func appendWhole(
        _ response: borrowing Response,
        to exchange: Exchange?,
        keepAlive: Bool,
        server: HTTPServer,
        into out: inout [UInt8],
        on loop: isolated EventLoop
    ) {
        server.updateDate(on: loop)
        let isOld = if case .http10? = exchange?.version { true } else { false }
        HTTP1Encoder.appendHead(
            response.head,
            bodyEnd: .length(response.body.count),
            connection: keepAlive ? (isOld ? .keepAlive : .implied) : .close,
            date: server.date,
            common: server.commonFields,
            to: &out
        )
        if let exchange, HTTP1Encoder.omitsBody(method: exchange.method, status: response.head.status) { return }
        out.append(contentsOf: response.body)
    }

    /// The head of an answer whose body ends with its last chunk, or with the connection.
    static func appendStreamHead(
        _ head: ResponseHead,
        isChunked: Bool,
        server: HTTPServer,
        into out: inout [UInt8],
        on loop: isolated EventLoop
    ) {
        server.updateDate(on: loop)
        HTTP1Encoder.appendHead(
            head,
            bodyEnd: isChunked ? .chunked : .close,
            connection: .close,
            date: server.date,
            common: server.commonFields,
            to: &out
        )
    }
}
