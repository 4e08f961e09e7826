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
    typealias Completion = (Result<KeptAnswer<Value>, GatewayFault>) -> Void

    private let life: (Value) -> Int64
    private var answers: Cached<Question, KeptAnswer<Value>>
    private var waiting: [Question: [Completion]] = [:]

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
    /// - Parameter ask: sends the question. It is not called while an answer is kept or requested.
    func get(
        _ question: Question,
        over gateway: any GatewayCalls,
        on loop: isolated EventLoop,
        ask: (@escaping (Result<Value, CallFailure>) -> Void) -> Void,
        completion: @escaping Completion
    ) {
        if var answer = answers.fresh(question, now: loop.now) {
            answer.isLive = gateway.isOnline
            return completion(.success(answer))
        }
        waiting[question, default: []].append(completion)
        guard waiting[question]?.count == 1 else { return }
        let request = answers.ask(question)
        ask { [weak self] result in self?.answered(question, request, result, over: gateway, on: loop) }
    }

    private func answered(
        _ question: Question,
        _ request: UInt64,
        _ result: Result<Value, CallFailure>,
        over gateway: any GatewayCalls,
        on loop: isolated EventLoop
    ) {
        let answer: Result<KeptAnswer<Value>, GatewayFault>
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
