import Basics
import HTTP2
import Testing

struct AbuseTests {
    struct Flood: Sendable, CustomTestStringConvertible {
        let kind: HTTP2Abuse
        let rate: TokenBucket
        let frame: [UInt8]
        var testDescription: String { kind.rawValue }
    }

    static let floods: [Flood] = {
        let limits = HTTP2Limits.standard
        return [
            Flood(kind: .pings, rate: limits.pings, frame: Frame(.ping, [0, 0, 0, 0, 0, 0, 0, 0]).bytes),
            Flood(kind: .settings, rate: limits.settings, frame: Frame(.settings).bytes),
            Flood(kind: .emptyData, rate: limits.emptyData, frame: Frame(.data, stream: 1).bytes),
            Flood(
                kind: .emptyData,
                rate: limits.emptyData,
                frame: Frame(.data, flags: 8, stream: 1, [2, 0, 0]).bytes
            ),
            Flood(
                kind: .priorities,
                rate: limits.priorities,
                frame: Frame(.priority, stream: 7, [0, 0, 0, 3, 15]).bytes
            ),
            Flood(kind: .unknownFrames, rate: limits.unknownFrames, frame: Frame(type: 0x77).bytes),
            Flood(kind: .windowUpdates, rate: limits.windowUpdates, frame: Frame.windowUpdate(0, 1).bytes),
        ]
    }()

    @Test(arguments: floods) func `a flood ends the connection when its burst is used up`(flood: Flood) throws {
        let peer = try TestPeer()
        try peer.send(.post(1))
        // The preface had one SETTINGS frame.
        let allowed = Int(flood.rate.burst) - (flood.kind == .settings ? 1 : 0)
        try peer.send(bytes: Array(repeatElement(flood.frame, count: allowed).joined()))
        #expect(peer.goAway == nil)
        try peer.send(bytes: flood.frame)
        #expect(peer.goAway == .enhanceYourCalm)
        #expect(peer.events.contains("failed ENHANCE_YOUR_CALM \(flood.kind.rawValue)"))
        #expect(peer.session.isFinished)
    }

    @Test(arguments: floods) func `the same frames at a human pace are served`(flood: Flood) throws {
        let peer = try TestPeer()
        try peer.send(.post(1))
        for _ in 0..<(flood.rate.burst * 3) {
            peer.now += 1_000_000_000
            try peer.send(bytes: flood.frame)
        }
        #expect(peer.goAway == nil)
    }

    @Test(arguments: floods) func `a part of a frame earned between two frames is not lost`(flood: Flood) throws {
        let peer = try TestPeer()
        try peer.send(.post(1))
        let allowed = Int(flood.rate.burst) - (flood.kind == .settings ? 1 : 0)
        try peer.send(bytes: Array(repeatElement(flood.frame, count: allowed).joined()))
        // Three frames in the time of three, each at a moment when another half frame had been earned.
        let interval = flood.rate.interval
        for frames in 1...2 {
            peer.now += interval * 3 / 2
            for _ in 0..<frames { try peer.send(bytes: flood.frame) }
        }
        #expect(peer.goAway == nil)
    }

    @Test func `rapid resets end the connection`() throws {
        let peer = try TestPeer()
        var stream: UInt32 = 1
        while peer.goAway == nil, stream < 2000 {
            try peer.send(.request(stream), Frame(.reset, stream: stream, word(8)))
            stream += 2
        }
        #expect(peer.goAway == .enhanceYourCalm)
        #expect(peer.events.contains("failed ENHANCE_YOUR_CALM resets"))
        #expect(stream / 2 <= 302)
        #expect(peer.session.isFinished)
    }

    @Test func `resets forced out of us end the connection too`() throws {
        let peer = try TestPeer()
        var stream: UInt32 = 1
        while peer.goAway == nil, stream < 2000 {
            try peer.send(.request(stream), .windowUpdate(stream, 0x7fff_ffff))
            stream += 2
        }
        #expect(peer.goAway == .enhanceYourCalm)
        #expect(stream / 2 <= 102)
        #expect(peer.events.contains("failed ENHANCE_YOUR_CALM forced_resets"))
    }

    @Test func `our own resets count for nothing`() throws {
        let peer = try TestPeer()
        for index in 0..<400 as Range<UInt32> {
            try peer.send(.request(index * 2 + 1))
            peer.session.reset(Int32(index * 2 + 1), .cancel)
            try peer.flush()
        }
        #expect(peer.goAway == nil)
    }

    @Test func `endless CONTINUATION ends the connection`() throws {
        let peer = try TestPeer()
        try peer.send(Frame(.headers, flags: 1, stream: 1, hpack(Frame.requestFields)))
        for _ in 0..<9 where peer.goAway == nil { try peer.send(Frame(.continuation, stream: 1)) }
        #expect(peer.goAway == .enhanceYourCalm)
        #expect(peer.events == ["failed ENHANCE_YOUR_CALM continuations"])
        #expect(peer.session.isFinished)
        try peer.send(.request(3))
        #expect(peer.session.openStreams <= 1)
    }

