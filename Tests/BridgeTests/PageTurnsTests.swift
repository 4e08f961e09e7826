import EventLoops
import Exchanges
import HTTPModel
import Testing

@testable import Bridge

/// A connection whose peer takes its answers, or does not.
private final class PeerSink: ExchangeSink {
    var isBehind = false

    func isBehind(_ exchange: Exchange) -> Bool { isBehind }
    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {}
    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {}
    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome { .gone }
    func outlet(for exchange: Exchange) -> StreamOutlet? { nil }
    func outletWaits(for exchange: Exchange, on loop: isolated EventLoop) {}
    func end(_ exchange: Exchange, on loop: isolated EventLoop) {}
    func abort(_ exchange: Exchange, on loop: isolated EventLoop) {}
    func waitingBytes(of exchange: Exchange) -> Int { 0 }
    func limitWaiting(to bytes: Int, for exchange: Exchange) {}
    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop) {}
}

struct PageTurnsTests {
    private static func info() -> ConnectionInfo {
        ConnectionInfo(door: .tcp, remote: .unix(path: ""), local: .unix(path: ""))
    }

    private static func call(_ connection: ConnectionInfo, _ sink: PeerSink, on loop: isolated EventLoop) -> Call {
        let exchange = Exchange(head: RequestHead(), connection: connection, number: 1, sink: sink, on: loop)
        let route = Route("list", .get, "/", scope: nil, query: ["limit"]) { _, _, _ in }
        let request = Request(
            route: route,
            place: 0,
            parameters: [],
            query: QueryItems(),
            caller: .nobody,
            answerType: .json
        )
        return Call(exchange, request)
    }

    private static func isNow(_ turn: PageTurns.Turn) -> Bool { if case .now = turn { true } else { false } }

    @Test func `of many pages four begin, each end lets in the next, and other connections are not asked to wait`()
        async throws
    {
        let loop = try EventLoop()
        loop.start()
        await check(on: loop)
        await loop.stop()
    }

    private func check(on loop: isolated EventLoop) {
        var turns = PageTurns()
        let sink = PeerSink()
        let (many, other) = (Self.info(), Self.info())
        let calls = (0..<10).map { _ in Self.call(many, sink, on: loop) }
        #expect(calls.map { Self.isNow(turns.turn(of: $0)) } == (0..<10).map { $0 < 4 })
        #expect(turns.next(of: many) == nil)
        #expect(Self.isNow(turns.turn(of: Self.call(other, sink, on: loop))))

        // The fifth's client leaves; the sixth has its turn.
        calls[4].exchange.peerLeft(on: loop)
        #expect(turns.end(calls[0]))
        #expect(turns.next(of: many) === calls[5])
        #expect(turns.next(of: many) == nil)

        // Nothing is begun for a peer that takes nothing, whoever ends.
        sink.isBehind = true
        #expect(turns.end(calls[1]) && turns.next(of: many) == nil)
        #expect(!turns.isOver(many))
        sink.isBehind = false
        #expect(turns.next(of: many) === calls[6])

        for call in calls[2...3] { #expect(turns.end(call)) }
        #expect(turns.next(of: many) === calls[7] && turns.next(of: many) === calls[8])
        for call in calls[5...6] { _ = turns.end(call) }
        #expect(turns.next(of: many) === calls[9])
        for call in calls[7...9] { #expect(!turns.end(call)) }
        #expect(turns.isOver(many) && many.openPages == 0)
        #expect(Self.isNow(turns.turn(of: Self.call(many, sink, on: loop))))
    }
}
