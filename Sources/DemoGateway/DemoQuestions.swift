import JSONBytes

/// The agents' questions to people, and the calls about them, as documented for the newest releases. They live in
/// memory: a process that ends forgets them.
final class DemoQuestions {
    /// A question, and the run that waits for its answer.
    struct Asked {
        let text: String
        let options: [String]
        let isSecret: Bool
        let lifeMs: Int?
        let session: DemoSession
        let runID: String
    }

    /// The answers; nil if nobody answered.
    typealias Answered = ([String]?) -> Void

    private struct Record {
        let id: String
        let asked: Asked
        let createdAt: Int64
        let expiresAt: Int64
        var status = "pending"
        let answered: Answered
    }

    private static let scope = "operator.questions"
    private static let lifeMs = 900_000
    /// The id of the single part of each question.
    private static let part = "answer"

    private let clock: DemoClock
    private let primitives: DemoPrimitives
    private let connections: DemoConnections
    /// In the order of the requests, including ended ones.
    private var records: [Record] = []
    private static let mostKept = 256

    init(_ clock: DemoClock, _ primitives: DemoPrimitives, _ connections: DemoConnections) {
        self.clock = clock
        self.primitives = primitives
        self.connections = connections
    }

    /// Asks all clients that may answer. `answered` is called once, and never during this call.
    func ask(_ asked: Asked, answered: @escaping Answered) {
        let life = asked.lifeMs ?? Self.lifeMs
        let record = Record(
            id: primitives.uuid(),
            asked: asked,
            createdAt: clock.wallMs,
            expiresAt: clock.wallMs + Int64(life),
            answered: answered
        )
        records.append(record)
        if records.count > Self.mostKept { records.removeFirst() }
        tell("question.requested", row(of: record))
        clock.after(ms: life) { [weak self] in
            guard let place = self?.place(of: record.id) else { return }
            _ = self?.end(place, "expired", nil)
        }
    }

    /// Drops the questions of a stopped run.
    func drop(run: String) {
        for place in records.indices where records[place].asked.runID == run && records[place].status == "pending" {
            _ = end(place, "cancelled", nil)
        }
    }

    private func place(of id: String) -> Int? { records.firstIndex { $0.id == id && $0.status == "pending" } }

    private func end(_ place: Int, _ status: String, _ answers: [String]?, by name: String? = nil) -> DemoReply {
        records[place].status = status
        let record = records[place]
        let given = record.asked.isSecret ? nil : answers
        let told: WireValue = [
            "id": record.id, "status": status, "resolvedBy": name, "ts": clock.wallMs,
            "answers": given.map { wireObject(["answers": wireObject([Self.part: $0])]) },
        ]
        tell("question.resolved", told)
        clock.after(ms: 0) { record.answered(answers) }
        return .ok(["ok": true])
    }

    // MARK: - Calls

    func list(_ request: DemoRequest) -> DemoReply {
        .ok(["questions": records.filter { $0.status == "pending" }.map(row)])
    }

    func get(_ request: DemoRequest) -> DemoReply {
        guard let record = records.first(where: { $0.id == request.string("id") }) else { return Self.unknown }
        return .ok(row(of: record))
    }

    func resolve(_ request: DemoRequest) -> DemoReply {
        guard let id = request.string("id"), let record = records.last(where: { $0.id == id }) else {
            return Self.unknown
        }
        guard let place = place(of: id) else {
            return record.status == "expired" ? Self.unknown : Self.resolved
        }
        let name = request.connection.client.displayName ?? request.connection.client.id
        if request.bool("cancel") == true { return end(place, "cancelled", nil, by: name) }
        guard let list = request.params?["answers"]?["answers"]?[Self.part], list.kind == .array else {
            return .invalid("invalid question.resolve params: at /answers: must have required property 'answers'")
        }
        return end(place, "answered", list.elements.compactMap(\.string), by: name)
    }

    private func row(of record: Record) -> WireValue {
        let options = record.asked.options.map { wireObject(["label": $0]) }
        let question: WireValue = [
            "questionId": Self.part, "header": "Question", "question": record.asked.text, "options": options,
            "multiSelect": false, "isOther": options.isEmpty, "isSecret": record.asked.isSecret,
        ]
        return [
            "id": record.id, "questions": [question], "agentId": record.asked.session.agentID,
            "sessionKey": record.asked.session.key, "runId": record.asked.runID, "createdAtMs": record.createdAt,
            "expiresAtMs": record.expiresAt, "status": record.status,
        ]
    }

    private func tell(_ event: String, _ payload: WireValue) {
        connections.send(event, payload, to: connections.all.filter { $0.isOpen && $0.may(Self.scope) })
    }

    private static var unknown: DemoReply {
        .failed(
            DemoError(
                "INVALID_REQUEST",
                "unknown or already-resolved question id",
                details: ["reason": "QUESTION_NOT_FOUND"]
            )
        )
    }
    private static var resolved: DemoReply {
        .failed(
            DemoError("INVALID_REQUEST", "question already resolved", details: ["reason": "QUESTION_ALREADY_RESOLVED"])
        )
    }
}
