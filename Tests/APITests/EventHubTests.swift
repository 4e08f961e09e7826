import Access
import Basics
import EventLoops
import EventStream
import HTTPModel
import JSONBytes
import Observability
import Server
import TestSupport
import Testing

@testable import API
@testable import Service

/// A stream's connection, controlled by the test: bytes that the reader takes, and bytes left waiting.
private final class HandSink: ExchangeSink {
    var taken: [UInt8] = []
    var waiting: [UInt8] = []
    var isStuck = false
    /// Takes one piece at a time, for ever.
    var staysStuck = false
    var isCut = false
    var hasEnded = false

    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome {
        var piece: [UInt8] = []
        for place in bytes.indices { piece.append(bytes[place]) }
        guard isStuck || !waiting.isEmpty else {
            taken += piece
            return .written
        }
        waiting += piece
        return .waiting(waiting.count)
    }

    func drain(_ exchange: Exchange, on loop: isolated EventLoop) {
        isStuck = staysStuck
        taken += waiting
        waiting = []
        if !isCut { exchange.outputDrained(on: loop) }
    }

    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {}
    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {}
    func directTarget(for exchange: Exchange) -> SharedBytesTarget? { nil }
    func directTargetWaits(for exchange: Exchange, on loop: isolated EventLoop) {}
    func end(_ exchange: Exchange, on loop: isolated EventLoop) { hasEnded = true }
    func abort(_ exchange: Exchange, on loop: isolated EventLoop) { isCut = true }
    func waitingBytes(of exchange: Exchange) -> Int { waiting.count }
    func isBehind(_ exchange: Exchange) -> Bool { false }
    func limitWaiting(to bytes: Int, for exchange: Exchange) {}
    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop) {}

    /// The numbers of the events that arrived.
    var numbers: [Int64] {
        String(decoding: taken, as: UTF8.self).split(separator: "\n").compactMap { Int64($0) }
    }
}

struct EventHubTests {
    private static let epoch = EventEpoch.make(random: 7)

    /// An event whose line is its number.
    private static func event(_ number: Int64) -> StreamEvent {
        StreamEvent(type: "message", id: EventID(epoch: epoch, sequence: number), data: Array("\(number)".utf8))
    }

    private static func delta(_ offset: Int, _ text: String, replaces: Bool = false) -> StreamEvent {
        StreamEvent(
            .init(run: "r", session: "s", offset: offset, text: text, replaces: replaces),
            at: Timestamp(milliseconds: 0)
        )
    }

    private struct Reader {
        let sink = HandSink()
        let exchange: Exchange
        let subscriber: Subscriber

        init(_ hub: EventHub, as caller: Caller = .owner(uid: 0), limit: Int? = nil, on loop: isolated EventLoop) {
            let nowhere = SocketAddress.unix(path: "")
            exchange = Exchange(
                head: RequestHead(),
                connection: ConnectionInfo(listener: .control, remote: nowhere, local: nowhere),
                number: 1,
                sink: sink,
                on: loop
            )
            exchange.beginStream(ResponseHead(.ok, contentType: "text/plain"), on: loop)
            let plan = StreamPlan(
                caller: caller,
                filter: .everything,
                format: .ndjson,
                heartbeatSeconds: 15,
                heartbeatAsEvent: false
            )
            subscriber = hub.add(exchange, plan, limit: limit, on: loop)
        }
    }

    /// Runs on a loop of its own; a turn ends when `body` calls `hub.turnEnded`.
    private func onLoop(_ body: @escaping @Sendable (EventHub, isolated EventLoop) -> Void) async throws {
        let loop = try EventLoop()
        loop.start()
        let done = Inbox<Bool>()
        loop.post { loop in
            let hub = EventHub(
                last: EventID(epoch: Self.epoch, sequence: 0),
                bufferLimit: 400,
                open: OpenRequests(),
                audience: Audience()
            )
            body(hub, loop)
            done.put(true)
        }
        _ = try await done.next()
        await loop.stop()
    }

    /// Its beginning would otherwise end each of its streams before it could read on.
    @Test func `a slow reader is not cut for the text with which its stream begins`() async throws {
        try await onLoop { hub, loop in
            let reader = Reader(hub, on: loop)
            reader.sink.isStuck = true
            reader.sink.staysStuck = true
            let texts = Self.delta(0, String(repeating: "x", count: 50_000), replaces: true).pieces
            hub.goLive(reader.subscriber, behind: texts, on: loop)
            hub.deliver(Self.event(1), on: loop)
            #expect(!reader.sink.isCut)
            for _ in 0..<20 { reader.sink.drain(reader.exchange, on: loop) }
            #expect(!reader.sink.isCut && reader.sink.numbers == [1])
            #expect(reader.sink.taken.count(where: { $0 == UInt8(ascii: "x") }) >= 50_000)
        }
    }

