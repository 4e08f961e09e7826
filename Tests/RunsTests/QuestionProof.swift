import Basics
import Gateway
import JSONBytes
import Runs

/// Properties of every question, whatever a gateway sends. The fuzz driver uses it too.
enum QuestionProof {
    static let now = Timestamp(milliseconds: 1_795_000_000_000)

    static func event(_ bytes: [UInt8], isResolved: Bool = false) -> QuestionEvent? {
        (try? JSONDocument(parsing: bytes)).map { QuestionEvent($0.root, isResolved: isResolved) }
    }

    static func question(_ bytes: [UInt8]) -> Question? {
        event(bytes).flatMap { Question($0, session: nil, run: nil, now: now) }
    }

    /// Nil where all is well.
    static func problem(with bytes: [UInt8]) -> String? {
        guard let question = question(bytes), let end = event(bytes, isResolved: true) else { return nil }
        if let problem = problem(of: question) { return problem }
        if question.id.isEmpty || question.id.utf8.count > 256 { return "the id is not whole" }
        var given: [String: [String]] = [:]
        for part in question.parts { given[part.id] = [part.options.first?.label ?? "x"] }
        let answer = try? QuestionAnswer(given, to: question)
        if question.isTruncated, answer != nil { return "one can answer what is not shown" }
        if !question.isTruncated, answer == nil { return "it cannot be answered" }
        var register = QuestionRegister()
        guard register.requested(question, now: now) == [question] else { return "it is not asked" }
        var other = register
        let time = max(now, question.expiresAt).adding(milliseconds: WaitingLimits.graceMs)
        guard register.tick(now: time).first?.isPending == false else { return "it does not end" }
        let told = other.resolved(end, own: "Ladle", now: now)
        guard told.count == 1, told[0].isPending == false else { return "its end is not told" }
        return problem(of: told[0])
    }

    private static func problem(of question: Question) -> String? {
        var writer = JSONWriter()
        writer.value(question)
        guard let root = try? JSONDocument(parsing: writer.bytes).root else { return "it is not written as JSON" }
        if writer.bytes.count > 600_000 { return "it is too long" }
        var found: String?
        func walk(_ value: JSONValue) {
            if let text = value.string, Printable.line(text) != text { found = "a text is not plain" }
            for element in value.elements { walk(element) }
            for member in value.members { walk(member.value) }
        }
        walk(root)
        for part in question.parts where part.isSecret && part.answers != nil { found = "a secret is shown" }
        return found
    }
}
