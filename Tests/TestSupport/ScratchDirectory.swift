#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A private directory of a test's own, removed with the value.
package final class ScratchDirectory: Sendable {
    package let path: String

    package init() throws {
        let name = "ladle-test-\(UInt64.random(in: 0 ... .max))"
        let url = FileManager.default.temporaryDirectory.appending(path: name)
        try FileManager.default.createDirectory(
            at: url,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        path = url.path
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    package func bytes(of name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: file(name))))
    }

    package func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(filePath: file(name)))
    }

    package func makeDirectory(_ name: String, mode: Int) throws {
        try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: false)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
    }

    package func setMode(of name: String, to mode: Int) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file(name))
    }

    package func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: file(name))
    }

    package func mode(of name: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: file(name))[.posixPermissions] as? Int
    }

    package func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}
