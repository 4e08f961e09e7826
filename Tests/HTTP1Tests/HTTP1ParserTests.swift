import HTTP1
import HTTPModel
import Testing

struct HTTP1ParserTests {
    func expectNext(
        _ parser: inout HTTP1Parser,
        _ bytes: [UInt8],
        _ offset: inout Int,
        _ expected: HTTP1Parser.Event,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let event = try parser.next(bytes, &offset)
        #expect(event == expected, sourceLocation: sourceLocation)
    }

    struct Accepted: Sendable, CustomStringConvertible {
        var description: String
        var raw: String
        var requests: [String]
    }

    static let accepted: [Accepted] = [
        .init(description: "a small GET", raw: "GET / HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["GET / |"]),
        .init(
            description: "curl's GET",
            raw:
                "GET /v1/status?x=1 HTTP/1.1\r\nHost: 127.0.0.1:18780\r\nUser-Agent: curl/7.88.1\r\nAccept: */*\r\n\r\n",
            requests: ["GET /v1/status?x=1 |"]
        ),
        .init(
            description: "a body by length, then a request",
            raw: "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
            requests: ["POST /a |hello", "GET /b |"]
        ),
        .init(
            description: "a chunked body, then a request",
            raw: "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n"
                + "5;a=b;c=\"d\\\"e\";f\r\nhello\r\n00A\r\n, 10 bytes\r\n000\r\nX-Sum: 1\r\nY:\r\n\r\n"
                + "GET /b HTTP/1.1\r\nHost: a\r\n\r\n",
            requests: ["POST /a |hello, 10 bytes", "GET /b |"]
        ),
        .init(
            description: "an empty chunked body",
            raw: "PUT /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            requests: ["PUT /a |"]
        ),
        .init(
            description: "three requests in one piece",
            raw: String(repeating: "GET /x HTTP/1.1\r\nHost: a\r\n\r\n", count: 3),
            requests: ["GET /x |", "GET /x |", "GET /x |"]
        ),
        .init(
            description: "an empty line before each request",
            raw: "\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n",
            requests: ["GET /x |", "GET /y |"]
        ),
        .init(
            description: "Content-Length: 0",
            raw: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n",
            requests: ["POST / |"]
        ),
        .init(description: "HTTP/1.0 without Host", raw: "GET / HTTP/1.0\r\n\r\n", requests: ["GET / |"]),
        .init(description: "OPTIONS *", raw: "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", requests: ["OPTIONS * |"]),
        .init(
            description: "an absolute target",
            raw: "GET http://LocalHost:80/x?y HTTP/1.1\r\nHost: localhost:80\r\n\r\n",
            requests: ["GET /x?y |"]
        ),
        .init(
            description: "an absolute target without path",
            raw: "DELETE HTTPS://a HTTP/1.1\r\nHost: a\r\n\r\n",
            requests: ["DELETE / |"]
        ),
        .init(
            description: "an IPv6 host",
            raw: "PATCH / HTTP/1.1\r\nHost: [::1]:18780\r\n\r\n",
            requests: ["PATCH / |"]
        ),
        .init(
            description: "tabs, blanks and high bytes in and around values",
            raw: "GET / HTTP/1.1\r\nHost:\t a \t\r\nX: \t a\tb  \u{e4}\u{85} \r\nEmpty:\r\n\r\n",
            requests: ["GET / |"]
        ),
        .init(
            description: "what browsers leave unescaped in a query",
            raw: "HEAD /a?b=^`{|}~!$'()*+,;:@[] HTTP/1.1\r\nHost: a\r\n\r\n",
            requests: ["HEAD /a?b=^`{|}~!$'()*+,;:@[] |"]
        ),
    ]

    @Test(arguments: accepted)
    func `is taken whole, byte by byte and at every cut`(_ sample: Accepted) {
        let bytes = [UInt8](raw: sample.raw)
        let whole = RequestTranscript(bytes)
        #expect(whole.refusal == nil)
        #expect(whole.taken == bytes.count)
        #expect(
            whole.requests.map { "\($0.method.name) \($0.target) |\(String(decoding: $0.body, as: UTF8.self))" }
                == sample.requests
        )
        #expect(whole.completeCount == whole.requests.count)
        #expect(RequestTranscript(bytes, cuts: Array(1..<bytes.count)) == whole)
        for cut in 1..<bytes.count {
            #expect(RequestTranscript(bytes, cuts: [cut]) == whole, "cut at \(cut)")
            #expect(RequestTranscript(bytes, cuts: [cut], keepingCapacity: false) == whole, "cut at \(cut)")
        }
    }

