package import Basics
import EventLoops
import Gateway

/// An answer of the gateway, with the time it came.
package struct KeptAnswer<Value: Sendable>: Sendable {
    package let value: Value
    package let at: Timestamp
    /// False for an earlier answer, because the gateway is away or takes nothing.
    package internal(set) var isLive = true
}

/// Answers to questions that are expensive for the gateway. Concurrent readers share one call per question, and its
/// answer is kept for a while.
final class AnswerCache<Question: Hashable, Value: Sendable> {
    private typealias Answer = Result<KeptAnswer<Value>, GatewayFault>

    private let life: (Value) -> Int64
    private var answers: Cached<Question, KeptAnswer<Value>>
    private var waiting: [Question: [(Answer) -> Void]] = [:]

    /// - Parameters:
    ///   - most: the number of answers kept. Only a client that walks through many days asks more.
    ///   - life: the milliseconds for which an answer is not requested again.
    init(most: Int, life: @escaping (Value) -> Int64) {
        answers = Cached(most: most)
        self.life = life
    }

    /// The last answer, of any age.
    func latest(_ question: Question) -> KeptAnswer<Value>? { answers.latest(question) }

    /// Makes every later read ask again.
    func expire() { answers.expire() }

    /// The kept answer or a new one; if the gateway cannot be asked, the last one.
    /// - Parameter ask: asks the gateway. It is not called while an answer is kept or requested.
    func get(
        _ question: Question,
        over gateway: any GatewayCalls,
        on loop: isolated EventLoop,
        ask: @escaping () async throws(CallFailure) -> Value
    ) async throws(GatewayFault) -> KeptAnswer<Value> {
        if var answer = answers.fresh(question, now: loop.now) {
            answer.isLive = gateway.isOnline
            return answer
        }
        let answer: Answer = await loop.wait { completion in
            waiting[question, default: []].append(completion)
            guard waiting[question]?.count == 1 else { return }
            let request = answers.ask(question)
            loop.start { [weak self] in
                self?.answered(question, request, await Result(of: ask), over: gateway, on: loop)
            }
        }
        return try answer.get()
    }

    private func answered(
        _ question: Question,
        _ request: UInt64,
        _ result: Result<Value, CallFailure>,
        over gateway: any GatewayCalls,
        on loop: isolated EventLoop
    ) {
        let answer: Answer
        switch result {
        case .success(let value):
            let kept = KeptAnswer(value: value, at: loop.wallClock)
            answers.keep(kept, to: question, request: request, lifeMs: UInt64(max(life(value), 0)), now: loop.now)
            answer = .success(kept)
        case .failure(let failure):
            answers.failed(question, request: request)
            let fault = GatewayFault(failure, over: gateway)
            if var last = answers.latest(question), fault.isAbsence {
                last.isLive = false
                answer = .success(last)
            } else {
                answer = .failure(fault)
            }
        }
        for completion in waiting.removeValue(forKey: question) ?? [] { completion(answer) }
    }
}
