#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A private directory of a test's own, removed with the value. Its path is short enough for Unix sockets.
package final class ScratchDirectory: Sendable {
    package let path: String

    package init() throws {
        path = "/tmp/ladle-test-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    package func bytes(of name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(filePath: file(name))))
    }

    package func text(of name: String) throws -> String { String(decoding: try bytes(of: name), as: UTF8.self) }

    package func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: URL(filePath: file(name)))
    }

    package func write(_ text: String, to name: String, mode: Int = 0o600) throws {
        try write(Array(text.utf8), to: name)
        try setMode(of: name, to: mode)
    }

    package func makeDirectory(_ name: String, mode: Int) throws {
        try FileManager.default.createDirectory(atPath: file(name), withIntermediateDirectories: false)
        try setMode(of: name, to: mode)
    }

    package func makeLink(_ name: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: file(name), withDestinationPath: target)
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

    package func names(in folder: String = ".") throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: file(folder)).sorted()
    }

    package func move(_ name: String, to target: String) throws {
        try FileManager.default.moveItem(atPath: file(name), toPath: file(target))
    }
}
