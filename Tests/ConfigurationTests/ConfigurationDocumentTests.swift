import Foundation
import Testing

@testable import Configuration

struct ConfigurationDocumentTests {
    @Test func `docs/configuration.md has the reference of every key as it is`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/configuration.md"), encoding: .utf8)
        let lines = Set(page.split(separator: "\n"))
        let reference = ConfigurationTable.markdownReference()
        let missing = reference.split(separator: "\n").filter { !lines.contains($0) }
        #expect(missing.isEmpty, "write over the table what `ladle config reference` prints")
        let endsWithIt = page.hasSuffix(reference)
        #expect(endsWithIt)
    }
}
