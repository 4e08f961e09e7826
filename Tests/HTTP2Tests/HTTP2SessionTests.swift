import HTTP2
import HTTPModel
import Testing

struct HTTP2SessionTests {
    @Test func `a connection begins with our settings and a larger window`() throws {
        let peer = try TestPeer()
        let settings = try #require(peer.frames.first)
        #expect(settings.kind == .settings)
        #expect(
            settings.payload == [0, 3] + word(100) + [0, 4] + word(256 * 1024) + [0, 6] + word(16 * 1024)
        )
        #expect(peer.frames.contains(Frame.windowUpdate(0, 1024 * 1024 - 65_535)))
        #expect(peer.frames.contains(Frame(.settings, flags: Frame.ack)))
        #expect(!peer.session.isFinished)
    }

    @Test func `a request and its answer pass`() throws {
        let peer = try TestPeer()
        try peer.send(.request(1, Frame.requestFields + [("accept", "text/plain"), ("x-empty", "")]))
        #expect(peer.takeEvents() == ["request 1 whole", "end 1"])
        let head = try #require(peer.requests[1])
        #expect(head.lines == ["GET / HTTP/2", "host: ladle.test", "accept: text/plain", "x-empty: "])
        #expect(head.fields.string(for: .accept) == "text/plain")

        peer.respond(
            1,
            200,
            [("Content-Type", "text/plain"), ("Connection", "close"), ("Keep-Alive", "5")],
            end: false
        )
        #expect(peer.session.send(Array("hello".utf8), on: 1, end: false) == 5)
        try peer.flush()
        #expect(peer.heads == [[":status: 200", "content-type: text/plain"]])
        #expect(peer.body(of: 1) == Array("hello".utf8))
        #expect(peer.takeEvents().isEmpty)
        peer.session.send(Array(" again".utf8), on: 1, end: true)
        try peer.flush()
        #expect(peer.body(of: 1) == Array("hello again".utf8))
        #expect(peer.frames.last?.endsStream == true)
        #expect(peer.takeEvents() == ["closed 1 NO_ERROR"])
        #expect(peer.session.openStreams == 0)
    }

    @Test func `an answer without a body ends with its head`() throws {
        let peer = try TestPeer()
        try peer.send(.request(1))
        peer.respond(1, 304, [("ETag", "\"a\"")], end: true)
        try peer.flush()
        #expect(peer.heads == [[":status: 304", "etag: \"a\""]])
        #expect(peer.frames.last?.kind == .headers)
        #expect(peer.frames.last?.endsStream == true)
        #expect(peer.events.last == "closed 1 NO_ERROR")
    }

    @Test func `an interim head goes before the answer`() throws {
        let peer = try TestPeer()
        try peer.send(.post(1))
        peer.session.inform(1, ResponseHead(.continue))
        try peer.flush()
        try peer.send(.data(1, 3, end: true))
        peer.respond(1, 204, end: true)
        try peer.flush()
        #expect(peer.heads == [[":status: 100"], [":status: 204"]])
    }

    @Test func `the events are the same at every cut of the input`() throws {
        let whole =
            Frame.preface + Frame.post(1, length: 5).bytes + Frame.request(3).bytes + Frame.data(1, 2).bytes
            + Frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]).bytes + Frame.data(1, 3, end: true).bytes
        let expected = try outcome(of: [whole])
        #expect(expected.events == ["request 1", "request 3 whole", "end 3", "end 1"])
        #expect(expected.body?.count == 5)
        for cut in 1..<whole.count {
            let pieces = [Array(whole[..<cut]), Array(whole[cut...])]
            #expect(try outcome(of: pieces) == expected, "cut at \(cut)")
        }
        #expect(try outcome(of: whole.map { [$0] }) == expected)
    }

    /// The events without the sizes of data, and the sent frames.
    private struct Outcome: Equatable {
        var events: [String] = []
        var body: [UInt8]?
        var frames: [Frame] = []
    }

    private func outcome(of pieces: [[UInt8]]) throws -> Outcome {
        let peer = try TestPeer(preface: false)
        for piece in pieces { try peer.send(bytes: piece) }
        return Outcome(
            events: peer.events.filter { !$0.hasPrefix("data") },
            body: peer.bodies[1],
            // Urgent frames overtake others that wait, so their order depends on the cut.
            frames: peer.frames.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        )
    }

    @Test func `bytes that are no preface end the connection at once`() throws {
        let session = try HTTP2Session()
        #expect(throws: HTTP2Error.badPreface) {
            try session.receive(Array("GET / HTTP/1.1\r\nHost: ladle.test\r\n\r\n".utf8), now: 0)
        }
        #expect(session.isFinished)
    }

    @Test func `a ping is answered, and an answer to none of ours is ignored`() throws {
        let peer = try TestPeer()
        try peer.send(Frame(.ping, [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(peer.frames.last == Frame(.ping, flags: Frame.ack, [1, 2, 3, 4, 5, 6, 7, 8]))
        try peer.send(Frame(.ping, flags: Frame.ack, [0, 0, 0, 0, 0, 0, 0, 0]))
        #expect(peer.takeEvents().isEmpty)
    }

    @Test func `a reset by the peer ends the stream and later calls do nothing`() throws {
        let peer = try TestPeer()
        try peer.send(.request(1))
        peer.respond(1, 200, end: false)
        try peer.flush()
        try peer.send(Frame(.reset, stream: 1, word(HTTP2ErrorCode.cancel.rawValue)))
        #expect(peer.takeEvents().last == "closed 1 CANCEL")
        _ = peer.takeFrames()
        #expect(peer.session.send([1, 2, 3], on: 1, end: true) == 0)
        peer.session.reset(1, .cancel)
        peer.respond(1, 200, end: true)
        peer.session.consume(5, on: 1)
        try peer.flush()
        #expect(peer.takeFrames().isEmpty)
    }

    @Test func `a reset by us goes out and ends the stream`() throws {
        let peer = try TestPeer()
        try peer.send(.post(1))
        peer.session.reset(1, .cancel)
        try peer.flush()
        #expect(peer.reset(of: 1) == .cancel)
        #expect(peer.takeEvents().last == "closed 1 CANCEL")
        // Frames already on their way are not an error.
        try peer.send(.data(1, 10, end: true))
        #expect(peer.goAway == nil)
    }

    /// curl 7.88, httpx and Node lose an answer behind which the stream is reset while they send.
    @Test func `behind an answer before the end of the request its rest is taken and thrown away`() throws {
        var limits = HTTP2Limits.standard
        limits.streamWindow = 1000
        let peer = try TestPeer(limits: limits)
        try peer.send(.post(1), .data(1, 800))
        peer.respond(1, 413, end: true)
        try peer.flush()
        #expect(peer.heads == [[":status: 413"]])
        _ = peer.takeEvents()
        for _ in 0..<5 {
            try peer.send(.data(1, 900))
            #expect(peer.frames.last == .windowUpdate(1, 900))
        }
        #expect(peer.takeEvents().isEmpty && peer.reset(of: 1) == nil)
        try peer.send(.data(1, 0, end: true), .request(3))
        #expect(peer.takeEvents().first == "closed 1 NO_ERROR")
        #expect(peer.goAway == nil)
        #expect(peer.session.openStreams == 1)
    }

    @Test func `a body that does not end behind its answer is cut off, by its size or its slowness`() throws {
        var limits = HTTP2Limits.standard
        limits.lingerBytes = 30_000
        let peer = try TestPeer(limits: limits)
        for stream in [1, 3] as [UInt32] {
            try peer.send(.post(stream))
            peer.respond(Int32(stream), 413, end: true)
            try peer.flush()
        }
        try peer.send(.data(1, 15_000), .data(1, 15_000), .data(3, 100))
        #expect(peer.reset(of: 1) == nil)
        try peer.send(.data(1, 1))
        #expect(peer.reset(of: 1) == .noError)
        // The first look may come right behind the answer, the next one after a while.
        peer.session.endLingering(below: 1_000)
        try peer.send(.data(3, 100))
        peer.session.endLingering(below: 100)
        try peer.flush()
        #expect(peer.reset(of: 3) == nil)
        try peer.send(.data(3, 99))
        peer.session.endLingering(below: 100)
        try peer.flush()
        #expect(peer.reset(of: 3) == .noError)
        // Frames on their way are not an error, and not a mistake of the peer.
        try peer.send(.data(3, 10, end: true), .request(5))
        #expect(peer.goAway == nil && peer.session.streamErrors == 0)
    }

    @Test(arguments: [[], [5], [6, 1, 2, 3, 4], [255, 1]] as [[UInt8]])
    func `impossible padding ends the connection, also behind an early answer`(_ payload: [UInt8]) throws {
        let peer = try TestPeer()
        try peer.send(.post(1))
        peer.respond(1, 413, end: true)
        try peer.flush()
        #expect(peer.reset(of: 1) == nil)
        try peer.send(Frame(.data, flags: Frame.padded, stream: 1, [3, 1, 2, 3]))
        #expect(peer.goAway == nil)
        try peer.send(bytes: Frame(.data, flags: Frame.padded, stream: 1, payload).bytes, size: 3)
        #expect(peer.goAway == .protocolError)
    }

    @Test func `a drain says goodbye twice and finishes with the last answer`() throws {
        let peer = try TestPeer()
        try peer.send(.request(1))
        peer.session.beginDrain()
        try peer.flush()
        let first = try #require(peer.takeFrames().last)
        #expect(first.kind == .goAway && first.number == 0x7fff_ffff && first.code == .noError)
        // A request already on its way is served.
        try peer.send(.request(3))
        #expect(peer.takeEvents().filter(peer.isRequest).count == 2)
        peer.session.finishDrain()
        try peer.flush()
        let second = try #require(peer.takeFrames().last)
        #expect(second.kind == .goAway && second.number == 3 && second.code == .noError)
        try peer.send(.request(5))
        #expect(peer.takeEvents().isEmpty)
        #expect(!peer.session.isFinished)
        for stream in [1, 3] as [Int32] { peer.respond(stream, 200, end: true) }
        try peer.flush()
        #expect(peer.session.isFinished)
        #expect(peer.takeEvents() == ["closed 1 NO_ERROR", "closed 3 NO_ERROR"])
    }

    @Test func `the peer's goodbye is told`() throws {
        let peer = try TestPeer()
        try peer.send(Frame(.goAway, word(0) + word(0)))
        #expect(peer.takeEvents() == ["going away NO_ERROR"])
    }
}
