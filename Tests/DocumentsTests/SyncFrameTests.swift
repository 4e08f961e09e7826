import Testing

@testable import Documents

struct SyncFrameTests {
    @Test func `requests and answers are recognised in a transcript`() {
        let request = SyncFrame.writeRequest(.profile, markdown: "- **Name:** A")
        #expect(request.contains("\n---USER---\n- **Name:** A\n---END---"))
        #expect(SyncFrame.isRequest(request))
        #expect(!SyncFrame.isRequest("turn the lights off"))
        #expect(SyncFrame.isReply("---IDENTITY---\nA"))
        #expect(!SyncFrame.isReply("hello"))
    }
}
