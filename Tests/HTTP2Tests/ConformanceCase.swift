import HTTP2
import Testing

/// Input after the preface and the settings, and the reaction that RFC 9113 requires of a server.
struct ConformanceCase: Sendable, CustomTestStringConvertible {
    enum Expectation: Sendable {
        /// GOAWAY with this code, and the session finishes.
        case connection(HTTP2ErrorCode)
        /// RST_STREAM with this code, and a later request is served.
        case stream(UInt32, HTTP2ErrorCode)
        /// No error, and a later request is served.
        case served
    }

    let section: String
    let name: String
    let input: [UInt8]
    let expected: Expectation

    var testDescription: String { "\(section) \(name)" }

    init(_ section: String, _ name: String, _ frames: [Frame], _ expected: Expectation) {
        self.init(section, name, bytes: frames.flatMap(\.bytes), expected)
    }

    init(_ section: String, _ name: String, bytes: [UInt8], _ expected: Expectation) {
        self.section = section
        self.name = name
        input = bytes
        self.expected = expected
    }
}

/// A head with something changed in it: `nil` removes a field.
func head(_ changes: [(String, String?)] = [], adding fields: [(String, String)] = []) -> [(String, String)] {
    var all = Frame.requestFields.compactMap { field -> (String, String)? in
        guard let change = changes.first(where: { $0.0 == field.0 }) else { return field }
        return change.1.map { (field.0, $0) }
    }
    all += fields
    return all
}

extension ConformanceCase {
    static let all = framing + streams + frames + flowControl + messages

    private static func stream(_ fields: [(String, String)], _ section: String, _ name: String) -> ConformanceCase {
        ConformanceCase(section, name, [.request(1, fields)], .stream(1, .protocolError))
    }

    private static let big = [UInt8](repeating: 0, count: 16_385)

    static let framing: [ConformanceCase] = [
        .init("4.1", "a frame of an unknown type is ignored", [Frame(type: 0xf0, payload: [1, 2])], .served),
        .init("4.1", "unknown flags are ignored", [Frame(.ping, flags: 0x16, big8)], .served),
        .init(
            "4.1",
            "the reserved bit of a stream id is ignored",
            bytes: Frame(.ping, stream: 0x8000_0000, big8).bytes,
            .served
        ),
        .init(
            "4.2",
            "DATA over the frame size",
            [.post(1), Frame(.data, stream: 1, big)],
            .connection(.frameSizeError)
        ),
        .init(
            "4.2",
            "HEADERS over the frame size",
            [Frame(.headers, flags: 5, stream: 1, big)],
            .connection(.frameSizeError)
        ),
        .init(
            "4.3",
            "an index beyond the tables",
            [Frame(.headers, flags: 5, stream: 1, [0xff, 0xff, 0x7f])],
            .connection(.compressionError)
        ),
        .init(
            "4.3",
            "a block cut in a field",
            [Frame(.headers, flags: 5, stream: 1, [0x00, 0x05, 0x61])],
            .connection(.compressionError)
        ),
        .init(
            "4.3",
            "a table size update behind a field",
            [Frame(.headers, flags: 5, stream: 1, hpack(Frame.requestFields) + [0x20])],
            .connection(.compressionError)
        ),
        .init(
            "4.3",
            "a table size over what we set",
            [Frame(.headers, flags: 5, stream: 1, [0x3f, 0xe2, 0x1f] + hpack(Frame.requestFields))],
            .connection(.compressionError)
        ),
        .init(
            "4.3",
            "a Huffman string that ends in the wrong padding",
            [Frame(.headers, flags: 5, stream: 1, [0x00, 0x81, 0x18, 0x00])],
            .connection(.compressionError)
        ),
        .init(
            "4.3",
            "PRIORITY between HEADERS and CONTINUATION",
            [
                Frame(.headers, flags: 1, stream: 1, hpack(Frame.requestFields)),
                Frame(.priority, stream: 1, [0, 0, 0, 0, 15]),
            ],
            .connection(.protocolError)
        ),
        .init(
            "4.3",
            "HEADERS of another stream before CONTINUATION",
            [Frame(.headers, flags: 1, stream: 1, hpack(Frame.requestFields)), .request(3)],
            .connection(.protocolError)
        ),
    ]

