import Basics
package import EventLoops
import HTTP1
import HTTPModel
import POSIX
import TLS

/// One HTTP/1.1 connection to a server: looks the name up, tries its addresses in turn, and carries one request after the other.
package final class ServerConnection: StreamHandler {
    /// The look-up, all addresses and the handshake together.
    private static let connectMs: Int64 = 5_000
    /// The largest request: messages may have attachments.
    private static let sendLimit = 64 << 20

    private struct Work {
        let request: ServerRequest
        let receiver: any AnswerReceiver
        var parser: HTTP1ResponseParser
        var isSent = false
        var hasBegun = false
    }

    private let target: ServerTarget
    private var addresses = AddressesToTry()
    private var stream: StreamConnection?
    private var makeSession: () throws(TLSError) -> TLSSession? = { nil }
    private var isOpen = false
    private var isOver = false
    private var work: Work?
    private var connectTimer: TimerID?
    private var silenceTimer: TimerID?
    private var sentAt: UInt64 = 0
    private var heardAt: UInt64 = 0
    private let freed: (ServerConnection) -> Void
    /// The answers that have ended.
    private(set) var answers = 0

    /// - Parameter freed: takes the connection after an answer that leaves it open.
    init(_ target: ServerTarget, freed: @escaping (ServerConnection) -> Void) {
        self.target = target
        self.freed = freed
    }

    var isFree: Bool { isOpen && !isOver && work == nil }

    func begin(_ request: ServerRequest, _ receiver: any AnswerReceiver, on loop: isolated EventLoop) {
        let limits = HTTP1Limits(fieldBlock: 65_000, fieldCount: 256, body: .max)
        work = Work(
            request: request,
            receiver: receiver,
            parser: HTTP1ResponseParser(requestMethod: request.head.method, limits: limits)
        )
        if isOpen { sendRequest(on: loop) }
    }

    /// Takes no more bytes for the moment; the peer has to wait.
    package func pause(on loop: isolated EventLoop) { stream?.pauseInput(on: loop) }

    package func resume(on loop: isolated EventLoop) {
        heardAt = loop.now
        stream?.resumeInput(on: loop)
    }

    /// Gives the request up. Its receiver hears no more of it.
    package func cancel(on loop: isolated EventLoop) {
        work = nil
        close(on: loop)
    }

    // MARK: Opening

    func open(on loop: isolated EventLoop, session: @escaping () throws(TLSError) -> TLSSession?) {
        makeSession = session
        connectTimer = loop.after(milliseconds: Self.connectMs) { [weak self] in
            self?.fail(.unreachable("no connection within 5 s"), on: loop)
        }
        if let address = SocketAddress(host: target.host, port: target.port) {
            addresses = AddressesToTry([address])
            // In a later turn, so that a refusal does not come before `send` has returned.
            _ = loop.after(milliseconds: 0) { self.connectNext(on: loop) }
            return
        }
        let bound = LoopBound(self, on: loop)
        Resolver.resolve(host: target.host, port: target.port, for: loop) { found, loop in
            guard let connection = bound.value(on: loop) else { return }
            connection.addresses = AddressesToTry(found)
            connection.connectNext(on: loop)
        }
    }

    private func connectNext(on loop: isolated EventLoop) {
        guard !isOver else { return }
        do throws(TLSError) {
            stream = try addresses.next(for: self, sendLimit: Self.sendLimit, on: loop, session: makeSession)
        } catch {
            return fail(.unreachable("\(error)"), on: loop)
        }
        if stream == nil { fail(.unreachable(addresses.lastError), on: loop) }
    }

    package func connected(on loop: isolated EventLoop) {
        guard !isOver else { return }
        if let connectTimer { loop.cancel(connectTimer) }
        connectTimer = nil
        isOpen = true
        sendRequest(on: loop)
    }

    // MARK: The request

    private func sendRequest(on loop: isolated EventLoop) {
        guard let stream, let request = work?.request else { return }
        var bytes: [UInt8] = []
        HTTP1RequestEncoder.appendHead(
            request.head,
            host: target.authority,
            body: request.body.isEmpty && !request.head.method.usuallyHasBody ? .none : .length(request.body.count),
            to: &bytes
        )
        bytes += request.body
        work?.isSent = true
        (sentAt, heardAt) = (loop.now, loop.now)
        armSilence(on: loop)
        _ = stream.send(bytes, on: loop)
    }

    /// One timer for each request: it starts again for the rest, if something was heard.
    private func armSilence(on loop: isolated EventLoop) {
        guard let request = work?.request else { return }
        let silence = request.silenceMs - Self.passed(since: heardAt, on: loop)
        let whole = request.wholeMs.map { $0 - Self.passed(since: sentAt, on: loop) } ?? .max
        if silence <= 0 { return fail(.lost("silent for \(request.silenceMs / 1000) s"), on: loop) }
        if whole <= 0 {
            return fail(.lost("its answer did not end within \((request.wholeMs ?? 0) / 1000) s"), on: loop)
        }
        let answers = answers
        if let silenceTimer { loop.cancel(silenceTimer) }
        silenceTimer = loop.after(milliseconds: min(silence, whole)) { [weak self] in
            guard let self, !self.isOver, self.work != nil, self.answers == answers else { return }
            self.silenceTimer = nil
            self.armSilence(on: loop)
        }
    }

    private static func passed(since start: UInt64, on loop: isolated EventLoop) -> Int64 {
        Int64((loop.now - start) / 1_000_000)
    }

    // MARK: The answer

    package func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        heardAt = loop.now
        var offset = 0
        do throws(HTTP1ParseError) {
            while !isOver, work != nil {
                guard let event = try work?.parser.next(in: bytes, from: &offset) else { return }
                switch event {
                case .needMore: return
                case .head:
                    work?.hasBegun = true
                    if let work { work.receiver.answerBegan(work.parser.head, on: loop) }
                case .body(let range): work?.receiver.answerContinued(bytes.extracting(range), on: loop)
                case .end: return finish(on: loop)
                }
            }
        } catch {
            return fail(.lost("its answer is no HTTP: \(error)"), on: loop)
        }
        // Bytes without a question.
        if work == nil, offset < bytes.count { close(on: loop) }
    }

    private func finish(on loop: isolated EventLoop) {
        guard let done = work else { return }
        work = nil
        answers += 1
        if let silenceTimer { loop.cancel(silenceTimer) }
        silenceTimer = nil
        if done.parser.keepAlive, stream?.isOpen ?? false { freed(self) } else { close(on: loop) }
        done.receiver.answerEnded(on: loop)
    }

    package func receivedEnd(on loop: isolated EventLoop) {
        do throws(HTTP1ParseError) {
            if try work?.parser.receiveEnd() ?? false { finish(on: loop) }
        } catch {
            return fail(.lost("it ended the connection"), on: loop)
        }
        close(on: loop)
    }

    package func drained(on loop: isolated EventLoop) {}

    package func closed(_ reason: CloseReason, on loop: isolated EventLoop) {
        guard !isOver else { return }
        let wasOpen = isOpen
        let hasSpoken = target.trust != nil && (stream?.takenBytes ?? 0) > 0
        stream = nil
        switch reason {
        case .closedHere: end(on: loop)
        // The name's other addresses have the same certificate.
        case .tls(let error) where !wasOpen:
            fail(.unreachable("TLS: \(error.reasons.first ?? error.operation)"), on: loop)
        case .tls(let error): fail(.lost("TLS: \(error.reasons.first ?? error.operation)"), on: loop)
        case .lost(let error) where !wasOpen && !hasSpoken:
            addresses.lastError = error.reason
            connectNext(on: loop)
        case .lost(let error) where !wasOpen: fail(.unreachable(error.reason), on: loop)
        case .lost(let error): fail(.lost(error.reason), on: loop)
        }
    }

    // MARK: The end

    func close(on loop: isolated EventLoop) {
        let last = stream
        end(on: loop)
        last?.close(on: loop)
    }

    private func fail(_ failure: ServerFailure, on loop: isolated EventLoop) {
        guard !isOver else { return }
        let (last, failed) = (stream, work)
        work = nil
        end(on: loop)
        last?.close(on: loop)
        failed?.receiver.answerFailed(failure, on: loop)
    }

    private func end(on loop: isolated EventLoop) {
        isOver = true
        isOpen = false
        stream = nil
        for timer in [connectTimer, silenceTimer] { if let timer { loop.cancel(timer) } }
        (connectTimer, silenceTimer) = (nil, nil)
    }
}

extension HTTPMethod {
    /// Servers expect a length with these, also of an empty body (RFC 9110 §8.6).
    fileprivate var usuallyHasBody: Bool { self == .post || self == .put || self == .patch }
}
