import Access
import Basics
import EventLoops
import HTTPModel
import Server
import Testing

@testable import API
@testable import Service

/// A connection whose peer reads its answers, or does not.
private final class PeerSink: ExchangeSink {
    var isBehind = false

    func isBehind(_ exchange: Exchange) -> Bool { isBehind }
    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {}
    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {}
    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome { .gone }
    func directTarget(for exchange: Exchange) -> SharedBytesTarget? { nil }
    func directTargetWaits(for exchange: Exchange, on loop: isolated EventLoop) {}
    func end(_ exchange: Exchange, on loop: isolated EventLoop) {}
    func abort(_ exchange: Exchange, on loop: isolated EventLoop) {}
    func waitingBytes(of exchange: Exchange) -> Int { 0 }
    func limitWaiting(to bytes: Int, for exchange: Exchange) {}
    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop) {}
}

struct PageTurnsTests {
    private static func info() -> ConnectionInfo {
        ConnectionInfo(listener: .tcp, remote: .unix(path: ""), local: .unix(path: ""))
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

    @Test func `of many pages four begin, each end lets in the next, and other connections are not asked to wait`()
        async throws
    {
        let loop = try EventLoop()
        loop.start()
        await check(on: loop)
        await loop.stop()
    }

    private func check(on loop: isolated EventLoop) {
        var turns = PageLimit()
        let sink = PeerSink()
        let (many, other) = (Self.info(), Self.info())
        func begins(_ call: Call) -> Bool { if case .now = turns.turn(of: call) { true } else { false } }
        func next() -> Call? { turns.next(of: many) }
        func end(_ call: Call) -> Bool { turns.end(call) }
        func isOver() -> Bool { turns.isOver(many) }

        let calls = (0..<10).map { _ in Self.call(many, sink, on: loop) }
        #expect(calls.map(begins) == (0..<10).map { $0 < 4 })
        #expect(next() == nil)
        #expect(begins(Self.call(other, sink, on: loop)))

        // The fifth request's client leaves; the sixth gets its turn.
        calls[4].exchange.peerLeft(on: loop)
        #expect(end(calls[0]))
        #expect(next() === calls[5])
        #expect(next() == nil)

        // No page is started for a peer that does not read, whichever page ends.
        sink.isBehind = true
        #expect(end(calls[1]))
        #expect(next() == nil)
        #expect(!isOver())
        sink.isBehind = false
        #expect(next() === calls[6])

        for call in calls[2...3] { #expect(end(call)) }
        #expect(next() === calls[7])
        #expect(next() === calls[8])
        for call in calls[5...6] { #expect(end(call)) }
        #expect(next() === calls[9])
        for call in calls[7...9] { #expect(!end(call)) }
        #expect(isOver())
        #expect(many.openPages == 0)
        #expect(begins(Self.call(many, sink, on: loop)))
    }

    @Test func `every list that is read by pages is one`() {
        let lists = RouteTable.routes.filter { $0.method == .get && $0.query.contains("limit") }
        #expect(lists.filter { !$0.isPage }.map(\.operation) == ["streamEvents"])
        #expect(lists.count(where: \.isPage) == RouteTable.routes.count(where: \.isPage))
    }
}
