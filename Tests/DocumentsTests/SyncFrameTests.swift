import Testing

@testable import Documents

struct SyncFrameTests {
    static let replies: [(String, SyncFrame.Reply?)] = [
        ("---IDENTITY---\nA\n---USER---\nB\n---END---", .init(identity: "A", profile: "B")),
        ("Sure:\n---USER---\nB\n---IDENTITY---\nA", .init(identity: "A", profile: "B")),
        ("---IDENTITY---\n\n---END---", .init(identity: nil, profile: nil)),
        ("---USER---\n```markdown\nB\n\nC\n```\n---END---\nDone!", .init(identity: nil, profile: "B\n\nC")),
        ("```json\n{\"identity\": \"A\", \"user\": \"\"}\n```", .init(identity: "A", profile: nil)),
        ("{\"identity\": 3}", nil),
        ("{}", nil),
        ("no files here", nil),
        ("", nil),
    ]

    @Test(arguments: replies)
    func `an answer is read whatever its order`(text: String, reply: SyncFrame.Reply?) {
        #expect(SyncFrame.parse(text) == reply)
    }

    @Test func `requests are recognised, and what they ask for can be read`() {
        let write = SyncFrame.writeRequest(.profile, markdown: "- **Name:** A")
        #expect(SyncFrame.isRequest(write))
        #expect(SyncFrame.isRequest(SyncFrame.readRequest()))
        #expect(!SyncFrame.isRequest("turn the lights off"))
        #expect(SyncFrame.isReply("---IDENTITY---\nA"))
        #expect(!SyncFrame.isReply("hello"))
        #expect(write.contains("\n---USER---\n- **Name:** A\n---END---"))
    }
}
