import JSONBytes
import Testing

@testable import Documents

struct IdentityVectorTests {
    @Test func `the vectors are there`() {
        #expect(IdentityVectors.names("identityParse", "userParse", "identityEdit", "userEdit").count == 32)
    }

    @Test(arguments: IdentityVectors.names("identityParse", "userParse", source: "extended"))
    func `every parse vector reads as expected`(name: String) throws {
        let vector = try #require(IdentityVectors.named(name))
        let (kind, markdown) = try subject(vector)
        let document = FieldDocument(kind: kind, bytes: Array(markdown.utf8))
        #expect(strings(document.fields) == IdentityVectors.strings(vector["expected"]?["fields"]))
        if let gateway = vector["gatewayFields"] {
            #expect(
                GatewayReader.fields(markdown) == IdentityVectors.strings(gateway),
                "the restated gateway reader is off"
            )
        }
    }

    @Test(arguments: IdentityVectors.names("identityParse", "userParse", source: "app"))
    func `the restated phone reader agrees with its vectors`(name: String) throws {
        let vector = try #require(IdentityVectors.named(name))
        let (kind, markdown) = try subject(vector)
        let read = PhoneReader.fields(
            markdown,
            labels: kind == .identity ? PhoneReader.identity : PhoneReader.profile,
            context: kind == .profile
        )
        #expect(read == IdentityVectors.strings(vector["expected"]?["fields"]))
    }

    @Test(arguments: IdentityVectors.names("identityEdit", "userEdit"))
    func `every edit vector gives the expected bytes and is idempotent`(name: String) throws {
        let vector = try #require(IdentityVectors.named(name))
        let (kind, markdown) = try subject(vector)
        let patch = try FieldPatch(kind: kind, merging: try #require(vector["input"]?["changes"]))
        let edited = try FieldDocument(kind: kind, bytes: Array(markdown.utf8)).edited(patch.changes)
        #expect(String(decoding: edited, as: UTF8.self) == vector["expected"]?["markdown"]?.string)
        let after = FieldDocument(kind: kind, bytes: edited)
        let expected = try #require(vector["expected"]?["fieldsAfter"])
        #expect(strings(after.fields) == IdentityVectors.strings(expected))
        let directives = (expected["directives"]?.elements).map(Array.init) ?? []
        #expect(after.fields.directives.map(\.text) == directives.compactMap { $0["text"]?.string })
        #expect(after.fields.directives.map(\.observed) == directives.compactMap { $0["observed"]?.string })
        #expect(after.fields.directives.map(\.status) == directives.compactMap { $0["status"]?.string })
        #expect(try after.edited(patch.changes) == edited)
    }

    private func subject(_ vector: JSONValue) throws -> (DocumentKind, String) {
        let kind: DocumentKind = vector["kind"]?.string?.hasPrefix("identity") == true ? .identity : .profile
        return (kind, try #require(vector["input"]?["markdown"]?.string))
    }

    private func strings(_ fields: DocumentFields) -> [String: String] {
        fields.values.reduce(into: [:]) { $0[$1.key.rawValue] = $1.value }
    }
}
