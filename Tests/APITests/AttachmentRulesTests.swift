import JSONBytes
import Server
import Testing

@testable import API
@testable import Service

struct AttachmentRulesTests {
    private static let rules = AttachmentRules(AttachmentLimits(nil, nil))

    private static func list(_ type: String, _ data: String) throws -> JSONValue {
        try JSONDocument(parsing: Array(#"[{"mimeType":"\#(type)","data":"\#(data)"}]"#.utf8)).root
    }

    @Test(arguments: [
        ("image/png", "iVBORw0KGgo="), ("image/jpeg", "/9j/4A=="), ("image/gif", "R0lGODlh"),
        ("image/webp", "UklGRgQAAABXRUJQVlA4IA=="),
    ])
    func `a picture is known by its first bytes`(type: String, data: String) throws {
        let kept = try Self.rules.check(Self.list(type, data))
        #expect(kept.map { String(decoding: $0, as: UTF8.self).contains(data) } == true)
    }

    @Test(arguments: ["UklGRgQAAABXRUJQ", "UklGRgQAAABXQVZFZm10IA==", "aGVsbG8="])
    func `data that is not a picture is refused`(data: String) throws {
        let list = try Self.list("image/webp", data)
        let problem = #expect(throws: Problem.self) { try Self.rules.check(list) }
        #expect(problem?.field == "attachments[0].data")
    }
}
