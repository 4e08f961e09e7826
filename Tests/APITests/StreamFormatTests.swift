import Basics
import EventStream
import JSONBytes
import Testing

@testable import API
@testable import Service
@testable import Store

struct StreamFormatTests {
    private static let id = EventID(epoch: EventEpoch.make(random: 7), sequence: 9)
    private static let at = Timestamp(milliseconds: 1_795_000_000_250)

    private func event(_ type: String, run: String? = nil, _ body: (inout JSONWriter) -> Void) -> StreamEvent {
        var writer = JSONWriter()
        writer.object { object in
            object.member("id", Self.id.text)
            object.member("type", type)
            object.member("at", Self.at)
            body(&object)
        }
        return StreamEvent(type: type, session: "agent:main:main", run: run, id: Self.id, data: writer.bytes)
    }

    @Test func `an event that is too large has its members, the beginning of its long texts, and a link`() throws {
        let long = String(repeating: "wörter ", count: 40_000)
        let event = event("run.ended", run: "r 1") { object in
            object.object("run") { run in
                run.member("id", "r 1")
                run.member("text", long)
                run.array("list", of: ["short", long])
            }
        }
        let sent = try JSONDocument(parsing: StreamFormat.data(of: event)).root
        #expect(sent.members.map(\.key) == ["id", "type", "at", "run", "truncated", "href"])
        #expect(sent["truncated"]?.bool == true && sent["href"]?.string == "/v1/runs/r%201")
        let text = try #require(sent["run"]?["text"]?.string)
        #expect(long.hasPrefix(text) && text.utf8.count > 16_000 && sent["run"]?["truncated"]?.bool == true)
        #expect(sent["run"]?["list"]?[0]?.string == "short" && sent["run"]?["id"]?.string == "r 1")
        for format in [StreamFormat.eventStream, .ndjson, .text] {
            #expect(format.encode(event).count <= SSEEncoder.maxEventBytes)
        }
    }

    @Test func `where even that is too large, there is what every event has`() throws {
        let event = event("message", run: "r 1") { object in
            object.array("list", of: (0..<70_000).map { _ in "x" })
        }
        let stub = try JSONDocument(parsing: StreamFormat.data(of: event)).root
        #expect(
            stub.members.map(\.key) == ["id", "type", "at", "session", "runId", "truncated", "bytes", "href"]
        )
        #expect(stub["id"]?.string == Self.id.text && stub["at"]?.string == Self.at.rfc3339)
        #expect(stub["bytes"]?.int == Int64(event.data.count) && stub["href"]?.string == "/v1/runs/r%201")
        for format in [StreamFormat.eventStream, .ndjson] {
            #expect(format.encode(event).count < 1024)
        }
    }

    @Test func `a row that is damaged on the disk is told with a link, and is JSON`() throws {
        var stored = StoredEvent(id: Self.id, type: "message", at: Self.at, session: "s 1", run: nil, data: [])
        stored.isDamaged = true
        let sent = try JSONDocument(parsing: StreamFormat.data(of: StreamEvent(stored))).root
        #expect(sent["id"]?.string == Self.id.text && sent["type"]?.string == "message")
        #expect(sent["at"]?.string == Self.at.rfc3339 && sent["truncated"]?.bool == true)
        #expect(sent["href"]?.string == "/v1/messages?session=s%201")
    }

    /// The text is put together as the JavaScript of docs/events.md does it.
    @Test(arguments: ["x", "é", "👩🏽‍🚀", "\u{1}", "\n\"", "\u{202E}"])
    func `a long text comes in pieces that continue each other`(piece: String) throws {
        let text = String(repeating: piece, count: 300_000 / piece.utf8.count)
        let whole = StreamEvent(
            StreamEvent.Delta(run: "r", session: "s", offset: 0, text: text, replaces: true),
            at: Self.at
        )
        var shown = Array("before".utf16)
        for event in whole.pieces {
            let data = StreamFormat.data(of: event)
            #expect(data.count <= StreamFormat.largestData)
            let sent = try JSONDocument(parsing: data).root
            let new = try Array(#require(sent["text"]?.string).utf16)
            let offset = try Int(#require(sent["offset"]?.int))
            shown = sent["replace"]?.bool == true ? new : Array(shown[..<offset]) + new
            #expect(sent["truncated"] == nil && sent["at"]?.string == Self.at.rfc3339)
        }
        #expect(shown == Array(text.utf16))
        #expect(whole.pieces.count > 10)
    }
}
