import Gateway
import Testing
import WebSocket

@testable import Upstream

/// Messages that are too large to be parsed on the loop.
struct LargeMessageTests {
    private static let large =
        #"{"type":"event","event":"large","payload":"\#(String(repeating: "x", count: ClientWebSocket.largestParsedHere))"}"#

    private static func event(_ name: String) -> String { #"{"type":"event","event":"\#(name)","payload":{}}"# }

    private static func frames(_ texts: String...) -> [UInt8] {
        var bytes: [UInt8] = []
        for text in texts { WebSocketEncoder.append(.text, Array(text.utf8), mask: nil, to: &bytes) }
        return bytes
    }

    @Test func `messages keep their order around a large one`() throws {
        var link = try LinkHarness()
        link.parsesAtOnce = false
        link.goOnline()
        link.feed(Self.frames(Self.event("a"), Self.large, Self.event("b"), Self.large, Self.event("c")))
        #expect(link.events.map(\.name) == ["a"] && link.parsing.count == 1)
        link.parseNext()
        #expect(link.events.map(\.name) == ["a", "large", "b"] && link.parsing.count == 1)
        link.parseNext()
        #expect(link.events.map(\.name) == ["a", "large", "b", "large", "c"])
        #expect(link.machine.counters.framesIn >= 5)
    }

    @Test func `a large message that is no JSON is counted`() throws {
        var link = try LinkHarness()
        link.goOnline()
        link.feed(Self.frames(String(repeating: "x", count: 2 << 20), Self.event("b")))
        #expect(link.machine.counters.unreadableFrames == 1 && link.events.map(\.name) == ["b"])
    }

    /// The newest gateways close a connection whose pong takes longer than 25 seconds.
    @Test func `a ping is answered while a large message before it is parsed`() throws {
        var link = try LinkHarness()
        link.parsesAtOnce = false
        link.goOnline()
        var ping: [UInt8] = []
        WebSocketEncoder.append(.ping, [5, 6], mask: nil, to: &ping)
        link.feed(Self.frames(Self.large, Self.event("b")) + ping + Self.frames(Self.event("c")))
        #expect(link.parsing.count == 1 && link.events.isEmpty)
        #expect(link.pongs == [[5, 6]])
        link.parseNext()
        #expect(link.events.map(\.name) == ["large", "b", "c"])
        #expect(link.pongs.count == 1)
    }

    @Test func `no deadline of reading strikes while a message is parsed`() throws {
        var link = try LinkHarness()
        link.parsesAtOnce = false
        link.goOnline()
        link.feed(Self.frames(Self.large))
        link.advance(700_000)
        link.perform(link.machine.wake(now: link.now))
        #expect(link.machine.isOnline)
        link.parseNext()
        #expect(link.events.count == 1)
        #expect(link.machine.wakeAt == link.now.milliseconds + 60_000)
    }

    @Test func `a message of a connection that is gone is dropped when it is parsed`() throws {
        var link = try LinkHarness()
        link.parsesAtOnce = false
        link.goOnline()
        link.feed(Self.frames(Self.large, Self.event("b")))
        link.perform(link.machine.transportFailed(.dropped, now: link.now))
        link.reopenUntilOnline()
        link.feed(Self.frames(Self.event("c"), Self.large))
        link.parseNext()
        #expect(link.events.map(\.name) == ["c"])
        link.parseNext()
        #expect(link.events.map(\.name) == ["c", "large"])
    }
}
