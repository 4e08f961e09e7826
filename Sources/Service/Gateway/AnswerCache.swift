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

    private struct Entry {
        let answer: KeptAnswer<Value>
        /// On the monotonic clock, in nanoseconds.
        var until: UInt64
    }

    /// The most answers kept; the one that expires first is replaced. Only a client that walks through many days asks
    /// more.
    private let most: Int
    private let life: (Value) -> Int64
    private var entries: [Question: Entry] = [:]
    private var waiting: [Question: [Completion]] = [:]

    /// - Parameter life: the milliseconds for which an answer is not requested again.
    init(most: Int, life: @escaping (Value) -> Int64) {
        self.most = most
        self.life = life
    }

    /// The last answer, of any age.
    func latest(_ question: Question) -> KeptAnswer<Value>? { entries[question]?.answer }

    /// Makes every later read ask again.
    func expire() {
        for question in entries.keys { entries[question]?.until = 0 }
    }

    /// The kept answer or a new one; if the gateway cannot be asked, the last one.
    /// - Parameter ask: sends the question. It is not called while an answer is kept or requested.
    func get(
        _ question: Question,
        over gateway: any GatewayCalls,
        on loop: isolated EventLoop,
        ask: (@escaping (Result<Value, CallFailure>) -> Void) -> Void,
        completion: @escaping Completion
    ) {
        if let entry = entries[question], entry.until > loop.now {
            var answer = entry.answer
            answer.isLive = gateway.isOnline
            return completion(.success(answer))
        }
        waiting[question, default: []].append(completion)
        guard waiting[question]?.count == 1 else { return }
        ask { [weak self] result in self?.answered(question, result, over: gateway, on: loop) }
    }

    private func answered(
        _ question: Question,
        _ result: Result<Value, CallFailure>,
        over gateway: any GatewayCalls,
        on loop: isolated EventLoop
    ) {
        let answer: Result<KeptAnswer<Value>, GatewayFault>
        switch result {
        case .success(let value):
            let kept = KeptAnswer(value: value, at: loop.wallClock)
            keep(question, kept, until: loop.now &+ UInt64(max(life(value), 0)) * 1_000_000)
            answer = .success(kept)
        case .failure(let failure):
            let fault = GatewayFault(failure, over: gateway)
            if var last = entries[question]?.answer, fault.isAbsence {
                last.isLive = false
                answer = .success(last)
            } else {
                answer = .failure(fault)
            }
        }
        for completion in waiting.removeValue(forKey: question) ?? [] { completion(answer) }
    }

    private func keep(_ question: Question, _ answer: KeptAnswer<Value>, until: UInt64) {
        if entries.count >= most, entries[question] == nil,
            let first = entries.min(by: { $0.value.until < $1.value.until })?.key
        {
            entries[first] = nil
        }
        entries[question] = Entry(answer: answer, until: until)
    }
}
