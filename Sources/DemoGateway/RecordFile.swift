import EventLoops

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// The record of accepted sends: opened for appending, one line a write, so that lines of several runs of a test stay
/// whole and in order. Written on the loop on purpose: the line has to be there before the answer that it explains.
@safe final class RecordFile {
    private let number: Int32

    init(path: String) throws(SystemError) {
        number = unsafe open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard number >= 0 else { throw SystemError(number: errno, attempt: "open the record file \(path)") }
    }

    deinit {
        close(number)
    }

    /// What earlier runs wrote.
    func lines() -> [[UInt8]] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe pread(number, buffer.baseAddress, buffer.count, bytes.count)
            }
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return bytes.split(separator: 0x0a).map(Array.init)
    }

    /// A failed write loses the line: a demo must not stop for a full disk, and the reader sees the gap.
    func append(_ line: [UInt8]) {
        let bytes = line + [0x0a]
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe write(number, buffer.baseAddress?.advanced(by: start), buffer.count - start)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return }
            start += count
        }
    }
}