    @Test func `a caller limited to sessions learns only whether the link works`() async throws {
        try await onLoop { hub, loop in
            let bound = TokenCaller(id: "t", name: "t", scopes: .read, sessions: ["agent:main:mine"])
            let readers = [Reader(hub, on: loop), Reader(hub, as: .token(bound), on: loop)]
            for reader in readers { hub.goLive(reader.subscriber, behind: [], on: loop) }
            #expect(hub.count(of: .token(bound)) == 1)
            var status = LinkStatus(
                state: .offline,
                code: "ECONNREFUSED",
                detail: "10.0.0.7 refuses.",
                since: Timestamp(milliseconds: 0),
                url: "wss://10.0.0.7:1"
            )
            status.hint = "ssh 10.0.0.7"
            hub.deliver(
                StreamEvent(transient: "link", at: Timestamp(milliseconds: 0)) { $0.member("link", status) },
                on: loop
            )
            hub.turnEnded(on: loop)
            let texts = readers.map { String(decoding: $0.sink.taken, as: UTF8.self) }
            #expect(texts[0].contains("10.0.0.7") && texts[0].contains("ECONNREFUSED"))
            #expect(
                texts[1] == #"{"type":"link","at":"1970-01-01T00:00:00.000Z","link":{"state":"offline","#
                    + #""since":"1970-01-01T00:00:00.000Z","scopes":[],"features":[],"#
                    + #""detail":"The gateway cannot be reached."}}"#
                    + "\n"
            )
        }
    }

    @Test func `a reader cut for its backlog gets nothing that came behind what was thrown away`() async throws {
        try await onLoop { hub, loop in
            let slow = Reader(hub, on: loop)
            let fast = Reader(hub, on: loop)
            for reader in [slow, fast] { hub.goLive(reader.subscriber, behind: [], on: loop) }
            slow.sink.isStuck = true
            hub.deliver(Self.event(1), on: loop)
            hub.turnEnded(on: loop)
            for number in 2...300 { hub.deliver(Self.event(Int64(number)), on: loop) }
            hub.turnEnded(on: loop)
            // The socket becomes writable before anything else happens.
            slow.sink.drain(slow.exchange, on: loop)
            #expect(slow.sink.isCut)
            #expect(slow.sink.numbers == Array(1...Int64(slow.sink.numbers.count)))
            #expect(fast.sink.numbers == Array(1...300))
            #expect(hub.count == 1)
            #expect(hub.counters.cut == 1)
        }
    }

    @Test func `a reader that falls behind and catches up has each event once and in order`() async throws {
        try await onLoop { hub, loop in
            let slow = Reader(hub, on: loop)
            let fast = Reader(hub, on: loop)
            for reader in [slow, fast] { hub.goLive(reader.subscriber, behind: [], on: loop) }
            for number in 1...120 {
                let place = number % 6
                if place == 1 { slow.sink.isStuck = true }
                hub.deliver(Self.event(Int64(number)), on: loop)
                if place == 0 || (place == 3 && number % 4 == 1) { hub.turnEnded(on: loop) }
                // Also in the middle of a turn: bytes gathered for the others must not come twice.
                if place == 0 || (place == 5 && number % 3 == 2) { slow.sink.drain(slow.exchange, on: loop) }
            }
            #expect(slow.sink.numbers == Array(1...120))
            #expect(fast.sink.numbers == Array(1...120))
        }
    }

    @Test func `a reader that comes in the middle of a turn gets what comes behind its own events, and only that`()
        async throws
    {
        try await onLoop { hub, loop in
            let first = Reader(hub, on: loop)
            hub.goLive(first.subscriber, behind: [], on: loop)
            hub.deliver(Self.event(1), on: loop)
            let late = Reader(hub, on: loop)
            late.sink.isStuck = true
            hub.deliver(Self.event(2), on: loop)
            hub.goLive(late.subscriber, behind: [Self.event(70), Self.event(71)], on: loop)
            hub.deliver(Self.event(3), on: loop)
            hub.turnEnded(on: loop)
            late.sink.drain(late.exchange, on: loop)
            hub.deliver(Self.event(4), on: loop)
            hub.turnEnded(on: loop)
            #expect(late.sink.numbers == [70, 71, 3, 4])
            #expect(first.sink.numbers == [1, 2, 3, 4])
        }
    }

    @Test func `a reader that is always a little behind holds only what it has not had`() async throws {
        try await onLoop { hub, loop in
            let slow = Reader(hub, on: loop)
            hub.goLive(slow.subscriber, behind: [], on: loop)
            slow.sink.isStuck = true
            slow.sink.staysStuck = true
            var told: [Weak] = []
            for number in 1...2000 {
                let event = Self.event(Int64(number))
                told.append(Weak(event: event))
                hub.deliver(event, on: loop)
                hub.turnEnded(on: loop)
                if number > 20 { slow.sink.drain(slow.exchange, on: loop) }
            }
            #expect(!slow.sink.isCut)
            #expect(slow.sink.numbers == Array(1...1980))
            #expect(told.count { $0.event != nil } < 150)
        }
    }

    @Test func `a stream that goes before its time takes its timer with it`() async throws {
        try await onLoop { hub, loop in
            let reader = Reader(hub, on: loop)
            let armed = loop.armedTimers
            hub.finish(reader.subscriber, afterSeconds: 86_400, on: loop)
            hub.goLive(reader.subscriber, behind: [], on: loop)
            #expect(loop.armedTimers == armed + 1)
            reader.exchange.peerLeft(on: loop)
            #expect(loop.armedTimers == armed)
        }
    }

    private struct Weak {
        weak var event: StreamEvent?
    }

    @Test func `a counted stream ends with its last event, behind or not`() async throws {
        try await onLoop { hub, loop in
            let counted = Reader(hub, limit: 3, on: loop)
            let slow = Reader(hub, limit: 3, on: loop)
            for reader in [counted, slow] { hub.goLive(reader.subscriber, behind: [], on: loop) }
            slow.sink.isStuck = true
            for number in 1...2 { hub.deliver(Self.event(Int64(number)), on: loop) }
            hub.turnEnded(on: loop)
            for number in 3...9 { hub.deliver(Self.event(Int64(number)), on: loop) }
            hub.turnEnded(on: loop)
            slow.sink.drain(slow.exchange, on: loop)
            for reader in [counted, slow] {
                #expect(reader.sink.numbers == [1, 2, 3])
                #expect(reader.sink.hasEnded)
            }
            #expect(hub.count == 0)
        }
    }

    @Test func `events gathered in a turn leave before the last event of all streams`() async throws {
        try await onLoop { hub, loop in
            let reader = Reader(hub, on: loop)
            hub.goLive(reader.subscriber, behind: [], on: loop)
            hub.deliver(Self.event(1), on: loop)
            hub.end(with: { Self.event(99) }, on: loop)
            hub.turnEnded(on: loop)
            #expect(reader.sink.numbers == [1, 99])
            #expect(reader.sink.hasEnded)
        }
    }

    @Test func `pieces of a text are joined only for a reader that is behind`() async throws {
        try await onLoop { hub, loop in
            let slow = Reader(hub, on: loop)
            let fast = Reader(hub, on: loop)
            for reader in [slow, fast] { hub.goLive(reader.subscriber, behind: [], on: loop) }
            slow.sink.isStuck = true
            hub.deliver(Self.event(1), on: loop)
            hub.turnEnded(on: loop)
            hub.deliver(Self.delta(0, "ab"), on: loop)
            hub.deliver(Self.delta(2, "c"), on: loop)
            hub.turnEnded(on: loop)
            slow.sink.drain(slow.exchange, on: loop)
            let pieces = { (reader: Reader) in
                String(decoding: reader.sink.taken, as: UTF8.self).split(separator: "\n").dropFirst().count
            }
            #expect(pieces(slow) == 1)
            #expect(String(decoding: slow.sink.taken, as: UTF8.self).contains("\"text\":\"abc\",\"offset\":0"))
            #expect(pieces(fast) == 2)
        }
    }

    @Test func `pieces are joined as far as that is cheap, and the text stays whole`() async throws {
        try await onLoop { _, loop in
            let backlog = Backlog()
            let piece = String(repeating: "abcdefgh", count: 12)
            for number in 0..<3000 {
                backlog.append(EncodedEvent(Self.delta(number * piece.utf16.count, piece)), joining: true, on: loop)
            }
            var (end, count) = (0, 0)
            while let event = backlog.next()?.event {
                #expect(event.data.count <= 4 << 10)
                #expect(event.delta?.offset == end)
                end += event.delta?.text.utf16.count ?? 0
                count += 1
            }
            #expect(end == 3000 * piece.utf16.count)
            #expect(count < 3000 / 30)
            #expect(backlog.bytes == 0)
        }
    }
}
