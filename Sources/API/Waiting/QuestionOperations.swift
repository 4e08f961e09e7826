import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Ledger
import Runs
import Server
import Service

/// `GET /v1/questions`, `GET /v1/questions/{id}` and `POST /v1/questions/{id}`.
enum QuestionOperations {
    static let routes = [
        Route("listQuestions", .get, "/v1/questions", scope: .read, query: ["session", "state"], handler: list),
        Route("getQuestion", .get, "/v1/questions/{id}", scope: .read, handler: get),
        Route(
            "answerQuestion",
            .post,
            "/v1/questions/{id}",
            scope: .approvals,
            body: Route.json,
            grantsOrLimits: true,
            handler: Route.flow(resolve)
        ),
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let service = api.services.questions
        let sessions = try call.onlySessions(of: api.runs)
        let filter: WaitingFilter = try call.choice("state") ?? .pending
        guard service.isSupported else { throw .noQuestions(api) }
        let all = service.all(on: loop)
        let seen = all.filter { question in sessions.admit(question.session) }
        let shown = seen.filter { filter == .all || ($0.endedAt == nil) == (filter == .pending) }
        call.respond(now: service.gatewayTime(on: loop), on: loop) { writer, now in
            writer.object { object in
                object.array("questions") { list in
                    for question in shown { question.write(to: &list, now: now) }
                }
                object.member("pending", seen.count(where: \.isPending))
                service.writeSight(to: &object, startedAt: api.startedAt)
            }
        }
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        answer(call, try find(api, call, on: loop), api, on: loop)
    }

    private static func answer(_ call: Call, _ question: Question, _ api: HTTPAPI, on loop: isolated EventLoop) {
        call.respond(now: api.services.questions.gatewayTime(on: loop), on: loop, question.write(to:now:))
    }

    /// The question named in the path. A caller that may not see it gets the same answer as for a missing one.
    private static func find(_ api: HTTPAPI, _ call: Call, on loop: isolated EventLoop) throws(Problem) -> Question {
        guard api.services.questions.isSupported else { throw .noQuestions(api) }
        let question = api.services.questions.item(call.pathID, on: loop)
        guard let question, call.caller.mayUse(session: question.session) else { throw .noQuestion }
        return question
    }

    // MARK: Answering

    static func resolve(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        // An answer may be a secret short enough to be guessed from its hash.
        call.isBodySecret = true
        let given = try answers(call)
        let asked = try find(api, call, on: loop)
        let (questions, name) = (api.services.questions, call.caller.shortName)
        let outcome = await loop.wait { (done: @escaping (Result<QuestionService.Outcome, Problem>) -> Void) in
            do throws(QuestionAnswer.Fault) {
                try questions.answer(asked.id, given, by: name, on: loop) { done(.success($0)) }
            } catch {
                done(.failure(Problem.unfit(error)))
            }
        }
        answer(call, try answered(outcome.get(), call, api), api, on: loop)
    }

    /// The answers; nil cancels the question.
    private static func answers(_ call: Call) throws(Problem) -> [String: [String]]? {
        let body = try call.jsonObject(of: ["answers", "cancel"])
        switch body["cancel"]?.bool {
        case true? where body["answers"] == nil: return nil
        case nil where body["cancel"] == nil: break
        default: throw .invalidField("cancel", "`cancel` is true, and then there are no `answers`.")
        }
        guard let object = body["answers"], object.kind == .object else {
            throw .invalidField(
                "answers",
                "`answers` is an object: the answer to each question by the question's `id`."
            )
        }
        var answers: [String: [String]] = [:]
        for (id, value) in object.members {
            let texts = value.kind == .array ? value.elements.map(\.string) : [value.string]
            guard !texts.contains(nil), texts.count <= QuestionLimits.answers else {
                throw .invalidField(
                    "answers.\(id.prefix(64))",
                    "An answer is a text, or a list of up to \(QuestionLimits.answers) texts."
                )
            }
            answers[id] = texts.compactMap(\.self)
        }
        return answers
    }

    private static func answered(
        _ outcome: QuestionService.Outcome,
        _ call: Call,
        _ api: HTTPAPI
    ) throws(Problem) -> Question {
        switch outcome {
        case .decided(let question): return question
        case .ended(let question), .changed(let question), .notOffered(let question): throw .questionResolved(question)
        case .tooLate(let question): throw .questionExpired(question)
        case .notFound: throw .noQuestion
        case .unsupported: throw .noQuestions(api)
        case .notReady: throw .notAsked
        case .failed(.unanswered):
            let path = "GET /v1/questions/\(PercentCoding.encode(call.pathID)) shows how it ended"
            let detail = "The gateway did not answer; whether it has the answer is not known yet."
            throw Problem(.gatewayTimeout, detail, hint: path)
        case .failed(let fault): throw Problem(fault, doing: "answer")
        }
    }
}

extension Problem {
    fileprivate static func noQuestions(_ api: HTTPAPI) -> Problem {
        .unsupported(.questions, api)
    }

    fileprivate static let noQuestion = Problem(.questionNotFound, "There is no question of this whole id.")

    fileprivate static func questionResolved(_ question: Question) -> Problem {
        let how =
            switch question.state {
            case .answered, .cancelled: "was \(question.state.rawValue) by \(question.endedBy ?? "somebody")"
            default: "does not wait any more; how it ended is not known"
            }
        return Problem(.questionResolved, "The question \(how).").adding(member: "question") { $0.value(question) }
    }

    fileprivate static func questionExpired(_ question: Question) -> Problem {
        Problem(.questionExpired, "The time to answer is over.").adding(member: "question") { $0.value(question) }
    }

    fileprivate static func unfit(_ fault: QuestionAnswer.Fault) -> Problem {
        func problem(_ id: String, _ detail: String, _ options: [String]) -> Problem {
            Problem(.answerNotAllowed, detail, field: "answers.\(id.prefix(64))").adding(member: "options") {
                $0.array(of: options)
            }
        }
        func choice(_ options: [String]) -> String {
            options.isEmpty ? "It takes a text." : "The options are \(options.joined(separator: ", "))."
        }
        switch fault {
        case .noSuchPart(let id, let ids):
            return problem(
                id,
                "It does not ask `\(id.prefix(64))`. Its questions are \(ids.joined(separator: ", ")).",
                []
            )
        case .unanswered(let id, let options): return problem(id, "`\(id)` has no answer. " + choice(options), options)
        case .notOffered(let id, let options):
            return problem(id, "`\(id)` does not offer that. " + choice(options), options)
        case .onlyOne(let id, let options): return problem(id, "`\(id)` takes one answer. " + choice(options), options)
        case .tooLong(let id):
            return problem(id, "An answer has at most \(QuestionLimits.answerBytes) bytes.", [])
        case .onlyCancel:
            return Problem(
                .answerNotAllowed,
                "A part of the question cannot be shown, so it can only be cancelled.",
                field: "answers"
            )
        }
    }
}
