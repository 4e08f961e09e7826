import Access
import EventLoops
import HTTPModel
import Server
import Service

/// Answers to reads as they were given a moment ago. While nothing has happened, the next one is the same, and costs what its
/// bytes cost. Callers that are limited to sessions see less, so they always get one of their own.
final class WarmAnswers {
    private struct Question: Hashable {
        let target: [UInt8]
        let type: String
        /// What is unread is each caller's own.
        let caller: String
    }

    private struct Answer {
        let response: Response
        let tag: EntityTag
        /// Of what the services know.
        let revision: UInt64
        /// On the loop's clock.
        let until: UInt64
    }

    /// What ends by its time alone, such as an age, is at most this late.
    private static let lifeMs: UInt64 = 1_000
    /// Dashboards ask a few questions again and again; one that asks ever others gains nothing from this.
    private static let most = 32
    /// Larger answers cost more to send than to make.
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
        // Who asks for a new answer gets one; a ticket is good for one.
        guard call.caller.sessions == nil, call.text("ticket") == nil, call.text("refresh") == nil else { return nil }
        let target = Array(call.head.fields.bytes[call.head.targetRange])
        return Question(target: target, type: call.answerType.essence, caller: call.caller.label)
    }
}

extension Call {
    /// - Returns: whether the request is answered with what the last one like it got.
    func answersWarm(_ api: HTTPAPI, on loop: isolated EventLoop) -> Bool {
        guard let (response, tag) = api.warm.find(self, revision: api.services.events.revision, on: loop) else {
            return false
        }
        respond(response, tag: tag, on: loop)
        return true
    }

    /// Answers, and remembers it for requests like this one.
    func respondTagged(_ response: Response, tag: EntityTag? = nil, warming api: HTTPAPI, on loop: isolated EventLoop) {
        let tag = tag ?? EntityTag(ofBytes: response.body)
        api.warm.keep(response, tag, for: self, revision: api.services.events.revision, on: loop)
        respond(response, tag: tag, on: loop)
    }
}
