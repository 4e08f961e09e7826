import Access
import EventLoops
import HTTPModel
import Server
import Service

/// Recent answers to reads. While nothing has happened, the next answer is the same, and costs only its bytes. Callers
/// limited to sessions see less, so their answers are never shared.
final class WarmAnswers {
    private struct Question: Hashable {
        let target: [UInt8]
        let type: String
        /// The caller with its rights and its device: what it sees and its unread counts are its own.
        let caller: Caller
    }

    private struct Answer {
        let response: Response
        let tag: EntityTag
        /// The revision of the services' state when the answer was asked for: it may lack a change that came while it was made.
        let revision: UInt64
        /// The expiry on the loop's clock.
        let until: UInt64
    }

    /// The most by which values that change with time alone, such as an age, are late.
    private static let lifeMs: UInt64 = 1_000
    /// Dashboards repeat a few questions; a client that never repeats one gains nothing from this cache.
    private static let most = 32
    /// Larger answers cost more to send than to build.
    private static let mostBytes = 128 << 10

    private var answers: [Question: Answer] = [:]

    func find(_ call: Call, revision: UInt64, on loop: isolated EventLoop) -> (Response, EntityTag)? {
        guard let question = Self.question(of: call), let answer = answers[question], answer.revision == revision,
            answer.until > loop.now
        else { return nil }
        return (answer.response, answer.tag)
    }

    func keep(_ response: Response, _ tag: EntityTag, for call: Call, revision: UInt64, on loop: isolated EventLoop) {
        guard let question = Self.question(of: call), response.body.count <= Self.mostBytes else { return }
        if answers.count >= Self.most, answers[question] == nil { answers = [:] }
        let until = loop.now + Self.lifeMs * 1_000_000
        answers[question] = Answer(response: response, tag: tag, revision: revision, until: until)
    }

    private static func question(of call: Call) -> Question? {
        // A request for a fresh answer must get one, and a ticket is good for one answer only.
        guard call.caller.sessions == nil, call.text("ticket") == nil, call.text("refresh") == nil else { return nil }
        let target = Array(call.head.fields.bytes[call.head.targetRange])
        return Question(target: target, type: call.answerType.essence, caller: call.caller)
    }
}

extension Call {
    /// - Returns: whether the request was answered from the cache.
    func answersWarm(_ api: HTTPAPI, on loop: isolated EventLoop) -> Bool {
        let revision = api.services.events.revision
        askedRevision = revision
        guard let (response, tag) = api.warm.find(self, revision: revision, on: loop) else { return false }
        respond(response, tag: tag, on: loop)
        return true
    }

    /// Answers, and keeps the answer for equal requests.
    func respondTagged(_ response: Response, tag: EntityTag? = nil, warming api: HTTPAPI, on loop: isolated EventLoop) {
        let tag = tag ?? EntityTag(ofBytes: response.body)
        if let askedRevision { api.warm.keep(response, tag, for: self, revision: askedRevision, on: loop) }
        respond(response, tag: tag, on: loop)
    }
}
