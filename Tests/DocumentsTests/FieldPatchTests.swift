import Basics
import JSONBytes
import Testing

@testable import Documents

struct FieldPatchTests {
    @Test func `a merge patch sets, clears and leaves alone`() throws {
        let patch = try FieldPatch(
            kind: .profile,
            merging: json(#"{"name":"Ann","pronouns":null,"timezone":"","notes":"a\nb"}"#)
        )
        #expect(patch.changes == [.name: "Ann", .pronouns: "", .timezone: "", .notes: "a\nb"])
        let whole = try FieldPatch(kind: .identity, replacingWith: json(#"{"name":"Ann"}"#))
        #expect(whole.changes == [.name: "Ann", .creature: "", .vibe: "", .theme: "", .emoji: "", .avatar: ""])
        #expect(try FieldPatch(kind: .identity, replacingWith: json(#"{"name":"Ann","colour":1}"#)) == whole)
        #expect(throws: FieldError.unknownField("nmae", nearest: "name")) {
            try FieldPatch(kind: .identity, replacingWith: json(#"{"nmae":"Ann"}"#))
        }
    }

    static let refusals: [(DocumentKind, String, FieldError)] = [
        (.identity, "[]", .notAnObject),
        (.identity, #"{"nmae":"x"}"#, .unknownField("nmae", nearest: "name")),
        (.identity, #"{"pronouns":"x"}"#, .unknownField("pronouns", nearest: nil)),
        (.profile, #"{"directives":[]}"#, .readOnlyField("directives")),
        (.identity, #"{"name":3}"#, .wrongType(.name, found: "a number")),
        (.identity, #"{"name":["x"]}"#, .wrongType(.name, found: "an array")),
        (.identity, #"{"name":"a\nb"}"#, .lineBreak(.name)),
        (.identity, #"{"name":"a\u2028b"}"#, .lineBreak(.name)),
        (.identity, #"{"name":"a\tb"}"#, .controlCharacter(.name, scalar: 9)),
        (.identity, #"{"name":"a\u0000b"}"#, .controlCharacter(.name, scalar: 0)),
        (.profile, #"{"notes":"a\rb"}"#, .controlCharacter(.notes, scalar: 13)),
        (.profile, #"{"context":"a\u001b[0m"}"#, .controlCharacter(.context, scalar: 27)),
        (
            .identity, "{\"name\":\"" + String(repeating: "x", count: 1025) + "\"}",
            .tooLong(.name, length: 1025, limit: 1024)
        ),
    ]

    @Test(arguments: refusals)
    func `a refused value is named by its field`(kind: DocumentKind, body: String, error: FieldError) throws {
        let value = try json(body)
        #expect(throws: error) { try FieldPatch(kind: kind, merging: value) }
        #expect(error == .notAnObject || error.message.contains(error.field ?? "?"))
    }

    @Test func `a conflict is a field that another writer set to another value`() throws {
        func fields(_ text: String) -> DocumentFields { FieldDocument(kind: .identity, bytes: Array(text.utf8)).fields }
        let base = fields("Name: a\nVibe: v\n")
        let patch = try FieldPatch(kind: .identity, merging: json(#"{"name":"b"}"#))
        #expect(patch.conflicts(base: base, current: fields("Name: a\nVibe: w\n")) == [])
        #expect(patch.conflicts(base: base, current: fields("Name: b\n")) == [])
        #expect(
            patch.conflicts(base: base, current: fields("Name: c\n"))
                == [FieldConflict(field: .name, current: "c", requested: "b")]
        )
        let cleared = FieldConflict(field: .name, current: "", requested: "b")
        #expect(patch.conflicts(base: base, current: fields("Vibe: v\n")) == [cleared])
        #expect(patch.conflicts(base: nil, current: fields("Vibe: v\n")) == [cleared])
        #expect(patch.conflicts(base: nil, current: fields("Name: b\n")) == [])
    }

    @Test func `a whole file must be text that JSON can carry`() {
        #expect(throws: Never.self) { try FieldDocument.validate(Array("Näme\n".utf8)) }
        #expect(throws: FieldError.notUTF8(offset: 3)) { try FieldDocument.validate(Array("ä1".utf8) + [0xC3]) }
        #expect(throws: FieldError.nulByte(offset: 1)) { try FieldDocument.validate([0x61, 0]) }
        #expect(throws: FieldError.fileTooLarge(bytes: (2 << 20) + 1, limit: 2 << 20)) {
            try FieldDocument.validate([UInt8](repeating: 0x61, count: (2 << 20) + 1))
        }
    }

    private func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: text).root }
}
