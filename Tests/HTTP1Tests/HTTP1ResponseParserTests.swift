import HTTP1
import HTTPModel
import Testing

struct HTTP1ResponseParserTests {
    struct Outcome: Equatable {
        var status: Int?
        var fields: [String] = []
        var body: [UInt8] = []
        var ended = false
        var keepAlive = false
        var refusal: HTTP1ParseError?
        var rest = 0
    }

    /// - Parameter closes: the peer closes after the last byte.
    static func parse(
        _ bytes: [UInt8],
        method: HTTPMethod = .get,
        cuts: [Int] = [],
        closes: Bool = true,
        limits: HTTP1Limits = .client
    ) -> Outcome {
        var parser = HTTP1ResponseParser(requestMethod: method, limits: limits)
        var outcome = Outcome()
        var start = 0
        do throws(HTTP1ParseError) {
            for cut in cuts + [bytes.count] {
                let piece = Array(bytes[start..<cut])
                start = cut
                var offset = 0
                pieces: while true {
                    switch try parser.next(in: piece.span, from: &offset) {
                    case .needMore: break pieces
                    case .head:
                        outcome.status = Int(parser.head.status.code)
                        outcome.fields = parser.head.fields.indices.map { parser.head.fields.name(at: $0) }
                        outcome.keepAlive = parser.keepAlive
                    case .body(let range): outcome.body += piece[range]
                    case .end:
                        outcome.rest += piece.count - offset
                        break pieces
                    }
                }
            }
            outcome.ended = parser.isEnded
            if closes { outcome.ended = try parser.receiveEnd() }
        } catch {
            outcome.refusal = error
        }
        return outcome
    }

    struct Sample: Sendable {
        var raw: String
        var method: HTTPMethod = .get
        var status: Int
        var body: String
        var keepAlive = true
        var rest = 0
    }

    private static let responses: [Sample] = [
        Sample(raw: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", status: 200, body: "ok"),
        Sample(raw: "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n", status: 200, body: ""),
        Sample(
            raw: "HTTP/1.1 200 \r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
            status: 200,
            body: "ok",
            keepAlive: false
        ),
        Sample(
            raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX: y\r\n\r\n",
            status: 200,
            body: "ok"
        ),
        Sample(
            raw: "HTTP/1.1 200 OK\r\nX: y\r\n\r\nuntil the end",
            status: 200,
            body: "until the end",
            keepAlive: false
        ),
        Sample(raw: "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", status: 200, body: "ok", keepAlive: false),
        Sample(
            raw:
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
            status: 204,
            body: ""
        ),
        Sample(raw: "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", method: .head, status: 200, body: ""),
        Sample(raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", method: .head, status: 200, body: ""),
        Sample(raw: "HTTP/1.1 304 Not Modified\r\nContent-Length: 10\r\n\r\n", status: 304, body: ""),
        Sample(
            raw: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\u{81}\u{00}",
            status: 101,
            body: "",
            rest: 2
        ),
    ]

    @Test(arguments: responses)
    func `is taken whole, byte by byte and at every cut`(_ sample: Sample) {
        let bytes = [UInt8](raw: sample.raw)
        let whole = Self.parse(bytes, method: sample.method)
        #expect(whole.refusal == nil)
        #expect(whole.status == sample.status)
        #expect(whole.body == Array(sample.body.utf8))
        #expect(whole.ended)
        #expect(whole.keepAlive == sample.keepAlive)
        #expect(whole.rest == sample.rest)
        #expect(Self.parse(bytes, method: sample.method, cuts: Array(1..<bytes.count)) == whole)
        for cut in 1..<bytes.count { #expect(Self.parse(bytes, method: sample.method, cuts: [cut]) == whole) }
    }

    private static let badResponses: [(String, HTTP1ParseError)] = [
        ("HTTP/1.1 20 OK\r\n\r\n", HTTP1ParseError.badStatusLine), ("HTTP/1.1 2000 OK\r\n\r\n", .badStatusLine),
        ("HTTP/2 200 OK of some length\r\n\r\n", .badStatusLine), ("HTTP/1.1 099 OK\r\n\r\n", .badStatusLine),
        ("ICY 200 OK and more\r\n\r\n", .badStatusLine), ("HTTP/1.1  200 OK\r\n\r\n", .badStatusLine),
        ("HTTP/1.1 200 OK\nX: y\r\n\r\n", .bareLF), ("HTTP/1.1 200 O\u{0}K\r\n\r\n", .controlByte(0)),
        ("HTTP/1.1 200 OK\r\nX : y\r\n\r\n", .badFieldName), ("HTTP/1.1 200 OK\r\nX: y\r\n z\r\n\r\n", .foldedLine),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", .repeatedContentLength),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", .lengthAndTransferEncoding),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", .unknownTransferCoding),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", .transferEncodingInHTTP10),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n", .badChunkSize),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc", .endedEarly), ("HTTP/1.1 200 OK\r\n", .endedEarly),
        ("", .endedEarly), ("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", .bodyTooLarge(limit: 20)),
        ("HTTP/1.1 200 OK\r\n\r\n012345678901234567890", .bodyTooLarge(limit: 20)),
    ]

    @Test(arguments: badResponses)
    func `a bad response is refused, however it is cut`(_ raw: String, _ error: HTTP1ParseError) {
        let bytes = [UInt8](raw: raw)
        let limits = HTTP1Limits(body: 20)
        #expect(Self.parse(bytes, limits: limits).refusal == error)
        for cut in bytes.indices.dropFirst() {
            #expect(Self.parse(bytes, cuts: [cut], limits: limits).refusal == error)
        }
    }

    @Test func `interim responses do not go on for ever`() {
        let bytes = [UInt8](raw: String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 17))
        #expect(Self.parse(bytes).refusal == .badStatusLine)
    }
}
