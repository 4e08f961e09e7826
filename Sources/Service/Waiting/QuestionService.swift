import Basics
package import EventLoops
import Gateway
import JSONBytes
import Ledger
package import Runs

/// The agent's questions to people: pending ones, and our clients' answers. Only the newest gateways have them, in
/// memory only, so Ladle stores none either: after a restart the gateway's list shows the pending ones.
package final class QuestionService {
    package enum Outcome {
        /// The question ended with this answer, sent now or earlier.
        case answered(Question)
        /// The question ended with another answer.
        case ended(Question)
        case tooLate(Question)
        case notFound
        /// The pending questions are still being requested.
        case notReady
        case failed(GatewayFault)
    }

    private struct Waiter {
        let answer: QuestionAnswer
        let completion: (Outcome) -> Void
    }

    /// The wall clock may be set, so long waits are checked in between.
    private static let longestWaitMs: Int64 = 60_000

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let runs: RunService
    /// Needed for the gateway's clock.
    private let approvals: ApprovalService
    private let clientName: String
    private let list: PendingLists
    private var register = QuestionRegister()
    private var waiters: [QuestionRegister.Identity: [Waiter]] = [:]
    private var timer: TimerID?
    /// Whether the connected gateway expects answers one level higher.
    private var takesFlatAnswers = false

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        runs: RunService,
        approvals: ApprovalService,
        clientName: String
    ) {
        self.gateway = gateway
        self.feed = feed
        self.runs = runs
        self.approvals = approvals
        self.clientName = clientName
        list = PendingLists(gateway: gateway, scope: Scopes.questions)
    }

    package var sight: PendingLists.Sight { list.sight }

    /// False if the connected gateway has no questions.
    package var isSupported: Bool { !list.isConnected || gateway.profile?.offers(.questions) ?? true }

    /// The gateway has more pending questions than Ladle keeps.
    package var isOverfull: Bool { register.isOverfull }

    // MARK: Reading

    /// Pending and recently ended questions, newest first; without a link the pending ones may already have ended.
    package func all(on loop: isolated EventLoop) -> [Question] {
        tick(on: loop)
        return register.all.reversed().map(shown)
    }

    package func question(_ id: String, on loop: isolated EventLoop) -> Question? {
        tick(on: loop)
        return register[id].map(shown)
    }

    /// Pending questions, without a check of the clock; nil if they may already have ended.
    var pending: [Question]? {
        guard list.isConnected else { return nil }
        guard isSupported else { return [] }
        return sight.isLive ? register.pending.reversed() : nil
    }

    private func shown(_ question: Question) -> Question { sight.isLive ? question : question.unseen }

    // MARK: Answering

    /// Sends an answer at once. `completion` comes when the question's end is known and durable, or the answer failed.
    /// - Parameters:
    ///   - given: by the id of each part; nil cancels the question.
    ///   - sender: the name of the person or device that answers.
    package func answer(
        _ id: String,
        _ given: [String: [String]]?,
        by sender: String,
        on loop: isolated EventLoop,
        completion: @escaping (Outcome) -> Void
    ) throws(QuestionAnswer.Fault) {
        tick(on: loop)
        guard let known = register[id] else { return completion(.notFound) }
        guard known.isPending else {
            let answer = given.map { try? QuestionAnswer($0, to: known) } ?? .cancel
            return completion(Outcome(known, answer))
        }
        switch sight {
        case .whole, .unlisted, .unanswered: break
        case .asking: return completion(.notReady)
        case .offline: return completion(.failed(.notConnected))
        case .scopeMissing: return completion(.failed(list.missingScope))
        }
        var answer = QuestionAnswer.cancel
        if let given { answer = try QuestionAnswer(given, to: known) }
        switch register.start(answer, of: id, by: sender, now: approvals.gatewayTime(on: loop)) {
        case .notFound: completion(.notFound)
        case .ended(let question): completion(Outcome(question, answer))
        case .tooLate(let question): completion(.tooLate(question))
        case .underWay, .notOffered:
            waiters[known.identity, default: []].append(Waiter(answer: answer, completion: completion))
        case .send(_, let attempt):
            waiters[known.identity, default: []].append(Waiter(answer: answer, completion: completion))
            send(known, answer, attempt, on: loop)
        }
    }

    private func send(
        _ question: Question,
        _ answer: QuestionAnswer,
        _ attempt: Int,
        isAgain: Bool = false,
        on loop: isolated EventLoop
    ) {
        let call = QuestionResolve(id: question.id, answers: answer.parts, isFlat: takesFlatAnswers)
        gateway.call(call, on: loop) { [weak self] result in
            guard let self else { return }
            // The gateway refused this form without acting, so the other form can be sent.
            if case .failure(.gateway(let error, _)) = result, error.questionRefusal == .otherForm, !isAgain,
                answer.parts != nil
            {
                self.takesFlatAnswers = !call.isFlat
                return self.send(question, answer, attempt, isAgain: true, on: loop)
            }
            self.answered(question, attempt, result, on: loop)
        }
    }

    private func answered(
        _ question: Question,
        _ attempt: Int,
        _ result: Result<Void, CallFailure>,
        on loop: isolated EventLoop
    ) {
        var reply = QuestionRegister.Answer.accepted
        var fault: GatewayFault?
        switch result {
        case .success, .failure(.unreadable): break
        case .failure(let failure):
            fault = GatewayFault(failure, over: gateway)
            reply = .nothing
            if case .ambiguous = failure { reply = .lost }
            if case .gateway(let error, _) = failure, let refusal = error.questionRefusal { reply = .refused(refusal) }
        }
        publish(
            register.answered(question.id, attempt: attempt, reply, now: approvals.gatewayTime(on: loop)),
            on: loop
        )
        // If the question is still pending, the answer had no effect, or its effect is unknown.
        guard let known = register[question.id], known.isPending, known.identity == question.identity else {
            return arm(on: loop)
        }
        for waiter in waiters.removeValue(forKey: question.identity) ?? [] {
            waiter.completion(fault.map { .failed($0) } ?? .notReady)
        }
        tick(on: loop)
    }

    // MARK: The link

    func linkLost() {
        list.linkLost()
        register.mayHaveMissed()
    }

    /// Called after the approvals, which set the gateway's time.
    func linkOpened(on loop: isolated EventLoop) {
        list.linkOpened()
        takesFlatAnswers = false
        readList(on: loop)
        tick(on: loop)
    }

    /// Frames of the open connection were lost, perhaps with a question's end.
    func framesLost(on loop: isolated EventLoop) {
        register.mayHaveMissed()
        readList(on: loop)
    }

    private func readList(on loop: isolated EventLoop) {
        guard list.isConnected else { return }
        guard isSupported else {
            list.settle(as: .whole)
            return publish(register.endAll(now: approvals.gatewayTime(on: loop)), on: loop)
        }
        guard let current = list.begin(lists: true) else { return }
        let number = register.askList()
        gateway.call(QuestionList(), on: loop) { [weak self] in self?.listed($0, number, current, on: loop) }
    }

    private func listed(
        _ result: Result<[QuestionEvent], CallFailure>,
        _ number: Int,
        _ current: Int,
        on loop: isolated EventLoop
    ) {
        guard list.isCurrent(current) else { return }
        switch result {
        case .success(let rows):
            list.settle(as: .whole)
            let now = approvals.gatewayTime(on: loop)
            let waiting = rows.filter { $0.status == nil || $0.status == "pending" }
            let questions = waiting.compactMap { question($0, now: now) }
            let unread = Set(waiting.compactMap(\.id)).subtracting(questions.map(\.id))
            publish(register.listed(questions, unread: unread, asked: number, now: now), on: loop)
            arm(on: loop)
        case .failure(.gateway(let error, _)) where error.missingScope != nil: list.settle(as: .scopeMissing)
        case .failure:
            list.unanswered(current, on: loop) { [weak self] in self?.readList(on: loop) }
        }
    }

    // MARK: Events

    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        guard case .question(let event) = event.payload else { return }
        let now = approvals.gatewayTime(on: loop)
        if event.isResolved {
            publish(register.resolved(event, own: clientName, now: now), on: loop)
        } else if let question = question(event, now: now) {
            publish(register.requested(question, now: now), on: loop)
        }
    }

    private func question(_ event: QuestionEvent, now: Timestamp) -> Question? {
        Question(
            event,
            session: event.sessionKey.map { runs.canonical($0).text },
            run: event.runId.map { runs.resolved($0) },
            now: now
        )
    }

    func runEnded(_ run: Run, on loop: isolated EventLoop) {
        if register.runEnded(run.id) { readList(on: loop) }
    }

    // MARK: Time

    private func tick(on loop: isolated EventLoop) {
        let canList = list.isConnected && sight != .scopeMissing
        publish(register.tick(now: approvals.gatewayTime(on: loop), canList: canList), on: loop)
        if register.takeListRequest() { readList(on: loop) }
        arm(on: loop)
    }

    private func arm(on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard let end = register.nextEnd else { return }
        let left = end.milliseconds - approvals.gatewayTime(on: loop).milliseconds
        timer = loop.after(milliseconds: min(max(left, 1), Self.longestWaitMs)) { [weak self] in
            self?.timer = nil
            self?.tick(on: loop)
        }
    }

    // MARK: Publishing

    /// Publishes each question; callers waiting for the end are answered once the event is durable.
    private func publish(_ news: [Question], on loop: isolated EventLoop) {
        guard !news.isEmpty else { return }
        let now = approvals.gatewayTime(on: loop)
        for question in news {
            var writer = JSONWriter(capacity: 1024)
            question.write(to: &writer, now: now)
            let body = writer.bytes
            feed.publish("question", session: question.session, run: question.runID, on: loop) { object in
                object.member("question", raw: body)
            } completion: { [weak self] in
                guard let self, !question.isPending else { return }
                for waiter in self.waiters.removeValue(forKey: question.identity) ?? [] {
                    waiter.completion(Outcome(question, waiter.answer))
                }
            }
        }
        // There is room now for pending questions that were left out.
        if register.isOverfull, news.contains(where: { !$0.isPending }) { readList(on: loop) }
        arm(on: loop)
    }
}

extension QuestionService.Outcome {
    /// The outcome of a question that has ended.
    fileprivate init(_ question: Question, _ answer: QuestionAnswer?) {
        if question.state == .expired {
            self = .tooLate(question)
        } else {
            self = answer.map(question.isAnswered) == true ? .answered(question) : .ended(question)
        }
    }
}
