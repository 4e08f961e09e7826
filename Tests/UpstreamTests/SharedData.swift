import Gateway
import JSONBytes

@testable import Upstream

/// Files beside the repository that are not always there: tests that need them are skipped without.
enum SharedData {
    private static let root: String = {
        let parts = #filePath.split(separator: "/").dropLast(4)
        return "/" + parts.joined(separator: "/") + "/shared/data/"
    }()

    static func bytes(_ name: String) -> [UInt8]? {
        (try? Descriptors.readFile(root + name)) ?? nil
    }

    static func document(_ name: String) -> JSONDocument? {
        bytes(name).flatMap { try? JSONDocument(parsing: $0, limits: .gateway) }
    }

    static let captures: [String] = Descriptors.list(root + "captures").filter { $0.hasSuffix(".jsonl") }.sorted()
    static let schemas = ["protocol-2026-03.schema.json", "protocol-latest.schema.json"].filter { bytes($0) != nil }
}
