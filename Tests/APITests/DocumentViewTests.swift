import Basics
import Documents
import JSONBytes
import Service
import Testing

@testable import API

struct DocumentViewTests {
    @Test func `the resource has its documented shape`() throws {
        let document = FieldDocument(
            kind: .profile,
            bytes: Array("Name: A\n<!-- observed: 2026-01-01 | status: active -->\n- Be.\n".utf8)
        )
        var writer = JSONWriter()
        DocumentView(agent: "main", document: document, path: .rpc, stale: false, asOf: Timestamp(milliseconds: 0))
            .write(to: &writer)
        let expected =
            #"{"agent":"main","fields":{"name":"A","directives":[{"observed":"2026-01-01","status":"active","text":"Be."}]},"#
            + #""markdown":"Name: A\n<!-- observed: 2026-01-01 | status: active -->\n- Be.\n","path":"rpc","stale":false,"#
            + #""asOf":"1970-01-01T00:00:00.000Z"}"#
        #expect(String(decoding: writer.bytes, as: UTF8.self) == expected)
    }
}
