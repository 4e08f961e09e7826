import EventLoops
import HTTPModel
import POSIX

/// One HTTP/1.1 request to the control surface and its answer. It trusts its client, which is a test on this host.
final class ControlConnection: StreamHandler {
    private let stream: StreamConnection
    private let answer: (_ method: String, _ target: String, _ body: [UInt8]) -> ControlSurface.Answer
    private let ended: () -> Void
    private var bytes: [UInt8] = []
    private var isAnswered = false

    init(
        _ socket: consuming Socket,
        answer: @escaping (_ method: String, _ target: String, _ body: [UInt8]) -> ControlSurface.Answer,
        ended: @escaping () -> Void
    ) {
        stream = StreamConnection(socket, sendLimit: 64 << 20)
        self.answer = answer
        self.ended = ended
    }

    func start(on loop: isolated EventLoop) throws(SystemError) { try stream.start(self, on: loop) }

    func connected(on loop: isolated EventLoop) {}
    func drained(on loop: isolated EventLoop) {}
    func receivedEnd(on loop: isolated EventLoop) { stream.close(on: loop) }
    func closed(_ reason: CloseReason, on loop: isolated EventLoop) { ended() }

    func received(_ piece: Span<UInt8>, on loop: isolated EventLoop) {
        for place in piece.indices { bytes.append(piece[place]) }
        guard !isAnswered, let (method, target, body) = request() else { return }
        isAnswered = true
        let result = answer(method, target, body)
        let head =
            "HTTP/1.1 \(result.status) \(result.status < 400 ? "OK" : "Refused")\r\nContent-Type: \(result.contentType)"
            + "\r\nContent-Length: \(result.body.count)\r\nConnection: close\r\n\r\n"
        _ = stream.send(Array(head.utf8) + result.body, on: loop)
        stream.closeWhenSent(on: loop)
    }

    /// The request once it has arrived completely.
    private func request() -> (method: String, target: String, body: [UInt8])? {
        let end = Array("\r\n\r\n".utf8)
        guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return nil }
        let lines = String(decoding: bytes[..<place], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        let name = "content-length:"
        let length = lines.first { $0.lowercased().hasPrefix(name) }.flatMap { line in
            Int(line.dropFirst(name.count).filter { $0 != " " })
        }
        let body = bytes[(place + end.count)...]
        guard words.count == 3, body.count >= length ?? 0 else { return nil }
        return (String(words[0]), String(words[1]), Array(body.prefix(length ?? 0)))
    }
}