    @Test func `values lose the blanks around them and nothing else`() throws {
        let bytes = [UInt8](raw: "GET / HTTP/1.1\r\nHost:\t a \t\r\nX-Y: \t a\tb  \u{85} \r\nEmpty:\r\n\r\n")
        var parser = HTTP1Parser()
        var offset = 0
        try expectNext(&parser, bytes, &offset, .head)
        let head1 = parser.head
        #expect(head1.fields.string(for: .host) == "a")
        let head2 = parser.head
        #expect(head2.fields["x-y"].map(Array.init) == [0x61, 0x09, 0x62, 0x20, 0x20, 0x85])
        let head3 = parser.head
        #expect(head3.fields.string(for: "EMPTY") == "")
        let head4 = parser.head
        #expect(head4.fields.name(at: 1) == "X-Y")
    }

    @Test func `after the end of a request nothing is taken until the next is started`() throws {
        let bytes = [UInt8](raw: "GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n")
        var parser = HTTP1Parser()
        var offset = 0
        try expectNext(&parser, bytes, &offset, .head)
        try expectNext(&parser, bytes, &offset, .end)
        let end = offset
        try expectNext(&parser, bytes, &offset, .end)
        #expect(offset == end)
        parser.startNext(keepingHead: false)
        try expectNext(&parser, bytes, &offset, .head)
        let head5 = parser.head
        #expect(head5.target == "/b")
    }

    @Test func `a head that was copied out survives the next request`() throws {
        let first = [UInt8](raw: "GET /a HTTP/1.1\r\nHost: one\r\n\r\n")
        let second = [UInt8](raw: "GET /bbbbbb HTTP/1.1\r\nHost: two\r\n\r\n")
        var parser = HTTP1Parser()
        var offset = 0
        _ = try parser.next(first, &offset)
        let kept = parser.head
        _ = try parser.next(first, &offset)
        parser.startNext(keepingHead: true)
        offset = 0
        _ = try parser.next(second, &offset)
        #expect(kept.target == "/a")
        #expect(kept.fields.string(for: .host) == "one")
        let head6 = parser.head
        #expect(head6.target == "/bbbbbb")
    }

