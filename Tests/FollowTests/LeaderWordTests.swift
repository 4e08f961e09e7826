import Access
import Basics
import EventLoops
import EventStream
import Gateway
import HTTPModel
import JSONBytes
import Outbound
import Service
import TestSupport
import Testing

@testable import Follow

/// Beats and lines of a leader, as a follower reads them.
struct LeaderWordTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)

    private static func token(_ change: (inout TokenRecord) -> Void = { _ in }) throws -> TokenRecord {
        let new = try NewToken(name: "panel", scopes: [.read, .send], sessions: ["agent:main:main"], now: now)
        var record = TokenRecord.issue(new, now: now, random: Array(repeating: 1, count: 10)).record
        change(&record)
        return record
    }

    private static func beat(_ tokens: [TokenRecord]?) throws -> Beat {
        Beat(
            host: "attic",
            version: "0.1.0",
            startedAt: now,
            last: try EventID(parsing: "d080b48405.39"),
            messageBytes: 1000,
            defaults: SessionDefaults(agent: "home", mainKey: "main", mainSession: nil),
            link: Array(#"{"state":"online"}"#.utf8),
            limitedLink: Array(#"{"state":"offline"}"#.utf8),
            revision: "1700000000000-4",
            tokens: tokens
        )
    }

    private static func bytes(_ beat: Beat) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(beat)
        return writer.bytes
    }

    @Test func `a beat is read as it was written`() throws {
        let paths = try AllowedPaths(["/v1/events", "/v1/runs"])
        let records = [
            try Self.token(), try Self.token { ($0.sessions, $0.paths, $0.expiresAt) = (nil, paths, Self.now) },
        ]
        let read = try #require(Beat(parsing: Self.bytes(try Self.beat(records))))
        #expect(read.host == "attic" && read.revision == "1700000000000-4" && read.startedAt == Self.now)
        #expect(read.last.text == "d080b48405.39" && read.defaults.mainSession.text == "agent:home:main")
        #expect(
            read.link == Array(#"{"state":"online"}"#.utf8) && read.limitedLink == Array(#"{"state":"offline"}"#.utf8)
        )
        #expect(read.tokens == records)
        #expect(try Beat(parsing: Self.bytes(Self.beat(nil)))?.tokens == nil)
    }

    @Test func `what a follower must know is there, or there is no beat`() throws {
        let whole = Self.bytes(try Self.beat([]))
        for name in [
            "host", "version", "startedAt", "last", "messageBytes", "defaults", "link", "limitedLink", "tokens",
        ] {
            let text = String(decoding: whole, as: UTF8.self).replacing("\"\(name)\":", with: "\"x\":")
            #expect(Beat(parsing: Array(text.utf8)) == nil, "\(name)")
        }
        #expect(Beat(parsing: []) == nil && Beat(parsing: Array("[]".utf8)) == nil)
    }

    @Test(arguments: [
        (#""scopes":["read","send"]"#, #""scopes":["read","everything"]"#),
        (#""scopes":["read","send"]"#, #""scopes":"read""#),
        (#""sessions":["agent:main:main"]"#, #""sessions":null"#),
        (#""sessions":["agent:main:main"]"#, #""sessions":[1]"#),
        (#""sessions":["agent:main:main"]"#, #""hosts":["attic"]"#), (#""digest":""#, #""digest":"00"#),
        (#""id":""#, #""key":""#),
    ])
    func `a token with something that is not understood opens nothing`(from: String, to: String) throws {
        let whole = String(
            decoding: Self.bytes(try Self.beat([Self.token(), Self.token { $0.sessions = nil }])),
            as: UTF8.self
        )
        let spoilt = whole.replacing(from, with: to, maxReplacements: 1)
        #expect(spoilt != whole)
        #expect(Beat(parsing: Array(spoilt.utf8))?.tokens?.count == 1)
    }

    @Test func `an event keeps its bytes, and a piece of text is known as one`() throws {
        let line = Array(
            #"{"id":"d080b48405.7","type":"message","at":"2026-11-02T09:13:20.000Z","session":"agent:main:main"}"#.utf8
        )
        let event = try #require(StreamEvent(line: line))
        #expect(
            event.data == line && event.id?.sequence == 7 && event.session == "agent:main:main" && event.delta == nil
        )
        let piece =
            #"{"type":"run.delta","at":"2026-11-02T09:13:20.000Z","session":"s","runId":"r","text":"hi","offset":3}"#
        let delta = try #require(StreamEvent(line: Array(piece.utf8))?.delta)
        #expect(delta.offset == 3 && delta.text == "hi" && !delta.replaces)
        for bad in ["", "x", "[]", "{}", #"{"type":1}"#, #"{"type":"message","id":"x"}"#] {
            #expect(StreamEvent(line: Array(bad.utf8)) == nil, "\(bad)")
        }
    }

    @Test func `lines are found wherever the network cuts the stream`() async throws {
        let loop = try EventLoop(label: "test.follow")
        loop.start()
        let bytes = Array("one\n\ntwo\nthree".utf8) + Array("\nfour".utf8)
        for size in 1...bytes.count {
            let (lines, ends) = await Self.read(bytes, by: size, on: loop)
            #expect(lines == ["one", "two", "three"] && ends == ["the leader ended its stream"], "\(size)")
        }
        let endless = await Self.read(Array(repeating: 0x20, count: 3 << 20), by: 64 << 10, on: loop)
        #expect(endless.lines.isEmpty && endless.ends == ["a line of the leader's stream is too long"])
        await loop.stop()
    }

    private static func read(
        _ bytes: [UInt8],
        by size: Int,
        on loop: isolated EventLoop
    ) async -> (lines: [String], ends: [String]) {
        let found = Found()
        let feed = LeaderFeed {
            found.lines.append(String(decoding: $0, as: UTF8.self))
        } ended: {
            found.ends.append($0)
        }
        feed.answerBegan(ResponseHead(.ok), on: loop)
        for start in stride(from: 0, to: bytes.count, by: size) {
            let piece = Array(bytes[start..<min(start + size, bytes.count)])
            feed.answerContinued(piece.span, on: loop)
        }
        feed.answerEnded(on: loop)
        return (found.lines, found.ends)
    }

    private final class Found {
        var lines: [String] = []
        var ends: [String] = []
    }
}
