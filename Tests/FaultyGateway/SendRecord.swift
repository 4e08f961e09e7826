import Basics
import DemoGateway
import EventLoops
import JSONBytes

#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Every accepted chat.send, in memory and in a file: one JSON line each, written before the answer goes out, so that
/// the record tells the truth whenever the process is killed.
@safe final class SendRecord {
    struct Sent {
        var key: String
        var session: String
        var text: String
        var time: Timestamp
    }

    private(set) var lines: [[UInt8]] = []
    /// The sends that earlier processes wrote into the file.
    private(set) var earlier: [Sent] = []
    private let number: Int32?

    init(file path: String?) throws(SystemError) {
        guard let path else {
            number = nil
            return
        }
        let opened = unsafe open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
        guard opened >= 0 else { throw SystemError(number: errno, attempt: "open the record file \(path)") }
        number = opened
        earlier = Self.read(opened).split(separator: 0x0a).compactMap { Self.parse(Array($0)) }
    }

    deinit {
        if let number { close(number) }
    }

    func append(_ sent: Sent) {
        let value: WireValue = [
            "key": sent.key, "session": sent.session, "text": sent.text, "time": sent.time.rfc3339,
        ]
        let line = value.bytes
        lines.append(line)
        guard let number else { return }
        let bytes = line + [0x0a]
        var start = 0
        while start < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe write(number, buffer.baseAddress?.advanced(by: start), buffer.count - start)
            }
            if count < 0, errno == EINTR { continue }
            // A full disk loses the line, and the reader sees the gap.
            guard count > 0 else { return }
            start += count
        }
    }

    private static func read(_ number: Int32) -> [UInt8] {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe chunk.withUnsafeMutableBytes { buffer in
                unsafe pread(number, buffer.baseAddress, buffer.count, off_t(bytes.count))
            }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }

    private static func parse(_ line: [UInt8]) -> Sent? {
        guard let root = try? JSONDocument(parsing: line).root, let key = root["key"]?.string,
            let session = root["session"]?.string, let text = root["text"]?.string,
            let time = root["time"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        return Sent(key: key, session: session, text: text, time: time)
    }
}
