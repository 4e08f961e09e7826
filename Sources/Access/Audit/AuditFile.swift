import POSIX

/// The audit file and its older generations, `NAME`, `NAME.1` … `NAME.keep`, all 0600. Not Sendable: it belongs to the
/// queue of its writer and never to a loop, because writing blocks.
package final class AuditFile {
    private let path: String
    private let limit: UInt64
    private let keep: Int
    private var file: OpenFile?
    private var size: UInt64 = 0

    package struct Failure: Error, Equatable, Sendable {
        package let path: String
        package let reason: String
    }

    /// A generation is closed before it exceeds `limit` bytes.
    package init(path: String, limit: UInt64 = 8 << 20, keep: Int = 4) {
        self.path = path
        self.limit = max(limit, 1)
        self.keep = max(keep, 1)
    }

    /// Appends whole lines, so that no line spans two generations.
    package func append(_ lines: [UInt8]) throws(Failure) {
        guard !lines.isEmpty else { return }
        do throws(SystemError) {
            var target = try open()
            if size > 0, size + UInt64(lines.count) > limit {
                try rotate()
                target = try open()
            }
            try target.write(lines)
            size += UInt64(lines.count)
        } catch {
            // The next call opens the file again: it may have been moved, or the disk may have room by then.
            close()
            throw Failure(path: path, reason: error.reason)
        }
    }

    private func open() throws(SystemError) -> OpenFile {
        if let file { return file }
        let opened = try OpenFile.appending(to: path)
        size = try opened.facts().size
        file = opened
        return opened
    }

    private func rotate() throws(SystemError) {
        close()
        for generation in stride(from: keep, through: 1, by: -1) {
            let older = "\(path).\(generation)"
            let newer = generation == 1 ? path : "\(path).\(generation - 1)"
            do throws(SystemError) {
                try FileSystem.rename(newer, to: older)
            } catch {
                guard error.isNotFound else { throw error }
            }
        }
    }

    private func close() {
        file = nil
        size = 0
    }
}
