import Testing

@testable import Documents

struct SyncFrameTests {
    @Test func `a request has the file between its marks, behind the line that hides it`() {
        let request = SyncFrame.writeRequest(.profile, markdown: "- **Name:** A", firstLine: "[hidden]")
        #expect(request.hasPrefix("[hidden]\nReplace USER.md"))
        #expect(request.contains("\n---USER---\n- **Name:** A\n---END---"))
    }
}
