import Gateway
import JSONBytes
import POSIX

@testable import Upstream

/// Files beside the repository that are not always there: tests that need them are skipped without.
enum SharedData {
    private static let root: String = {
        let parts = #filePath.split(separator: "/").dropLast(4)
        return "/" + parts.joined(separator: "/") + "/shared/data/"
    }()

    static func bytes(_ name: String) -> [UInt8]? {
        try? FileSystem.read(root + name, limit: 256 << 20).bytes
    }

    static func document(_ name: String) -> JSONDocument? {
        bytes(name).flatMap { try? JSONDocument(parsing: $0, limits: .gateway) }
    }

    static let captures: [String] = FileSystem.names(in: root + "captures").filter { $0.hasSuffix(".jsonl") }.sorted()
    static let schemas = ["protocol-2026-03.schema.json", "protocol-latest.schema.json"].filter { bytes($0) != nil }
}
