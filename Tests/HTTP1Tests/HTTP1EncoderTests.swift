import HTTP1
import HTTPModel
import Testing

struct HTTP1EncoderTests {
    static let date = HTTP1DateLine(unixSeconds: 784_111_777)

    func encode(
        _ head: ResponseHead,
        _ end: HTTP1BodyEnd,
        _ connection: HTTP1ConnectionField = .implied
    ) -> String {
        var output: [UInt8] = []
        HTTP1Encoder.appendHead(head, bodyEnd: end, connection: connection, date: Self.date, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test func `a head is the status line, Date, fields, framing and an empty line`() {
        var head = ResponseHead(.ok, contentType: "application/json")
        head.fields.append("Ladle-Version", "1")
        #expect(
            encode(head, .length(12)) == """
                HTTP/1.1 200 OK\r
                Date: Sun, 06 Nov 1994 08:49:37 GMT\r
                Content-Type: application/json\r
                Ladle-Version: 1\r
                Content-Length: 12\r
                \r\n
                """
        )
        #expect(encode(head, .chunked, .close).hasSuffix("Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"))
        #expect(encode(head, .close, .keepAlive).hasSuffix("Ladle-Version: 1\r\nConnection: keep-alive\r\n\r\n"))
        #expect(encode(ResponseHead(HTTPStatus(599)), .none).hasPrefix("HTTP/1.1 599 \r\n"))
    }

    @Test func `framing fields of a handler are left out`() {
        var head = ResponseHead(.ok)
        head.fields.append(.contentLength, 99)
        head.fields.append(.transferEncoding, "chunked")
        head.fields.append(.connection, "close")
        head.fields.append(.etag, "\"1\"")
        #expect(
            encode(head, .length(0)).hasSuffix("GMT\r\nETag: \"1\"\r\nContent-Length: 0\r\n\r\n")
        )
    }

    @Test func `an upgrade answer keeps its Connection field`() {
        var head = ResponseHead(.switchingProtocols)
        head.fields.append(.connection, "Upgrade")
        head.fields.append(.upgrade, "websocket")
        #expect(encode(head, .none).hasSuffix("GMT\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"))
    }

    @Test(arguments: [100, 204, 304])
    func `statuses without body have no framing`(_ code: Int) {
        let text = encode(ResponseHead(HTTPStatus(code)), .length(5))
        #expect(!text.contains("Content-Length"))
        #expect(!encode(ResponseHead(HTTPStatus(code)), .chunked).contains("Transfer-Encoding"))
        #expect(HTTP1Encoder.omitsBody(method: .get, status: HTTPStatus(code)))
        #expect(HTTP1Encoder.omitsBody(method: .head, status: .ok))
        #expect(!HTTP1Encoder.omitsBody(method: .get, status: .ok))
    }

    @Test(arguments: [(1, "1"), (15, "f"), (16, "10"), (255, "ff"), (4096, "1000"), (1_048_577, "100001")])
    func `chunks are framed`(_ count: Int, _ size: String) {
        let data = [UInt8](repeating: 0x61, count: count)
        var output: [UInt8] = [0x21]
        HTTP1Encoder.appendChunk(data, to: &output)
        #expect(output == [0x21] + Array("\(size)\r\n".utf8) + data + [0x0D, 0x0A])
        var other: [UInt8] = [0x21]
        HTTP1Encoder.appendChunk(data.span, to: &other)
        #expect(other == output)
        HTTP1Encoder.appendChunk([], to: &output)
        #expect(other == output)
    }

    @Test func `the date line changes with the second only`() {
        var line = HTTP1DateLine(unixSeconds: 0)
        line.update(unixSeconds: 59)
        #expect(String(decoding: line.bytes, as: UTF8.self) == "Date: Thu, 01 Jan 1970 00:00:59 GMT\r\n")
    }

    @Test func `a request of ours is taken by the server side`() throws {
        var head = try RequestHead(method: .post, target: "/v1/messages?wait=5")
        head.fields.append(.contentType, "application/json")
        head.fields.append(.contentLength, 77)
        var bytes: [UInt8] = []
        HTTP1RequestEncoder.appendHead(head, host: "localhost:1\r\nX: y", body: .length(2), to: &bytes)
        #expect(RequestTranscript(bytes + [0x7B, 0x7D]).refusal == .badHost)
        bytes = []
        HTTP1RequestEncoder.appendHead(head, host: "localhost:1", body: .length(2), to: &bytes)
        let transcript = RequestTranscript(bytes + [0x7B, 0x7D])
        #expect(transcript.refusal == nil)
        #expect(transcript.requests.first?.body == [0x7B, 0x7D])
        #expect(
            transcript.requests.first?.fields == [
                "Host=localhost:1", "Content-Type=application/json", "Content-Length=2",
            ]
        )
        bytes = []
        HTTP1RequestEncoder.appendHead(head, host: "localhost", body: .chunked, to: &bytes)
        HTTP1Encoder.appendChunk(Array("hello".utf8), to: &bytes)
        bytes += HTTP1Encoder.lastChunk
        #expect(RequestTranscript(bytes).requests.first?.body == Array("hello".utf8))
    }
}
