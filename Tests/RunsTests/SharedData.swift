import Foundation
import JSONBytes

/// Recorded data beside the package; tests that need it skip where it is absent.
enum SharedData {
    static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "../shared/data").standardizedFileURL

    static var isPresent: Bool { FileManager.default.fileExists(atPath: folder.path) }

    static func bytes(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: folder.appending(path: name)))
    }

    static func names(in directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.appending(path: directory).path).sorted()
    }
}

/// JSON written in a test.
func json(_ text: String) -> JSONValue {
    do {
        return try JSONDocument(parsing: text, limits: .gateway).root
    } catch {
        fatalError("test JSON at byte \(error.offset): \(error.reason)")
    }
}