    @Test func `a peer that reads no acknowledgement is cut off`() throws {
        let session = try HTTP2Session()
        try session.receive(Frame.preface, now: 0)
        var now: UInt64 = 0
        for _ in 0..<400 where !session.isFinished {
            now += 200_000_000
            try session.receive(Frame(.ping, [0, 0, 0, 0, 0, 0, 0, 0]).bytes, now: now)
            if case .failed(_, .acknowledgements)? = session.nextEvent() { break }
        }
        var output: [UInt8] = []
        try session.takeOutput(into: &output, now: now)
        #expect(Frame.parse(output).map(\.code) == [.enhanceYourCalm])
        #expect(session.isFinished)
    }

    @Test func `more streams than allowed are refused and the rest is served`() throws {
        let peer = try TestPeer()
        for index in 0..<100 as Range<UInt32> { try peer.send(.request(index * 2 + 1)) }
        #expect(peer.takeEvents().filter { peer.isRequest($0) }.count == 100)
        try peer.send(.request(201))
        #expect(peer.reset(of: 201) == .refusedStream || peer.goAway == .protocolError)
        #expect(!peer.takeEvents().contains { peer.isRequest($0) })
    }

    @Test func `a head over its size or number of fields is refused for an answer`() throws {
        let long = String(repeating: "v", count: 1000)
        let tooLarge = (0..<17).map { ("name\($0)", long) }
        let tooMany = (0..<65).map { ("n\($0)", "v") }
        let atLimit = (0..<64).map { ("n\($0)", "v") }
        let peer = try TestPeer()
        var stream: UInt32 = 1
        for (fields, refusal) in [(tooLarge, HTTP2Refusal.headTooLarge), (tooMany, .tooManyFields)] {
            try peer.send(bytes: headers(stream, head(adding: fields), end: false))
            #expect(peer.takeEvents() == ["refused \(stream) \(refusal)"])
            // Its body is discarded and holds no window.
            try peer.send(.data(stream, 16_000), .data(stream, 16_000))
            #expect(peer.takeEvents().isEmpty)
            peer.respond(Int32(stream), 431, end: true)
            try peer.flush()
            #expect(peer.heads.last == [":status: 431"])
            #expect(peer.reset(of: stream) == nil)
            try peer.send(.data(stream, 1, end: true))
            #expect(peer.takeEvents() == ["closed \(stream) NO_ERROR"])
            stream += 2
        }
        try peer.send(bytes: headers(stream, head(adding: atLimit), end: true))
        #expect(peer.isRequest(peer.takeEvents().first))
    }

    @Test(
        arguments: [
            ([(":scheme", "ftp")], "badScheme"),
            ([(":method", "CONNECT"), (":scheme", nil), (":path", nil)], "badScheme"),
            ([(":path", "/a<b")], "badTarget(HTTPModel.RequestTargetError.forbiddenByte(60, offset: 2))"),
            ([(":path", "/a#b")], "badTarget(HTTPModel.RequestTargetError.forbiddenByte(35, offset: 2))"),
            ([(":path", "*")], "-"),
            ([(":method", "OPTIONS"), (":path", "*")], "taken"),
        ] as [([(String, String?)], String)]
    )
    func `a target no route can have is refused for an answer`(changes: [(String, String?)], refusal: String) throws {
        let peer = try TestPeer()
        try peer.send(.request(1, head(changes)))
        switch refusal {
        // The library resets the stream.
        case "-": #expect(peer.takeEvents().isEmpty)
        case "taken": #expect(peer.isRequest(peer.takeEvents().first))
        default: #expect(peer.takeEvents() == ["refused 1 \(refusal)"])
        }
        #expect(peer.goAway == nil)
    }

    @Test func `a few bytes that decode to very many end the connection`() throws {
        let peer = try TestPeer()
        // One field of 4,000 bytes goes into the table; each byte 0xbe then names it again.
        let big = String(repeating: "b", count: 4000)
        let block = hpack(Frame.requestFields) + [0x40] + hpackString("x") + hpackString(big)
        try peer.send(
            bytes: Frame(.headers, flags: 5, stream: 1, block + [UInt8](repeating: 0xbe, count: 10_000)).bytes
        )
        #expect(peer.goAway == .enhanceYourCalm)
        #expect(peer.events == ["failed ENHANCE_YOUR_CALM head_bomb"])
    }

    @Test func `endless trailers reset their stream`() throws {
        let peer = try TestPeer()
        try peer.send(.post(1))
        _ = peer.takeEvents()
        let fields = (0..<20).map { ("t\($0)", String(repeating: "v", count: 1000)) }
        try peer.send(bytes: headers(1, fields, end: true))
        #expect(peer.reset(of: 1) == .enhanceYourCalm)
        #expect(peer.takeEvents() == ["closed 1 ENHANCE_YOUR_CALM"])
    }

    /// HEADERS with as many CONTINUATION frames as the block needs.
    private func headers(_ stream: UInt32, _ fields: [(String, String)], end: Bool) -> [UInt8] {
        var rest = hpack(fields)[...]
        var bytes: [UInt8] = []
        var kind = Frame.Kind.headers
        repeat {
            let piece = Array(rest.prefix(16_000))
            rest = rest.dropFirst(16_000)
            let flags = (rest.isEmpty ? Frame.endHeaders : 0) | (kind == .headers && end ? Frame.endStream : 0)
            bytes += Frame(kind, flags: flags, stream: stream, piece).bytes
            kind = .continuation
        } while !rest.isEmpty
        return bytes
    }
}
