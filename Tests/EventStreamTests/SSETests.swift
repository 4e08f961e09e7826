import EventStream
import Testing

struct SSETests {
    /// Feeds the bytes in the pieces between the cuts.
    static func decode(_ bytes: [UInt8], cuts: [Int] = []) throws -> (messages: [SSEMessage], retry: Int?, id: String) {
        var decoder = SSEDecoder()
        var messages: [SSEMessage] = []
        var start = 0
        for cut in cuts + [bytes.count] {
            let piece = Array(bytes[start..<cut])
            start = cut
            var offset = 0
            while let message = try decoder.next(in: piece.span, from: &offset) { messages.append(message) }
        }
        return (messages, decoder.retry, decoder.lastEventID)
    }

    static func message(_ data: String, type: String = "message", id: String = "") -> SSEMessage {
        SSEMessage(id: id, type: type, data: Array(data.utf8))
    }

    static let samples: [(String, [SSEMessage])] = [
        ("data: a\n\n", [message("a")]),
        ("data:a\n\n", [message("a")]),
        ("data:  a\n\n", [message(" a")]),
        ("data: a\ndata: b\n\n", [message("a\nb")]),
        ("data\n\n", [message("")]),
        ("data\ndata\n\n", [message("\n")]),
        ("data:\n\n", [message("")]),
        ("event: x\ndata: a\n\ndata: b\n\n", [message("a", type: "x"), message("b")]),
        ("event: x\n\ndata: b\n\n", [message("b")]),
        ("id: 1\ndata: a\n\ndata: b\n\n", [message("a", id: "1"), message("b", id: "1")]),
        ("id: 1\ndata: a\n\nid\ndata: b\n\n", [message("a", id: "1"), message("b")]),
        ("id: 1\0\ndata: a\n\n", [message("a")]),
        (": comment\ndata: a\n:\n\n", [message("a")]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\r", [message("a"), message("b"), message("c")]),
        ("\u{feff}data: a\n\n", [message("a")]),
        ("\u{feff}\u{feff}data: a\n\ndata: b\n\n", [message("b")]),
        ("data: a\n\u{feff}data: b\n\n", [message("a")]),
        ("Data: a\nDATA: b\n data: c\ndata : d\n\n", []),
        ("unknown: a\ndata: \u{2028}\u{85}\n\n", [message("\u{2028}\u{85}")]),
        ("data: unfinished\n", []),
        ("data: unfinished", []),
        ("\n\n\n\ndata: a\n\n\n", [message("a")]),
        ("data: {\"a\": \"b: c\"}\nevent: y\n\n", [message("{\"a\": \"b: c\"}", type: "y")]),
        ("retry: 1000\nretry: x\nretry: -1\nretry:\ndata: a\n\n", [message("a")]),
    ]

    @Test(arguments: samples.indices)
    func `streams are read as the standard says, however they are cut`(_ index: Int) throws {
        let (text, expected) = Self.samples[index]
        let bytes = Array(text.utf8)
        #expect(try Self.decode(bytes).messages == expected)
        #expect(try Self.decode(bytes, cuts: Array(1..<bytes.count)).messages == expected)
        for cut in 1..<bytes.count { #expect(try Self.decode(bytes, cuts: [cut]).messages == expected) }
    }

    @Test func `retry and the last id are kept`() throws {
        let result = try Self.decode(Array("id: e.7\nretry: 1500\n\nid: e.8\ndata: cut off\n".utf8))
        #expect(result.messages.isEmpty)
        #expect(result.retry == 1500)
        #expect(result.id == "e.7")
    }

    @Test func `a decoder is bounded`() {
        var decoder = SSEDecoder(maxEventBytes: 10)
        var offset = 0
        let line = Array("data: 01234567".utf8)
        #expect(throws: SSEError.lineTooLong(limit: 10)) { try decoder.next(in: line.span, from: &offset) }
        #expect(throws: SSEError.lineTooLong(limit: 10)) { try decoder.next(in: line.span, from: &offset) }
        decoder = SSEDecoder(maxEventBytes: 10)
        offset = 0
        let lines = Array("data: 0123\ndata: 0123\ndata: 0123\n\n".utf8)
        #expect(throws: SSEError.eventTooLarge(limit: 10)) { try decoder.next(in: lines.span, from: &offset) }
    }

    @Test func `an event has its fields in one block`() throws {
        var bytes: [UInt8] = []
        let id = try EventID(parsing: "abc.7")
        #expect(SSEEncoder.append(id: id, type: "hello", retry: 2000, data: Array("{}".utf8), to: &bytes) == true)
        bytes += SSEEncoder.heartbeatComment
        SSEEncoder.append(type: "link", data: Array("{\"a\":1}".utf8), to: &bytes)
        bytes += SSEEncoder.heartbeatComment
        SSEEncoder.append(type: "heartbeat", data: Array("{}".utf8), to: &bytes)
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == "id: abc.7\nevent: hello\nretry: 2000\ndata: {}\n\n:\nevent: link\ndata: {\"a\":1}\n\n:\n"
                + "event: heartbeat\ndata: {}\n\n"
        )
        let result = try Self.decode(bytes)
        #expect(result.messages.map { $0.type } == ["hello", "link", "heartbeat"])
        #expect(result.messages.map(\.id) == ["abc.7", "abc.7", "abc.7"])
        #expect(result.retry == 2000)
    }

    @Test(arguments: ["", "a", "a\nb", "a\r\nb", "a\rb", "\n", "a\n", "\n\na", "id: 1\n\nevent: x"])
    func `no data can break out of its event`(_ data: String) throws {
        var bytes: [UInt8] = []
        SSEEncoder.append(type: "x\ndata: y\n\nid: 2", data: Array(data.utf8), to: &bytes)
        #expect(!bytes.contains(0x0D))
        let messages = try Self.decode(bytes).messages
        let lines = data.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        #expect(messages == [Self.message(lines, type: "xdata: yid: 2")])
    }

    @Test func `an event above the limit is not written`() {
        var bytes: [UInt8] = [1, 2, 3]
        let overhead = "event: x\ndata: \n\n".utf8.count
        let most = [UInt8](repeating: 0x61, count: SSEEncoder.maxEventBytes - overhead)
        #expect(SSEEncoder.append(type: "x", data: most + [0x61], to: &bytes) == false)
        #expect(bytes == [1, 2, 3])
        #expect(SSEEncoder.append(type: "x", data: most, to: &bytes) == true)
        #expect(bytes.count == SSEEncoder.maxEventBytes + 3)
    }
}
