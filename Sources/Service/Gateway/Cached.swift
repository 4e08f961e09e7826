/// The gateway's answers to questions, each for a while. There is one rule: an answer is fresh until its life is over or a change makes
/// it old. An answer that was asked for before the change is old when it comes.
struct Cached<Question: Hashable, Answer> {
    private struct Entry {
        let answer: Answer
        let size: Int
        /// On the loop's clock.
        var until: UInt64
    }

    private let most: Int
    private let mostBytes: Int
    private let keepsOld: Bool
    private var entries: [Question: Entry] = [:]
    /// The number of the last request for each question, unless it was answered or a change came since.
    private var requests: [Question: UInt64] = [:]
    private var lastRequest: UInt64 = 0

    /// - Parameters:
    ///   - most: the number of answers; the one that is fresh for the shortest time is replaced.
    ///   - mostBytes: the size of all answers together; one that is larger than a quarter of it is not kept.
    ///   - keepsOld: old answers stay, for times without the gateway.
    init(most: Int, mostBytes: Int = .max, keepsOld: Bool = true) {
        self.most = most
        self.mostBytes = mostBytes
        self.keepsOld = keepsOld
    }

    func fresh(_ question: Question, now: UInt64) -> Answer? {
        entries[question].flatMap { $0.until > now ? $0.answer : nil }
    }

    /// The last answer, fresh or old.
    func latest(_ question: Question) -> Answer? { entries[question]?.answer }

    /// Registers a request that is sent now.
    /// - Returns: the number to pass with its answer.
    mutating func ask(_ question: Question) -> UInt64 {
        lastRequest += 1
        requests[question] = lastRequest
        return lastRequest
    }

    /// The request failed, so there is no answer to it.
    mutating func failed(_ question: Question, request: UInt64) {
        if requests[question] == request { requests[question] = nil }
    }

    /// - Parameter lifeMs: the milliseconds for which the answer is fresh.
    mutating func keep(
        _ answer: Answer,
        to question: Question,
        request: UInt64,
        size: Int = 0,
        lifeMs: UInt64,
        now: UInt64
    ) {
        let isLast = requests[question] == request
        failed(question, request: request)
        guard size <= mostBytes / 4, isLast || (keepsOld && fresh(question, now: now) == nil) else { return }
        entries[question] = Entry(answer: answer, size: size, until: isLast ? now + lifeMs * 1_000_000 : 0)
        while entries.count > most || entries.values.reduce(0, { $0 + $1.size }) > mostBytes {
            let others = entries.filter { $0.key != question }
            guard let first = others.min(by: { $0.value.until < $1.value.until })?.key else { return }
            entries[first] = nil
        }
    }

    /// Notes a change that the answer to this question may lack; nil for all questions.
    mutating func expire(_ question: Question? = nil) {
        guard let question else {
            if keepsOld { for question in entries.keys { entries[question]?.until = 0 } } else { entries = [:] }
            return requests = [:]
        }
        if keepsOld { entries[question]?.until = 0 } else { entries[question] = nil }
        requests[question] = nil
    }
}
