import Foundation
import Testing

@testable import Configuration

struct ConfigurationDocumentTests {
    @Test func `docs/configuration.md has the reference of every key as it is`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appending(path: "docs/configuration.md"), encoding: .utf8)
        let lines = Set(page.split(separator: "\n"))
        for line in ConfigurationTable.markdownReference().split(separator: "\n") {
            #expect(lines.contains(line), "write over the table what `ladle config reference` prints")
        }
        #expect(page.hasSuffix(ConfigurationTable.markdownReference()))
    }
}
