import Basics
import EventLoops
import JSONBytes
import Runs
import Service

/// Questions as documented for the newest gateways.
extension Asked {
    static let newest = listing + ["question.list", "question.get", "question.resolve"]
    static let colour =
        #"{"questionId":"colour","question":"Which colour?","options":[{"label":"red"},{"label":"green"}]}"#

    static func question(
        _ id: String,
        _ parts: String = colour,
        session: String? = Frame.main,
        at created: Timestamp = ManualClock.start,
        lifeMs: Int64 = 900_000
    ) -> String {
        let key = session.map { #","sessionKey":"\#($0)""# } ?? ""
        return """
            {"id":"\(id)","questions":[\(parts)],"status":"pending","agentId":"main"\(key),\
            "createdAtMs":\(created.milliseconds),"expiresAtMs":\(created.milliseconds + lifeMs)}
            """
    }
}

extension ServiceBench {
    func asksPeople(_ payload: String, on loop: isolated EventLoop) async throws {
        try await event("question.requested", payload, on: loop)
    }

    /// The states in the events of a question, in order.
    func questionStates(of id: String) -> [String?] {
        data("question").filter { $0["question"]?["id"]?.string == id }.map { $0["question"]?["state"]?.string }
    }

    /// Answers and waits until no work is pending; nil cancels.
    func answer(_ id: String, _ answers: [String: [String]]?, on loop: isolated EventLoop) async throws -> String {
        var word = "none"
        do throws(QuestionAnswer.Fault) {
            try services.questions.answer(id, answers, by: "owner", on: loop) { word = Self.word($0) }
        } catch {
            word = "\(error)"
        }
        try await settle(on: loop)
        return word
    }

    static func word(_ outcome: QuestionService.Outcome) -> String {
        switch outcome {
        case .decided(let question): "answered \(question.state.rawValue)"
        case .ended(let question): "ended \(question.state.rawValue)"
        case .tooLate: "too late"
        case .notFound: "not found"
        case .notReady: "not ready"
        case .changed, .notOffered, .unsupported: "impossible"
        case .failed(let fault): "failed \(fault)"
        }
    }
}
