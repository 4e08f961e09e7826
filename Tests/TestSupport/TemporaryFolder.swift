#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// A fresh 0700 directory that goes away with the value. Its path is short enough for unix sockets.
package final class TemporaryFolder {
    package let path: String

    package init() {
        var template = Array("/tmp/ladle-test-XXXXXX".utf8CString)
        path = unsafe template.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress, let made = unsafe mkdtemp(base) else { return "/tmp" }
            return unsafe String(cString: made)
        }
    }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    package func write(_ name: String, _ text: String, mode: UInt32 = 0o600) {
        let fd = unsafe open(file(name), O_WRONLY | O_CREAT | O_TRUNC, mode)
        let bytes = Array(text.utf8)
        _ = unsafe Glibc.write(fd, bytes, bytes.count)
        fchmod(fd, mode)
        close(fd)
    }

    package func read(_ name: String) -> String? {
        let fd = unsafe open(file(name), O_RDONLY)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        var all: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe Glibc.read(fd, &chunk, chunk.count)
            guard count > 0 else { break }
            all.append(contentsOf: chunk[..<count])
        }
        return String(decoding: all, as: UTF8.self)
    }

    package func mode(_ name: String) -> UInt32? {
        var facts = stat()
        return unsafe stat(file(name), &facts) == 0 ? facts.st_mode & 0o777 : nil
    }

    deinit {
        guard path != "/tmp", let directory = unsafe opendir(path) else { return }
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
            }
            if name != ".", name != ".." { unsafe unlink(file(name)) }
        }
        unsafe closedir(directory)
        unsafe rmdir(path)
    }
}