    private static let big8: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]

    static let streams: [ConformanceCase] = [
        .init("5.1", "DATA on an idle stream", [.data(1, 5)], .connection(.protocolError)),
        .init("5.1", "RST_STREAM on an idle stream", [Frame(.reset, stream: 1, word(8))], .connection(.protocolError)),
        .init("5.1", "WINDOW_UPDATE on an idle stream", [.windowUpdate(1, 100)], .connection(.protocolError)),
        .init(
            "5.1",
            "CONTINUATION on an idle stream",
            [Frame(.continuation, flags: 4, stream: 1)],
            .connection(.protocolError)
        ),
        .init("5.1", "DATA after END_STREAM", [.request(1), .data(1, 5, end: true)], .connection(.streamClosed)),
        .init("5.1", "HEADERS after END_STREAM", [.request(1), .request(1)], .connection(.streamClosed)),
        .init(
            "5.1",
            "CONTINUATION after END_HEADERS",
            [.request(1), Frame(.continuation, flags: 4, stream: 1, [0x88])],
            .connection(.protocolError)
        ),
        .init(
            "5.1",
            "DATA after a reset by the peer",
            [.post(1), Frame(.reset, stream: 1, word(8)), .data(1, 5)],
            .connection(.streamClosed)
        ),
        .init(
            "5.1",
            "HEADERS after a reset by the peer",
            [.post(1), Frame(.reset, stream: 1, word(8)), .request(1)],
            .connection(.streamClosed)
        ),
        .init("5.1.1", "an even stream id", [.request(2)], .connection(.protocolError)),
        .init("5.1.1", "a new stream id below the last one", [.request(5), .request(3)], .connection(.protocolError)),
        .init(
            "5.1.1",
            "a new stream id far below, between used ones",
            [.request(1), .request(101), .request(103), .request(51)],
            .connection(.protocolError)
        ),
        .init("5.1.1", "stream ids may be passed over", [.request(7), .request(11), .request(99)], .served),
        .init(
            "5.3.1",
            "HEADERS that depend on themselves",
            [Frame(.headers, flags: 0x25, stream: 1, [0, 0, 0, 1, 15] + hpack(Frame.requestFields))],
            .connection(.protocolError)
        ),
        .init(
            "5.3.1",
            "PRIORITY that depends on itself",
            [Frame(.priority, stream: 1, [0, 0, 0, 1, 15])],
            .connection(.protocolError)
        ),
    ]

    static let frames: [ConformanceCase] = [
        .init("6.1", "DATA on stream 0", [Frame(.data, [1, 2])], .connection(.protocolError)),
        .init(
            "6.1",
            "padding longer than the DATA frame",
            [.post(1), Frame(.data, flags: 8, stream: 1, [9, 1, 2])],
            .connection(.protocolError)
        ),
        .init(
            "6.1",
            "padding that fills a DATA frame",
            [.post(1), Frame(.data, flags: 9, stream: 1, [2, 0, 0])],
            .served
        ),
        .init(
            "6.2",
            "HEADERS on stream 0",
            [Frame(.headers, flags: 5, hpack(Frame.requestFields))],
            .connection(.protocolError)
        ),
        .init(
            "6.2",
            "padding longer than the HEADERS frame",
            [Frame(.headers, flags: 0x0d, stream: 1, [9, 0x82])],
            .connection(.protocolError)
        ),
        .init("6.3", "PRIORITY on stream 0", [Frame(.priority, [0, 0, 0, 3, 15])], .connection(.protocolError)),
        .init("6.3", "PRIORITY of 4 bytes", [Frame(.priority, stream: 1, [0, 0, 0, 3])], .connection(.frameSizeError)),
        .init("6.4", "RST_STREAM on stream 0", [Frame(.reset, word(8))], .connection(.protocolError)),
        .init(
            "6.4",
            "RST_STREAM of 3 bytes",
            [.request(1), Frame(.reset, stream: 1, [0, 0, 8])],
            .connection(.frameSizeError)
        ),
        .init(
            "6.5",
            "SETTINGS acknowledgement with a payload",
            [Frame(.settings, flags: 1, [0, 3] + word(1))],
            .connection(.frameSizeError)
        ),
        .init("6.5", "SETTINGS on a stream", [Frame(.settings, stream: 1)], .connection(.protocolError)),
        .init("6.5", "SETTINGS of 5 bytes", [Frame(.settings, [0, 3, 0, 0, 0])], .connection(.frameSizeError)),
        .init("6.5.2", "ENABLE_PUSH of 2", [.setting(2, 2)], .connection(.protocolError)),
        .init("6.5.2", "a window over 2^31-1", [.setting(4, 0x8000_0000)], .connection(.flowControlError)),
        .init("6.5.2", "a frame size under 2^14", [.setting(5, 16_383)], .connection(.protocolError)),
        .init("6.5.2", "a frame size over 2^24-1", [.setting(5, 0x100_0000)], .connection(.protocolError)),
        .init("6.5.2", "an unknown setting is ignored", [.setting(0xf0, 7)], .served),
        .init(
            "6.6",
            "PUSH_PROMISE from a client",
            [Frame(.push, flags: 4, stream: 1, word(2) + hpack(Frame.requestFields))],
            .connection(.protocolError)
        ),
        .init("6.7", "PING on a stream", [Frame(.ping, stream: 1, big8)], .connection(.protocolError)),
        .init("6.7", "PING of 6 bytes", [Frame(.ping, [1, 2, 3, 4, 5, 6])], .connection(.frameSizeError)),
        .init("6.7", "an unasked PING acknowledgement is ignored", [Frame(.ping, flags: 1, big8)], .served),
        .init("6.8", "GOAWAY on a stream", [Frame(.goAway, stream: 1, word(0) + word(0))], .connection(.protocolError)),
        .init(
            "6.10",
            "CONTINUATION on stream 0",
            [Frame(.headers, flags: 1, stream: 1, hpack(Frame.requestFields)), Frame(.continuation, flags: 4)],
            .connection(.protocolError)
        ),
        .init(
            "6.10",
            "CONTINUATION on another stream",
            [
                Frame(.headers, flags: 1, stream: 1, hpack(Frame.requestFields)),
                Frame(.continuation, flags: 4, stream: 3, hpack([("a", "b")])),
            ],
            .connection(.protocolError)
        ),
        .init(
            "6.10",
            "CONTINUATION after DATA",
            [.post(1), .data(1, 1), Frame(.continuation, flags: 4, stream: 1)],
            .connection(.protocolError)
        ),
        .init(
            "6.10",
            "a head in HEADERS and two CONTINUATION",
            [
                Frame(.headers, flags: 1, stream: 1, hpack(Frame.requestFields)),
                Frame(.continuation, stream: 1, hpack([("a", "b")])),
                Frame(.continuation, flags: 4, stream: 1, hpack([("c", "d")])),
            ],
            .served
        ),
    ]

    static let flowControl: [ConformanceCase] = [
        .init("6.9", "WINDOW_UPDATE of 0 on the connection", [.windowUpdate(0, 0)], .connection(.protocolError)),
        .init(
            "6.9",
            "WINDOW_UPDATE of 0 on a stream",
            [.request(1), .windowUpdate(1, 0)],
            .connection(.protocolError)
        ),
        .init("6.9", "WINDOW_UPDATE of 3 bytes", [Frame(.windowUpdate, [0, 0, 1])], .connection(.frameSizeError)),
        .init(
            "6.9.1",
            "a connection window over 2^31-1",
            [.windowUpdate(0, 0x7fff_ffff)],
            .connection(.flowControlError)
        ),
        .init(
            "6.9.1",
            "a stream window over 2^31-1",
            [.request(1), .windowUpdate(1, 0x7fff_ffff)],
            .stream(1, .flowControlError)
        ),
        // The RFC wants the connection closed; the library resets the affected streams, which protects as well.
        .init(
            "6.9.2",
            "settings that push a stream window over 2^31-1",
            [.request(1), .windowUpdate(1, 100), .setting(4, 0x7fff_ffff)],
            .stream(1, .flowControlError)
        ),
        .init("6.9.2", "settings that make a window negative", [.request(1), .setting(4, 0)], .served),
    ]

    static let messages: [ConformanceCase] = [
        stream(head(adding: [("X-Upper", "a")]), "8.2.1", "an upper-case name"),
        stream(head(adding: [("a b", "c")]), "8.2.1", "a blank in a name"),
        stream(head(adding: [("", "c")]), "8.2.1", "an empty name"),
        stream(head(adding: [("a:b", "c")]), "8.2.1", "a colon in a name"),
        stream(head(adding: [("näme", "c")]), "8.2.1", "a byte over 0x7f in a name"),
        stream(head(adding: [("a", "b\r\nc: d")]), "8.2.1", "CR LF in a value"),
        stream(head(adding: [("a", "b\nc")]), "8.2.1", "LF in a value"),
        stream(head(adding: [("a", "b\0c")]), "8.2.1", "NUL in a value"),
        stream(head(adding: [("a", " b")]), "8.2.1", "a blank before a value"),
        stream(head(adding: [("a", "b\t")]), "8.2.1", "a tab behind a value"),
        stream(head(adding: [("connection", "close")]), "8.2.2", "connection"),
        stream(head(adding: [("keep-alive", "5")]), "8.2.2", "keep-alive"),
        stream(head(adding: [("proxy-connection", "close")]), "8.2.2", "proxy-connection"),
        stream(head(adding: [("transfer-encoding", "chunked")]), "8.2.2", "transfer-encoding"),
        stream(head(adding: [("upgrade", "websocket")]), "8.2.2", "upgrade"),
        stream(head(adding: [("te", "gzip")]), "8.2.2", "te other than trailers"),
        .init("8.2.2", "te: trailers", [.request(1, head(adding: [("te", "trailers")]))], .served),
        stream(head(adding: [(":unknown", "a")]), "8.3", "an unknown pseudo-field"),
        stream(head(adding: [(":status", "200")]), "8.3", "a response's pseudo-field"),
        stream([("a", "b")] + Frame.requestFields, "8.3", "a pseudo-field behind a field"),
        stream(head([(":method", nil)]), "8.3.1", "no :method"),
        stream(head([(":scheme", nil)]), "8.3.1", "no :scheme"),
        stream(head([(":path", nil)]), "8.3.1", "no :path"),
        stream(head([(":path", "")]), "8.3.1", "an empty :path"),
        stream(head([(":path", "a")]), "8.3.1", "a :path without a slash"),
        stream(head([(":path", "/a b\r\n")]), "8.3.1", "control bytes in :path"),
        stream(head([(":authority", nil)]), "8.3.1", "neither :authority nor host"),
        stream(head([(":authority", "a b")]), "8.3.1", "a blank in :authority"),
        stream(head(adding: [(":method", "GET")]), "8.3.1", "a second :method"),
        stream(head(adding: [(":path", "/")]), "8.3.1", "a second :path"),
        stream(head(adding: [(":authority", "ladle.test")]), "8.3.1", "a second :authority"),
        stream(head(adding: [("host", "other.test")]), "8.3.1", "a host that is not the authority"),
        stream(head(adding: [("host", "ladle.test"), ("host", "ladle.test")]), "8.3.1", "two host fields"),
        .init("8.3.1", "a host that is the authority", [.request(1, head(adding: [("host", "LADLE.test")]))], .served),
        .init(
            "8.3.1",
            "host alone",
            [.request(1, head([(":authority", nil)], adding: [("host", "ladle.test")]))],
            .served
        ),
        .init(
            "8.1.1",
            "less body than content-length",
            [.post(1, length: 10), .data(1, 9, end: true)],
            .stream(1, .protocolError)
        ),
        .init(
            "8.1.1",
            "more body than content-length",
            [.post(1, length: 10), .data(1, 11, end: true)],
            .stream(1, .protocolError)
        ),
        .init(
            "8.1.1",
            "several DATA short of content-length",
            [.post(1, length: 10), .data(1, 4), .data(1, 5, end: true)],
            .stream(1, .protocolError)
        ),
        .init(
            "8.1.1",
            "content-length without a body",
            [.request(1, head(adding: [("content-length", "3")]))],
            .stream(1, .protocolError)
        ),
        stream(head(adding: [("content-length", "0"), ("content-length", "0")]), "8.1.1", "two content-length fields"),
        stream(head(adding: [("content-length", "+1")]), "8.1.1", "a signed content-length"),
        stream(head(adding: [("content-length", "99999999999999999999")]), "8.1.1", "a content-length beyond 2^63"),
        .init(
            "8.1",
            "trailers without END_STREAM",
            [.post(1), .data(1, 1), Frame(.headers, flags: 4, stream: 1, hpack([("a", "b")]))],
            .stream(1, .protocolError)
        ),
        .init(
            "8.1",
            "a pseudo-field in trailers",
            [.post(1), .data(1, 1), Frame(.headers, flags: 5, stream: 1, hpack([(":method", "GET")]))],
            .stream(1, .protocolError)
        ),
        .init(
            "8.1",
            "trailers",
            [.post(1), .data(1, 1), Frame(.headers, flags: 5, stream: 1, hpack([("a", "b")]))],
            .served
        ),
    ]
}
