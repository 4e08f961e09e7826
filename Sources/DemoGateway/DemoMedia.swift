import Basics

/// The speech of the demo host, and the files that came of its runs.
final class DemoMedia {
    private static let longestText = 4_096
    /// Samples a second, a byte each.
    private static let rate = 8_000
    /// A text with this word makes the provider fail.
    private static let failureMark = "unspeakable"
    private static let dot =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

    private let host: DemoHost

    init(_ host: DemoHost) { self.host = host }

    // MARK: - Speech

    /// A short tone in place of a voice, the longer the more is said.
    func speak(_ request: DemoRequest) -> DemoReply {
        let text = request.string("text") ?? ""
        guard !text.allSatisfy(\.isWhitespace) else { return .invalid("tts.speak requires text") }
        guard text.utf16.count <= Self.longestText else {
            return .invalid("text exceeds tts.maxTextLength (\(Self.longestText))")
        }
        guard !text.contains(Self.failureMark) else {
            return .failed(DemoError("UNAVAILABLE", "speech provider failed: HTTP 500"))
        }
        let length = min(text.utf16.count * Self.rate / 50, 2 * Self.rate)
        return .later(
            ms: host.clock.paced(200),
            .ok([
                "audioBase64": Base64.encode(Self.tone(length)), "provider": "demo", "outputFormat": "wav",
                "mimeType": "audio/wav", "fileExtension": ".wav",
            ])
        )
    }

    /// A RIFF file of one channel.
    private static func tone(_ length: Int) -> [UInt8] {
        func number(_ value: Int, _ bytes: Int) -> [UInt8] { (0..<bytes).map { UInt8(value >> (8 * $0) & 0xFF) } }
        let format: [[UInt8]] = [
            number(16, 4), number(1, 2), number(1, 2), number(rate, 4), number(rate, 4), number(1, 2), number(8, 2),
        ]
        let head =
            Array("RIFF".utf8) + number(36 + length, 4) + Array("WAVEfmt ".utf8) + format.flatMap(\.self)
            + Array("data".utf8) + number(length, 4)
        return head + (0..<length).map { $0 / 9 % 2 == 0 ? 0x70 : 0x90 }
    }

    // MARK: - Artifacts

    private struct File {
        let id: String
        let kind: String
        let title: String
        let mimeType: String
        let mode: String
        let content: [UInt8]
    }

    private func files(of session: DemoSession) -> [File] {
        guard let last = session.rows.last else { return [] }
        let name = session.sessionID.prefix(8)
        let notes = "# Notes\n\n\(session.rows.count) rows, the last one of \(last.role).\n"
        return [
            File(
                id: "\(name)-notes",
                kind: "file",
                title: "notes.md",
                mimeType: "text/markdown",
                mode: "bytes",
                content: Array(notes.utf8)
            ),
            File(
                id: "\(name)-dot",
                kind: "image",
                title: "dot.png",
                mimeType: "image/png",
                mode: "bytes",
                content: Base64.decode(Self.dot, as: .standard) ?? []
            ),
            File(
                id: "\(name)-film",
                kind: "video",
                title: "film.mp4",
                mimeType: "video/mp4",
                mode: "url",
                content: []
            ),
        ]
    }

    private func found(_ request: DemoRequest) -> (DemoSession, [File])? {
        guard let key = request.string("sessionKey").flatMap({ host.sessions.canonical($0) }),
            let session = host.sessions[key]
        else { return nil }
        return (session, files(of: session))
    }

    func list(_ request: DemoRequest) -> DemoReply {
        let found = found(request)
        return .ok(["artifacts": found.map { session, files in files.map { row($0, session) } } ?? []])
    }

    func download(_ request: DemoRequest) -> DemoReply {
        guard let (session, files) = found(request),
            let file = files.first(where: { $0.id == request.string("artifactId") })
        else { return .invalid("artifact not found") }
        let head: WireValue = ["artifact": row(file, session)]
        guard file.mode == "bytes" else { return .ok(head.adding(["url": "https://example.org/\(file.title)"])) }
        return .ok(head.adding(["encoding": "base64", "data": Base64.encode(file.content)]))
    }

    private func row(_ file: File, _ session: DemoSession) -> WireValue {
        [
            "id": file.id, "type": file.kind, "title": file.title, "mimeType": file.mimeType,
            "sizeBytes": file.mode == "bytes" ? .int(Int64(file.content.count)) : nil as WireValue?,
            "sessionKey": session.key, "download": wireObject(["mode": file.mode]),
        ]
    }
}
