#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// What the tests need of the system.
enum Descriptors {
    struct Failure: Error {}

    /// How many of the first thousand are open.
    static func open() -> Int {
        (0..<1_000 as Range<Int32>).count { fcntl($0, F_GETFD) >= 0 }
    }

    static func readFile(_ path: String) throws -> [UInt8]? {
        guard let file = unsafe fopen(path, "rb") else { return nil }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }

    static func list(_ path: String) -> [String] {
        guard let directory = unsafe opendir(path) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) {
                unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            names.append(name)
        }
        return names
    }

    static func temporaryDirectory() throws -> String {
        var template = Array("/tmp/ladle-upstream-XXXXXX".utf8CString)
        guard unsafe mkdtemp(&template) != nil else { throw Failure() }
        return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    static func mode(_ path: String) -> UInt32? {
        var info = stat()
        return unsafe stat(path, &info) == 0 ? info.st_mode & 0o777 : nil
    }
}