    @Test(arguments: Array(1...120) + [2000])
    func `a head like the last one is known, whatever comes between and however it is cut`(size: Int) throws {
        let same = "GET /a?b=1 HTTP/1.1\r\nHost: one\r\nX-Long: \(String(repeating: "x", count: 40))\r\n\r\n"
        let near = same.replacing("x\r\n", with: "y\r\n")
        let post = "POST /a HTTP/1.1\r\nHost: one\r\nContent-Length: 2\r\n\r\nhi"
        let all = [same, same, same, near, same, same, post, post, same, "\r\n" + same, same]
        let bytes = [UInt8](raw: all.joined())
        var parser = HTTP1Parser()
        var seen: [Bool] = []
        var targets: [String] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            var offset = 0
            loop: while true {
                switch try parser.next(piece, &offset) {
                case .needMore: break loop
                case .head:
                    seen.append(parser.repeatsLast)
                    let head = parser.head
                    targets.append(head.target)
                case .body: break
                case .end: parser.startNext(keepingHead: true)
                }
            }
        }
        #expect(
            targets == ["/a?b=1", "/a?b=1", "/a?b=1", "/a?b=1", "/a?b=1", "/a?b=1", "/a", "/a"]
                + Array(repeating: "/a?b=1", count: 3)
        )
        // Only a head that arrives in one piece is compared.
        let repeats = seen.indices.filter { seen[$0] }
        #expect(repeats.allSatisfy { [1, 2, 5].contains($0) })
        if size == 2000 { #expect(repeats == [1, 2, 5]) }
    }

    @Test func `between requests a parser holds no memory`() throws {
        var parser = HTTP1Parser()
        let bytes = [UInt8](raw: "GET /a HTTP/1.1\r\nHost: a\r\n\r\n\r\n")
        var offset = 0
        _ = try parser.next(bytes, &offset)
        parser.releaseHead()
        let head7 = parser.head
        #expect(head7.fields.bytes.capacity == 0)
        _ = try parser.next(bytes, &offset)
        parser.startNext(keepingHead: false)
        let isIdle8 = parser.isIdle
        #expect(isIdle8)
        let head9 = parser.head
        #expect(head9.fields.slots.capacity == 0)
        // The empty line after a body is no request: the connection stays idle.
        try expectNext(&parser, bytes, &offset, .needMore)
        #expect(offset == bytes.count)
        let isIdle10 = parser.isIdle
        #expect(isIdle10)
        let head11 = parser.head
        #expect(head11.fields.bytes.capacity == 0)
        #expect(MemoryLayout<HTTP1Parser>.size <= 256)
    }

    @Test func `the body limit can be set for a route once its head is known`() throws {
        let bytes = [UInt8](raw: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n0123456789")
        var parser = HTTP1Parser(limits: HTTP1Limits(body: 5))
        var offset = 0
        _ = try parser.next(bytes, &offset)
        parser.bodyLimit = 10
        try expectNext(&parser, bytes, &offset, .body(bytes.count - 10..<bytes.count))

        var strict = HTTP1Parser(limits: HTTP1Limits(body: 5))
        offset = 0
        _ = try strict.next(bytes, &offset)
        #expect(throws: HTTP1ParseError.bodyTooLarge(limit: 5)) { try strict.next(bytes, &offset) }
    }

    private static let persistence: [(String, Bool)] = [
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", true),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", false),
        ("GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", true),
        ("GET / HTTP/1.0\r\n\r\n", false),
        ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        ("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false),
    ]

    @Test(arguments: persistence)
    func `says whether the client keeps the connection`(_ raw: String, _ keepAlive: Bool) throws {
        var parser = HTTP1Parser()
        var offset = 0
        _ = try parser.next([UInt8](raw: raw), &offset)
        let framing12 = parser.framing
        #expect(framing12.keepAlive == keepAlive)
    }

    private static let expectations: [(String, Bool)] = [
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n", true),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n", true),
        ("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 0\r\n\r\n", false),
        ("POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", false),
        ("POST / HTTP/1.0\r\nExpect: something\r\nContent-Length: 1\r\n\r\n", false),
    ]

    @Test(arguments: expectations)
    func `says whether the client waits for 100`(_ raw: String, _ expects: Bool) throws {
        var parser = HTTP1Parser()
        var offset = 0
        _ = try parser.next([UInt8](raw: raw), &offset)
        let framing13 = parser.framing
        #expect(framing13.expectsContinue == expects)
    }

    @Test func `an end in the middle is an error and between requests is none`() throws {
        let bytes = [UInt8](raw: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nok")
        for cut in 0...bytes.count {
            var parser = HTTP1Parser()
            var offset = 0
            let piece = Array(bytes[..<cut])
            while offset < piece.count { _ = try parser.next(piece, &offset) }
            if cut == 0 || cut == bytes.count {
                #expect(throws: Never.self) { try parser.receiveEnd() }
            } else {
                #expect(throws: HTTP1ParseError.endedEarly) { try parser.receiveEnd() }
            }
        }
    }

    @Test func `limits hold exactly`() {
        let line = "GET /\(String(repeating: "a", count: 50 - 14)) HTTP/1.1"
        #expect(line.utf8.count == 50)
        let raw = [UInt8](raw: "\(line)\r\nHost: a\r\n\r\n")
        #expect(RequestTranscript(raw, limits: HTTP1Limits(requestLine: 50)).refusal == nil)
        #expect(
            RequestTranscript(raw, limits: HTTP1Limits(requestLine: 49)).refusal == .requestLineTooLong(limit: 49)
        )
        #expect(RequestTranscript(raw, limits: HTTP1Limits(fieldBlock: 11)).refusal == nil)
        #expect(RequestTranscript(raw, limits: HTTP1Limits(fieldBlock: 10)).refusal == .headTooLarge(limit: 10))
        let many = [UInt8](raw: "GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nX: y\r\n\r\n")
        #expect(RequestTranscript(many, limits: HTTP1Limits(fieldCount: 3)).refusal == nil)
        #expect(RequestTranscript(many, limits: HTTP1Limits(fieldCount: 2)).refusal == .tooManyFields(limit: 2))
    }

    /// Compares the word-wise scanner with itself when the byte arrives as a separate piece, which uses only the
    /// byte-wise path.
    @Test func `any byte at any place is judged as it is alone`() {
        let template = [UInt8](raw: "GET /abcdef HTTP/1.1\r\nHost: example\r\nX-Field-Name: value of it\r\n\r\n")
        var wrong: [String] = []
        for place in template.indices {
            for byte in UInt8.min...UInt8.max {
                var bytes = template
                bytes[place] = byte
                let whole = RequestTranscript(bytes)
                let alone = RequestTranscript(bytes, cuts: [place, place + 1])
                if whole.refusal != alone.refusal || whole.requests != alone.requests {
                    wrong.append("\(byte) at \(place)")
                }
                if byte < 0x20, byte != 0x09, bytes != template, !whole.requests.isEmpty {
                    wrong.append("\(byte) at \(place) is taken")
                }
            }
        }
        #expect(wrong == [])
    }
}
