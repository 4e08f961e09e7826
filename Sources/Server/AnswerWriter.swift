import EventLoops
import Exchanges
import HTTP1
import HTTPModel

/// Puts answers into HTTP/1.1 form.
enum AnswerWriter {
    static func append(
        _ response: Response,
        to request: RequestHead?,
        keepAlive: Bool,
        server: HTTPServer,
        into out: inout [UInt8],
        on loop: isolated EventLoop
    ) {
        var response = response
        if let request { ContentCoding.apply(to: &response, accepted: request, from: server.limits.compressFrom) }
        server.updateDate(on: loop)
        HTTP1Encoder.appendHead(
            response.head,
            bodyEnd: .length(response.body.count),
            connection: keepAlive ? (request?.version == .http10 ? .keepAlive : .implied) : .close,
            date: server.date,
            common: server.commonFields,
            to: &out
        )
        if let request, HTTP1Encoder.omitsBody(method: request.method, status: response.head.status) { return }
        out.append(contentsOf: response.body)
    }

    /// The head of a body that ends with the connection.
    static func appendStreamHead(
        _ head: ResponseHead,
        server: HTTPServer,
        into out: inout [UInt8],
        on loop: isolated EventLoop
    ) {
        server.updateDate(on: loop)
        HTTP1Encoder.appendHead(
            head,
            bodyEnd: .close,
            connection: .close,
            date: server.date,
            common: server.commonFields,
            to: &out
        )
    }
}
