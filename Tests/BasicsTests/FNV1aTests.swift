import Testing

@testable import Basics

struct FNV1aTests {
    /// From the algorithm's published test vectors.
    @Test(arguments: [
        ("", "cbf29ce484222325"), ("a", "af63dc4c8601ec8c"), ("foobar", "85944171f73967e8"),
    ])
    func `hashes are the published ones`(text: String, name: String) {
        #expect(FNV1a.name(text.utf8) == name)
    }

    @Test func `a hash can go on behind another`() {
        #expect(FNV1a.hash("bar".utf8, after: FNV1a.hash("foo".utf8)) == FNV1a.hash("foobar".utf8))
    }
}
