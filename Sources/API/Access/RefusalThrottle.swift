import EventLoops
import Server

/// Answers guesses at credentials one a millisecond: a flood of them gets no more of the loop than that.
final class RefusalThrottle {
    private static let intervalMilliseconds: Int64 = 1
    /// Beyond this many waiting, connections are cut without an answer.
    private static let most = 1024

    private var waiting: [(exchange: Exchange, problem: Problem)] = []
    /// The place in `waiting` that is answered next.
    private var next = 0
    private var isArmed = false

    /// False when it was cut instead.
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
