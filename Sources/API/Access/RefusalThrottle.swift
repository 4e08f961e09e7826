import EventLoops
import Server

/// Answers wrong credentials at one per millisecond, so that a flood of guesses takes no more of the loop than that.
final class RefusalThrottle {
    private static let intervalMilliseconds: Int64 = 1
    /// The most waiting refusals; above this, connections are cut without an answer.
    private static let most = 1024

    private var waiting: [(exchange: Exchange, problem: Problem)] = []
    /// The index in `waiting` of the next refusal to send.
    private var next = 0
    private var isArmed = false

    /// False if the connection was cut instead.
    func hold(_ exchange: Exchange, _ problem: Problem, on loop: isolated EventLoop) -> Bool {
        guard waiting.count - next < Self.most else {
            exchange.abort(on: loop)
            return false
        }
        waiting.append((exchange, problem))
        arm(on: loop)
        return true
    }

    private func arm(on loop: isolated EventLoop) {
        guard !isArmed, !waiting.isEmpty else { return }
        isArmed = true
        loop.after(milliseconds: Self.intervalMilliseconds) { [weak self] in
            guard let self else { return }
            self.isArmed = false
            self.answerOne(on: loop)
            self.arm(on: loop)
        }
    }

    private func answerOne(on loop: isolated EventLoop) {
        while next < waiting.count {
            let (exchange, problem) = waiting[next]
            next += 1
            if next == waiting.count || next == Self.most {
                waiting.removeFirst(next)
                next = 0
            }
            guard exchange.isOpen else { continue }
            return exchange.respond(problem, on: loop)
        }
    }
}
