import Basics
import EventStream
import JSONBytes
import Testing

@testable import API
@testable import Service

struct StreamFormatTests {
    @Test func `a stub has what every event has, and says where the whole is`() throws {
        let id = EventID(epoch: EventEpoch.make(random: 7), sequence: 9)
        let at = try #require(Timestamp(rfc3339: "2026-11-21T08:00:00.250Z"))
        var writer = JSONWriter()
        writer.object { object in
            object.member("id", id.text)
            object.member("type", "message")
            object.member("at", at)
            object.member("text", String(repeating: "w", count: StreamFormat.largestData))
        }
        let event = StreamEvent(type: "message", session: "agent:main:main", run: "r 1", id: id, data: writer.bytes)
        let stub = try JSONDocument(parsing: StreamFormat.data(of: event)).root
        #expect(
            stub.members.map(\.key) == ["id", "type", "at", "session", "runId", "truncated", "bytes", "href"]
        )
        #expect(stub["id"]?.string == id.text && stub["at"]?.string == at.rfc3339)
        #expect(stub["bytes"]?.int == Int64(writer.bytes.count) && stub["href"]?.string == "/v1/runs/r%201")
        for format in [StreamFormat.eventStream, .ndjson] {
            #expect(format.encode(event).count < 1024)
        }
    }
}
