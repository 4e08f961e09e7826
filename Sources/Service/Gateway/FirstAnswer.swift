import EventLoops

/// How long a reader waits for the gateway where Ladle has kept an answer. A gateway that stalls must not stall every screen: its
/// connection is given up only after two missed ticks.
enum ReaderPatience {
    static let milliseconds: Int64 = 2_000
}

/// Answers a reader once: with the gateway's answer, or, where that takes too long, with the one that Ladle has kept.
final class FirstAnswer<Answer> {
    private var completion: ((Answer) -> Void)?
    private var timer: TimerID?

    /// - Parameter kept: reads what Ladle has kept; it gives nil if there is nothing, and then the reader waits on.
    init(
        on loop: isolated EventLoop,
        kept: @escaping (@escaping (Answer?) -> Void) -> Void,
        completion: @escaping (Answer) -> Void
    ) {
        self.completion = completion
        timer = loop.after(milliseconds: ReaderPatience.milliseconds) { [weak self] in
            guard let self, self.completion != nil else { return }
            self.timer = nil
            kept { answer in
                if let answer { self.give(answer, on: loop) }
            }
        }
    }

    func give(_ answer: Answer, on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
        let completion = completion
        self.completion = nil
        completion?(answer)
    }
}
