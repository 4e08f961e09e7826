import EventStream
import JSONBytes
import Runs
import Service
import Testing

@testable import API

/// The forms of events against the contract.
@Suite struct StreamEventTests {
    private static func document() throws -> JSONValue {
        try JSONDocument(parsing: OpenAPIDocument.json, limits: .gateway).root
    }

    @Test func `the readable line of the contract is the line that is sent`() throws {
        let content = try Self.document()["paths"]?["/v1/events"]?["get"]?["responses"]?["200"]?["content"]
        let example = try #require(content?["text/plain"]?["example"]?.string)
        let data = """
            {"type":"run.ended","at":"2026-11-21T07:31:27.186Z","session":"agent:main:main",\
            "runId":"01a1fd56-0000-7000-8000-00005e7a41c9","run":{"state":"completed","text":"Hello!"}}
            """
        let event = StreamEvent(type: "run.ended", data: Array(data.utf8))
        #expect(String(decoding: StreamFormat.text.encode(event), as: UTF8.self) == example)
    }

    @Test(arguments: ["nodes", "devices", "nodes,run.*"])
    func `a type that never comes is no filter`(_ types: String) {
        #expect(throws: EventFilterError.self) {
            try EventFilter(types: types, session: nil, run: nil, known: EventStreamOperation.types)
        }
    }

    @Test func `the readable line of a summary is its headline`() {
        let data = #"{"type":"summary","at":"2026-11-21T07:31:27.186Z","active":2,"headline":"2 active"}"#
        let event = StreamEvent(type: "summary", data: Array(data.utf8))
        #expect(StreamFormat.line(for: event) == "07:31:27 2 active")
    }
}
