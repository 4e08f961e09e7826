import Basics
import EventLoops
import Exchanges
import HTTPModel

/// Puts answers into HTTP/1.1 form: the fields every answer has, then its own.
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
        let status = response.head.status
        start(response.head, server: server, into: &out, on: loop)
        if !status.forbidsContentLength {
            out.append(contentsOf: contentLength)
            out.append(decimal: response.body.count)
            out.append(contentsOf: lineEnd)
        }
        if !keepAlive {
            out.append(contentsOf: connectionClose)
        } else if request?.version == .http10 {
            out.append(contentsOf: connectionKeepAlive)
        }
        out.append(contentsOf: lineEnd)
        if request?.method != .head, !status.forbidsBody { out.append(contentsOf: response.body) }
    }

    /// The head of a body that ends with the connection.
    static func appendStreamHead(
        _ head: ResponseHead,
        server: HTTPServer,
        into out: inout [UInt8],
        on loop: isolated EventLoop
    ) {
        start(head, server: server, into: &out, on: loop)
        out.append(contentsOf: connectionClose)
        out.append(contentsOf: lineEnd)
    }

    private static let versionAndBlank = Array("HTTP/1.1 ".utf8)
    private static let contentLength = Array("Content-Length: ".utf8)
    private static let connectionClose = Array("Connection: close\r\n".utf8)
    private static let connectionKeepAlive = Array("Connection: keep-alive\r\n".utf8)
    private static let lineEnd: [UInt8] = [0x0D, 0x0A]

    private static func start(
        _ head: ResponseHead,
        server: HTTPServer,
        into out: inout [UInt8],
        on loop: isolated EventLoop
    ) {
        out.append(contentsOf: versionAndBlank)
        out.append(decimal: head.status.code)
        out.append(UInt8(ascii: " "))
        out.append(contentsOf: head.status.reason.utf8)
        out.append(contentsOf: lineEnd)
        out.append(contentsOf: server.dateLine(on: loop))
        out.append(contentsOf: server.commonFields)
        out.append(contentsOf: head.fields.bytes)
    }
}
