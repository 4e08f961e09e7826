import Basics
package import EventLoops
package import HTTPModel
package import TLS

/// A server that many requests go to, and how it is reached.
package struct ServerTarget: Sendable, Equatable {
    package let host: String
    package let port: UInt16
    /// The path below which the server's API is; empty for none.
    package let path: String
    /// Nil without TLS.
    package let trust: TLSTrust?

    package init(host: String, port: UInt16, path: String, trust: TLSTrust?) {
        (self.host, self.port, self.path, self.trust) = (host, port, path, trust)
    }

    /// As in the `Host` field.
    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == (trust == nil ? 80 : 443) ? name : "\(name):\(port)"
    }
}

/// One request to a server.
package struct ServerRequest: Sendable {
    /// Its target is below the path of the server.
    package var head: RequestHead
    package var body: [UInt8] = []
    /// The longest time without a byte of the answer.
    package var silenceMs: Int64
    /// The longest time until the answer's end; nil for one that may go on for days.
    package var wholeMs: Int64?

    package init(_ head: RequestHead, body: [UInt8] = [], silenceMs: Int64, wholeMs: Int64? = nil) {
        (self.head, self.body, self.silenceMs, self.wholeMs) = (head, body, silenceMs, wholeMs)
    }
}

/// Why a request has no answer, or only a part of one.
package enum ServerFailure: Error, Equatable, Sendable {
    /// The server cannot be reached. It has got nothing of the request.
    case unreachable(String)
    /// The connection ended, or stayed silent, after the request was sent: the server may have acted on it.
    case lost(String)

    package var reason: String {
        switch self {
        case .unreachable(let reason), .lost(let reason): reason
        }
    }
}

/// Takes one answer, piece by piece. `answerEnded` or `answerFailed` is the last call.
package protocol AnswerReceiver: AnyObject {
    func answerBegan(_ head: ResponseHead, on loop: isolated EventLoop)
    /// The bytes are valid during the call only.
    func answerContinued(_ bytes: Span<UInt8>, on loop: isolated EventLoop)
    func answerEnded(on loop: isolated EventLoop)
    func answerFailed(_ failure: ServerFailure, on loop: isolated EventLoop)
}

/// Requests to one server. Each takes a connection of its own, one that an earlier request has left open if there is one.
package final class ServerRequests {
    private static let mostKept = 16

    package let target: ServerTarget
    private let keptMs: Int64
    private var context: TLSClientContext?
    private var kept: [ServerConnection] = []

    /// - Parameter keptMs: how long a connection is kept for the next request: less than any server keeps it, so that a request does not
    ///   meet its end.
    package init(_ target: ServerTarget, keptMs: Int64 = 5_000) {
        self.target = target
        self.keptMs = keptMs
    }

    /// Sends the request. The connection keeps `receiver` until the last call.
    package func send(
        _ request: ServerRequest,
        to receiver: any AnswerReceiver,
        on loop: isolated EventLoop
    ) -> ServerConnection {
        while let connection = kept.popLast() {
            if connection.isFree {
                connection.begin(request, receiver, on: loop)
                return connection
            }
        }
        let connection = ServerConnection(target) { [weak self] connection in self?.keep(connection, on: loop) }
        connection.begin(request, receiver, on: loop)
        connection.open(on: loop) { [self] () throws(TLSError) in
            guard let trust = target.trust else { return nil }
            if let context { return try context.makeSession(host: target.host) }
            let context = try TLSClientContext(trust: trust)
            self.context = context
            return try context.makeSession(host: target.host)
        }
        return connection
    }

    private func keep(_ connection: ServerConnection, on loop: isolated EventLoop) {
        guard kept.count < Self.mostKept else { return connection.close(on: loop) }
        kept.append(connection)
        let answers = connection.answers
        loop.after(milliseconds: keptMs) { [weak self, weak connection] in
            guard let connection, connection.isFree, connection.answers == answers else { return }
            self?.kept.removeAll { $0 === connection }
            connection.close(on: loop)
        }
    }

    package func close(on loop: isolated EventLoop) {
        for connection in kept { connection.close(on: loop) }
        kept = []
    }
}
