package import JSONBytes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The files of `Tests/Data`, found from this file's own place in the tree.
package enum TestData {
    package static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: folder.appending(path: name)))
    }

    /// A file of the repository by its path.
    package static func repository(_ path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: root.appending(path: path)))
    }

    /// Recorded connections of real gateways: `SCENARIO.vVERSION`, in the order of their names.
    package static let captures = recordings("captures")

    /// The names of the recordings in a folder, in order.
    package static func recordings(_ name: String) -> [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: name).path)
        return (names ?? []).filter { $0.hasSuffix(".jsonl") }.map { String($0.dropLast(6)) }.sorted()
    }

    /// The lines of a recording: `{"dir": "in"|"out"|"close"|"note", "t": milliseconds, "frame": {…}}`.
    package static func capture(_ name: String) throws -> [JSONValue] {
        try bytes("captures/\(name).jsonl").split(separator: UInt8(ascii: "\n")).map {
            try JSONDocument(parsing: Array($0), limits: .gateway).root
        }
    }

    /// The gateway protocol's own schemas: of protocol 3, and the newest of protocol 4.
    package static let schemas = ["protocol-2026-03.schema.json", "protocol-latest.schema.json"]

    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let folder = root.appending(path: "Tests/Data")

    package static func document(_ name: String) throws -> JSONValue {
        try JSONDocument(parsing: bytes(name), limits: .gateway).root
    }

    /// The `vectors` of a file: cases with a `name`, a `kind`, their `input` and what is `expected`.
    package static func vectors(_ name: String) throws -> [JSONValue] {
        try document(name)["vectors"].map { Array($0.elements) } ?? []
    }
}
