import Basics
import DemoGateway
import JSONBytes
import POSIX

/// Every accepted chat.send, in memory and in a file: one JSON line each, written before the answer goes out, so that
/// the record is right whenever the process is killed.
final class SendRecord {
    struct Sent {
        var key: String
        var session: String
        var text: String
        var time: Timestamp
    }

    private(set) var lines: [[UInt8]] = []
    /// The sends that earlier processes wrote into the file.
    private(set) var earlier: [Sent] = []
    private let file: OpenFile?

    init(file path: String?) throws(SystemError) {
        guard let path else {
            file = nil
            return
        }
        file = try OpenFile.appending(to: path)
        earlier = try FileSystem.read(path, limit: 1 << 30).bytes.split(separator: 0x0a)
            .compactMap { Self.parse(Array($0)) }
    }

    func append(_ sent: Sent) {
        let value: WireValue = [
            "key": sent.key, "session": sent.session, "text": sent.text, "time": sent.time.rfc3339,
        ]
        let line = value.bytes
        lines.append(line)
        // A full disk loses the line, and the reader sees the gap.
        try? file?.write(line + [0x0a])
    }

    private static func parse(_ line: [UInt8]) -> Sent? {
        guard let root = try? JSONDocument(parsing: line).root, let key = root["key"]?.string,
            let session = root["session"]?.string, let text = root["text"]?.string,
            let time = root["time"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        return Sent(key: key, session: session, text: text, time: time)
    }
}
