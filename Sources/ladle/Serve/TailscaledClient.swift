import API
import Access
import EventLoops
import POSIX
import Service

/// Asks tailscaled over its socket, with a new connection for each question. Equal questions share an answer.
final class TailscaledClient: WhoisAsking {
    /// Most questions under way. Strangers can cause questions, so further questions fail at once.
    private static let mostWaiting = 256

    private let path: String
    private var waiting: [WhoisQuestion: [(WhoisAnswer) -> Void]] = [:]
    private var calls = 0

    init(path: String) {
        self.path = path
    }

    /// `answer` is never called before this function returns. It is called even if another client has replaced this one.
    func ask(_ question: WhoisQuestion, on loop: isolated EventLoop, then answer: @escaping (WhoisAnswer) -> Void) {
        var done: (WhoisAnswer) -> Void = { result in
            self.calls -= 1
            answer(result)
        }
        if !question.isForOneRequest {
            if waiting[question] != nil {
                waiting[question]?.append(answer)
                return
            }
            waiting[question] = [answer]
            done = { result in
                self.calls -= 1
                for answer in self.waiting.removeValue(forKey: question) ?? [] { answer(result) }
            }
        }
        calls += 1
        let finish = done
        let fail = { (reason: String) in
            _ = loop.after(milliseconds: 0) { finish(.failed(reason)) }
        }
        if calls > Self.mostWaiting { return fail("too many questions wait") }
        do throws(SystemError) {
            let socket = try Socket.connect(to: .unix(path: path))
            let deadline = TailscaledExchange.deadlineMilliseconds
            try TailscaledCall(socket, question.request, within: deadline) { finish(WhoisAnswer($0)) }.start(on: loop)
        } catch {
            fail("\(error)")
        }
    }
}

extension TailscaledClient {
    /// The names of this host in the tailnet; nil if tailscaled does not say.
    func askForNames(on loop: isolated EventLoop, then answer: @escaping ([String]?) -> Void) {
        Self.call(path, TailnetNames.request, on: loop) { answer(TailnetNames.read($0)) }
    }

    /// Asks one question that Ladle itself has.
    static func call(
        _ path: String,
        _ request: [UInt8],
        within milliseconds: Int64 = TailscaledExchange.deadlineMilliseconds,
        on loop: isolated EventLoop,
        then answer: @escaping (TailscaledExchange.Answer) -> Void
    ) {
        do throws(SystemError) {
            let socket = try Socket.connect(to: .unix(path: path))
            try TailscaledCall(socket, request, within: milliseconds, answer).start(on: loop)
        } catch {
            answer(.failed("\(error)"))
        }
    }
}

/// One question on a connection of its own. The connection keeps this object alive.
private final class TailscaledCall: StreamHandler {
    private static let sendLimit = 4096

    private let stream: StreamConnection
    private let request: [UInt8]
    private let milliseconds: Int64
    private var exchange = TailscaledExchange()
    private var done: ((TailscaledExchange.Answer) -> Void)?
    private var deadline: TimerID?

    init(
        _ socket: consuming Socket,
        _ request: [UInt8],
        within milliseconds: Int64,
        _ done: @escaping (TailscaledExchange.Answer) -> Void
    ) {
        stream = StreamConnection(socket, isConnected: false, sendLimit: Self.sendLimit)
        self.request = request
        self.milliseconds = milliseconds
        self.done = done
    }

    func start(on loop: isolated EventLoop) throws(SystemError) {
        try stream.start(self, on: loop)
        deadline = loop.after(milliseconds: milliseconds) { [weak self] in
            self?.finish(.failed("tailscaled did not answer in time"), on: loop)
        }
    }

    private func finish(_ answer: TailscaledExchange.Answer, on loop: isolated EventLoop) {
        guard let done else { return }
        self.done = nil
        if let deadline { loop.cancel(deadline) }
        stream.close(on: loop)
        done(answer)
    }

    func connected(on loop: isolated EventLoop) {
        _ = stream.send(request, on: loop)
    }

    func received(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        for place in bytes.indices { copy.append(bytes[place]) }
        if let answer = exchange.receive(copy) { finish(answer, on: loop) }
    }

    func receivedEnd(on loop: isolated EventLoop) {
        finish(exchange.receiveEnd(), on: loop)
    }

    func drained(on loop: isolated EventLoop) {}

    func closed(_ reason: CloseReason, on loop: isolated EventLoop) {
        finish(.failed("the connection to tailscaled ended: \(reason)"), on: loop)
    }
}
