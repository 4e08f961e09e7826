package import Basics
package import EventLoops
package import Gateway
package import Ledger
package import Runs

/// The agent's questions to people: pending ones, and our clients' answers. Only the newest gateways have them, in
/// memory only, so Ladle stores none either: after a restart the gateway's list shows the pending ones.
package typealias QuestionService = WaitingService<QuestionKind>

package final class QuestionKind: WaitingKind {
    package static let name = "question"
    package static let scope = Scopes.questions

    private unowned let gateway: any GatewayCalls
    private let runs: RunService
    /// Whether the gateway expects answers one level higher.
    private var takesFlatAnswers = false

    init(gateway: any GatewayCalls, runs: RunService) {
        self.gateway = gateway
        self.runs = runs
    }

    package func isOffered(by profile: GatewayProfile) -> Bool { profile.offers(.questions) }

    package func lists(of profile: GatewayProfile) -> [WaitingList<Question>] {
        [WaitingList(QuestionList())]
    }

    package func report(in event: GatewayEvent) -> QuestionEvent? {
        if case .question(let event) = event.payload { event } else { nil }
    }

    package func item(_ event: QuestionEvent, now: Timestamp) -> Question? {
        Question(
            event,
            session: event.sessionKey.map { runs.canonical($0).text },
            run: event.runId.map { runs.resolved($0) },
            now: now
        )
    }

    package func send(
        _ answer: QuestionAnswer,
        of question: Question,
        on loop: isolated EventLoop,
        completion: @escaping (Result<QuestionRegister.Answer, CallFailure>) -> Void
    ) {
        send(answer, of: question, isAgain: false, on: loop, completion)
    }

    private func send(
        _ answer: QuestionAnswer,
        of question: Question,
        isAgain: Bool,
        on loop: isolated EventLoop,
        _ completion: @escaping (Result<QuestionRegister.Answer, CallFailure>) -> Void
    ) {
        let call = QuestionResolve(id: question.id, answers: answer.parts, isFlat: takesFlatAnswers)
        gateway.call(call, on: loop) { [weak self] result in
            // The gateway refused this form without acting, so the other form can be sent.
            if let self, !isAgain, answer.parts != nil, case .failure(.gateway(let error, _)) = result,
                error.wantsOtherAnswers
            {
                takesFlatAnswers = !call.isFlat
                return send(answer, of: question, isAgain: true, on: loop, completion)
            }
            completion(result.map { .accepted })
        }
    }

    package func refusal(_ error: GatewayError) -> WaitingRefusal? { error.questionRefusal }
}

extension QuestionService {
    /// - Parameter given: by the id of each part; nil cancels the question.
    package func answer(
        _ id: String,
        _ given: [String: [String]]?,
        by sender: String,
        on loop: isolated EventLoop,
        completion: @escaping (Outcome) -> Void
    ) throws(QuestionAnswer.Fault) {
        let choose = { (question: Question) throws(QuestionAnswer.Fault) -> QuestionAnswer in
            if let given { try QuestionAnswer(given, to: question) } else { QuestionAnswer.cancel }
        }
        try decide(id, by: sender, on: loop, choose, completion: completion)
    }
}
