import POSIX

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A fresh 0700 directory that goes away with the value. Its path is short enough for unix sockets.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init() {
        path = "/tmp/ladle-test-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        try? FileSystem.makeDirectory(path)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    package func write(_ name: String, _ text: String, mode: UInt32 = 0o600) {
        try? FileSystem.remove(file(name))
        try? PrivateFile(file(name)).createDirectly(Array(text.utf8))
        try? FileSystem.setMode(mode, of: file(name))
    }

    package func read(_ name: String) -> String? {
        (try? FileSystem.read(file(name), limit: 64 << 20)).map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    package func mode(_ name: String) -> UInt32? {
        (try? FileSystem.facts(file(name)))?.mode
    }
}
