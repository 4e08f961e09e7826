import Dispatch
import Synchronization

/// Speaks the documented local API over a real unix socket: one scripted response per connection, the last one
/// repeated. It serves any test of HTTP over a unix socket.
package final class FakeTailscaled: Sendable {
    package let path: String
    private let requests = Mutex<[String]>([])
    private let responses: [[UInt8]]
    private let pieceBytes: Int
    private let stop: @Sendable () -> Void

    /// - Parameter pieceBytes: a response is sent in pieces of this size.
    package init(path: String, responses: [String], pieceBytes: Int = .max) throws {
        self.pieceBytes = pieceBytes
        self.path = path
        self.responses = responses.map { Array($0.utf8) }
        let socket = try BlockingSocket.listen(unixPath: path)
        let fd = AcceptingSocket(socket)
        stop = { fd.socket.shutdown() }
        DispatchQueue(label: "far end").async { [weak self] in
            var served = 0
            while let peer = try? fd.socket.accept() {
                guard let self, self.serve(peer, index: served) else { return }
                served += 1
            }
        }
    }

    deinit { stop() }

    /// Heads of the requests so far.
    package var received: [String] { requests.withLock { $0 } }

    private func serve(_ peer: BlockingSocket, index: Int) -> Bool {
        var head: [UInt8] = []
        while !String(decoding: head, as: UTF8.self).contains("\r\n\r\n") {
            guard let bytes = try? peer.receive(), !bytes.isEmpty else { return true }
            head += bytes
        }
        requests.withLock { $0.append(String(decoding: head, as: UTF8.self)) }
        guard var rest = responses.isEmpty ? nil : responses[min(index, responses.count - 1)][...] else { return true }
        while !rest.isEmpty {
            try? peer.send(Array(rest.prefix(pieceBytes)))
            rest = rest.dropFirst(pieceBytes)
        }
        return true
    }
}
