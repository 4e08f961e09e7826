import HTTP2
import Testing

struct FlowControlTests {
    @Test func `the peer's window holds a body back and opens it again`() throws {
        let peer = try TestPeer()
        try peer.send(.setting(4, 10), .request(1))
        peer.respond(1, 200, end: false)
        #expect(peer.session.send([UInt8](repeating: 1, count: 25), on: 1, end: true) == 25)
        try peer.flush()
        #expect(peer.body(of: 1).count == 10)
        #expect(peer.session.pendingBytes(on: 1) == 15)
        try peer.send(.windowUpdate(1, 10))
        #expect(peer.body(of: 1).count == 20)
        try peer.send(.windowUpdate(1, 10))
        #expect(peer.body(of: 1).count == 25)
        #expect(peer.frames.last?.endsStream == true)
    }

    /// curl, browsers and proxies open both windows again after each frame, some after each kilobyte.
    @Test func `a large download opens its windows as often as it likes`() throws {
        let peer = try TestPeer()
        try peer.send(.request(1))
        peer.respond(1, 200, end: false)
        peer.session.send([UInt8](repeating: 1, count: 8 << 20), on: 1, end: true)
        try peer.flush()
        var opened = 0
        while peer.frames.last?.endsStream != true, peer.goAway == nil {
            let read = peer.body(of: 1).count
            while opened < read {
                opened += 1024
                try peer.send(.windowUpdate(1, 1024), .windowUpdate(0, 1024))
            }
            #expect(read < 8 << 20)
            if peer.body(of: 1).count == read { break }
        }
        #expect(peer.body(of: 1).count == 8 << 20 && peer.goAway == nil)
    }

    @Test func `a producer whose bytes had to wait hears when none does`() throws {
        let peer = try TestPeer()
        try peer.send(.setting(4, 0), .request(1))
        peer.respond(1, 200, end: false)
        #expect(peer.session.send([UInt8](repeating: 1, count: 60), on: 1, end: false) == 60)
        #expect(peer.session.send([UInt8](repeating: 2, count: 60), on: 1, end: false) == 120)
        try peer.flush()
        _ = peer.takeEvents()
        try peer.send(.windowUpdate(1, 119))
        #expect(peer.takeEvents().isEmpty)
        try peer.send(.windowUpdate(1, 100))
        #expect(peer.takeEvents() == ["drained 1"])
        // Without waiting bytes there is no `drained` event.
        peer.session.send([3], on: 1, end: false)
        try peer.flush()
        #expect(peer.takeEvents().isEmpty)
        #expect(peer.body(of: 1) == [UInt8](repeating: 1, count: 60) + [UInt8](repeating: 2, count: 60) + [3])
    }

    @Test func `our window opens only for consumed bytes`() throws {
        var limits = HTTP2Limits.standard
        limits.streamWindow = 1000
        let peer = try TestPeer(limits: limits)
        try peer.send(.post(1), .data(1, 800))
        #expect(!peer.frames.contains { $0.kind == .windowUpdate && $0.stream == 1 })
        peer.session.consume(800, on: 1)
        try peer.flush()
        #expect(peer.frames.last == .windowUpdate(1, 800))
        // More than the window is the peer's error.
        try peer.send(.data(1, 1001))
        #expect(peer.reset(of: 1) == .flowControlError || peer.goAway == .flowControlError)
    }

    @Test func `bytes of a stream that ended are given back to the connection`() throws {
        var limits = HTTP2Limits.standard
        limits.connectionWindow = 100_000
        let peer = try TestPeer(limits: limits)
        for stream in stride(from: 1, to: 41, by: 2) as StrideTo<UInt32> {
            try peer.send(.post(stream), .data(stream, 15_000))
            try peer.send(Frame(.reset, stream: stream, word(8)))
        }
        // 300,000 bytes passed a window of 100,000 although nobody consumed them.
        #expect(peer.goAway == nil)
        #expect(peer.session.openStreams == 0)
    }

    @Test func `output stops at the limit asked for`() throws {
        let peer = try TestPeer()
        try peer.send(.windowUpdate(0, 1_000_000), .setting(4, 1_000_000), .request(1))
        peer.respond(1, 200, end: false)
        peer.session.send([UInt8](repeating: 1, count: 200_000), on: 1, end: true)
        var output: [UInt8] = []
        try peer.session.takeOutput(into: &output, limit: 30_000, now: 0)
        #expect((30_000..<46_393).contains(output.count))
        #expect(peer.session.hasOutput)
        try peer.session.takeOutput(into: &output, now: 0)
        let data = Frame.parse(output).filter { $0.kind == .data }
        #expect(data.reduce(0) { $0 + $1.payload.count } == 200_000)
    }

    @Test func `a window that stays shut is a stall, and so is one opened byte by byte`() throws {
        let second: UInt64 = 1_000_000_000
        let peer = try TestPeer()
        try peer.send(.setting(4, 0), .request(1), .request(3))
        for stream in [1, 3] as [Int32] {
            peer.respond(stream, 200, end: false)
        }
        peer.session.send([UInt8](repeating: 1, count: 50_000), on: 1, end: false)
        try peer.flush()
        peer.now += 9 * second
        try peer.send(.windowUpdate(1, 1))
        peer.now += second
        #expect(peer.session.stalledStreams(for: 10 * second, now: peer.now) == [1])
        #expect(peer.session.stalledStreams(for: 11 * second, now: peer.now).isEmpty)
        // Real progress restarts the count.
        try peer.send(.windowUpdate(1, 8192))
        #expect(peer.session.stalledStreams(for: 10 * second, now: peer.now).isEmpty)
        peer.now += 10 * second
        #expect(peer.session.stalledStreams(for: 10 * second, now: peer.now) == [1])
        try peer.send(.windowUpdate(1, 50_000))
        peer.now += 100 * second
        // An idle stream with nothing to send never stalls.
        #expect(peer.session.stalledStreams(for: second, now: peer.now).isEmpty)
    }

    @Test func `a shut connection window stalls every waiting stream`() throws {
        let peer = try TestPeer()
        try peer.send(.request(1), .request(3))
        for stream in [1, 3] as [Int32] {
            peer.respond(stream, 200, end: false)
            peer.session.send([UInt8](repeating: 1, count: 65_000), on: stream, end: false)
        }
        try peer.flush()
        peer.now += 1_000_000_000
        #expect(peer.session.stalledStreams(for: 1_000_000_000, now: peer.now) == [1, 3])
        #expect(peer.body(of: 1).count + peer.body(of: 3).count == 65_535)
    }
}
