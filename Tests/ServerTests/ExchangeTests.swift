import Basics
import EventLoops
import HTTPModel
import TestSupport
import Testing

@testable import Server

/// Records the calls of an exchange, and can find the peer gone in the middle of one.
private final class NotingSink: ExchangeSink {
    var calls: [String] = []
    var isGone = false

    private func note(_ call: String, _ exchange: Exchange, on loop: isolated EventLoop) {
        calls.append(call)
        if isGone { exchange.peerLeft(on: loop) }
    }

    func send(_ response: Response, for exchange: Exchange, on loop: isolated EventLoop) {
        note("send \(response.head.status.code)", exchange, on: loop)
    }

    func begin(_ head: ResponseHead, for exchange: Exchange, on loop: isolated EventLoop) {
        note("begin", exchange, on: loop)
    }

    func write(_ bytes: Span<UInt8>, for exchange: Exchange, on loop: isolated EventLoop) -> WriteOutcome {
        note("write \(bytes.count)", exchange, on: loop)
        return isGone ? .gone : .written
    }

    func directTarget(for exchange: Exchange) -> SharedBytesTarget? { nil }
    func directTargetWaits(for exchange: Exchange, on loop: isolated EventLoop) {}
    func end(_ exchange: Exchange, on loop: isolated EventLoop) { note("end", exchange, on: loop) }
    func abort(_ exchange: Exchange, on loop: isolated EventLoop) { note("abort", exchange, on: loop) }
    func waitingBytes(of exchange: Exchange) -> Int { 0 }
    func isBehind(_ exchange: Exchange) -> Bool { false }
    func limitWaiting(to bytes: Int, for exchange: Exchange) {}
    func proceed(_ exchange: Exchange, bodyBytes: Int, on loop: isolated EventLoop) {
        note("proceed", exchange, on: loop)
    }
}

private final class NotingOwner: ExchangeOwner {
    var left = 0
    func peerLeft(_ exchange: Exchange, on loop: isolated EventLoop) { left += 1 }
    func drained(_ exchange: Exchange, on loop: isolated EventLoop) {}
}

struct ExchangeTests {
    private func onLoop(
        _ body: @escaping @Sendable (Exchange, NotingSink, NotingOwner, isolated EventLoop) -> Void
    ) async throws {
        let loop = try EventLoop()
        loop.start()
        let done = Inbox<Bool>()
        loop.post { loop in
            let nowhere = SocketAddress.unix(path: "")
            let sink = NotingSink()
            let owner = NotingOwner()
            let exchange = Exchange(
                head: RequestHead(),
                connection: ConnectionInfo(listener: .control, remote: nowhere, local: nowhere),
                number: 7,
                sink: sink,
                on: loop
            )
            exchange.owner = owner
            body(exchange, sink, owner, loop)
            done.put(true)
        }
        _ = try await done.next()
        await loop.stop()
    }

    @Test func `it is answered once, and whoever kept it open hears nothing more`() async throws {
        try await onLoop { exchange, sink, owner, loop in
            exchange.respond(Response(.ok), on: loop)
            exchange.respond(Response(.noContent), on: loop)
            exchange.respond(Problem(.notFound, "x"), on: loop)
            exchange.beginStream(ResponseHead(.ok), on: loop)
            exchange.end(on: loop)
            exchange.abort(on: loop)
            exchange.peerLeft(on: loop)
            #expect(sink.calls == ["send 200"])
            #expect(owner.left == 0)
            #expect(exchange.status == .ok && exchange.problemCode == nil)
        }
    }

    @Test func `a stream that has ended takes nothing more`() async throws {
        try await onLoop { exchange, sink, owner, loop in
            exchange.beginStream(ResponseHead(.ok), on: loop)
            #expect(exchange.write([1, 2], on: loop) == .written)
            exchange.respond(Response(.ok), on: loop)
            exchange.end(on: loop)
            #expect(exchange.write([3], on: loop) == .gone)
            exchange.end(on: loop)
            #expect(sink.calls == ["begin", "write 2", "end"])
            #expect(owner.left == 0)
        }
    }

    @Test func `a cut exchange is answered if no answer has begun, and ended otherwise`() async throws {
        let problem = Problem(.notPaired, "x")
        try await onLoop { exchange, sink, owner, loop in
            exchange.cut(problem, on: loop)
            exchange.cut(problem, on: loop)
            #expect(sink.calls == ["send 401"])
            #expect(owner.left == 1)
            #expect(exchange.problemCode == .notPaired)
        }
        try await onLoop { exchange, sink, owner, loop in
            exchange.beginStream(ResponseHead(.ok), on: loop)
            exchange.cut(problem, on: loop)
            #expect(sink.calls == ["begin", "abort"])
            #expect(owner.left == 1)
        }
    }

    @Test func `a peer found gone in the middle of a call ends it once`() async throws {
        try await onLoop { exchange, sink, owner, loop in
            sink.isGone = true
            exchange.beginStream(ResponseHead(.ok), on: loop)
            #expect(!exchange.isStreaming && !exchange.isOpen)
            #expect(owner.left == 1)
            #expect(exchange.write([1], on: loop) == .gone)
            exchange.end(on: loop)
            #expect(sink.calls == ["begin"])
        }
        try await onLoop { exchange, sink, owner, loop in
            sink.isGone = true
            exchange.respond(Response(.ok), on: loop)
            #expect(sink.calls == ["send 200"])
            #expect(owner.left == 0, "it was answered before anyone was found gone")
        }
    }

    @Test func `an admission that comes later comes only while it is open`() async throws {
        try await onLoop { exchange, sink, _, loop in
            exchange.proceed(bodyBytes: 1, on: loop)
            exchange.respond(Response(.ok), on: loop)
            exchange.proceed(bodyBytes: 1, on: loop)
            #expect(sink.calls == ["proceed", "send 200"])
        }
    }

    @Test(arguments: [(0 as UInt64, "req-00000000"), (36, "req-00000010"), (.max, "req-3w5e11264sgsf")])
    func `request ids have one length as long as they can`(number: UInt64, text: String) {
        #expect(RequestID.text(number) == text)
    }

    @Test func `a problem says when to come back in whole seconds, rounded up`() {
        for (milliseconds, seconds) in [(0, "0"), (1, "1"), (1000, "1"), (1001, "2"), (-5, "0")] as [(Int64, String)] {
            let problem = Problem(.rateLimited, "x", retryAfterMs: milliseconds)
            #expect(problem.response(requestID: "r").head.fields.string(for: .retryAfter) == seconds)
        }
    }

    @Test func `a 304 varies like the answer that it stands for`() throws {
        var whole = Response(.ok, contentType: "application/json", body: [UInt8](repeating: 0x20, count: 4_000))
        var short = whole.unmodified
        #expect(ContentCoding.concerns(short, from: 1_024) && !ContentCoding.concerns(short, from: 8_192))
        var asked = try RequestHead(method: .get, target: "/")
        asked.fields.append(.acceptEncoding, "gzip")
        ContentCoding.apply(to: &short, accepted: asked)
        #expect(short.head.fields.contains(.vary) && !short.head.fields.contains(.contentEncoding))
        whole.mayCompress = false
        #expect(!ContentCoding.concerns(whole.unmodified, from: 1_024))
    }
}
