package import JSONBytes

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The files of `Tests/Data`, found from this file's own place in the tree.
package enum TestData {
    package static func bytes(_ name: String) throws -> [UInt8] { try repository("Tests/Data/\(name)") }

    /// A file of the repository by its path.
    package static func repository(_ path: String) throws -> [UInt8] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return [UInt8](try Data(contentsOf: root.appending(path: path)))
    }

    package static func document(_ name: String) throws -> JSONValue {
        try JSONDocument(parsing: bytes(name), limits: .gateway).root
    }

    /// The `vectors` of a file: cases with a `name`, a `kind`, their `input` and what is `expected`.
    package static func vectors(_ name: String) throws -> [JSONValue] {
        try document(name)["vectors"].map { Array($0.elements) } ?? []
    }
}
