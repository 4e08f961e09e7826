package import Basics
package import JSONBytes

/// `question.*` of the newest gateways: the agent asks a person, or somebody has answered. Rows of the list have the
/// same members. Written from documentation alone.
package struct QuestionEvent: Sendable {
    /// Whether the event reports the end.
    package let isResolved: Bool
    private let payload: JSONValue

    package init(_ payload: JSONValue, isResolved: Bool = false) {
        self.payload = payload
        self.isResolved = isResolved
    }

    package var id: String? { payload["id"]?.visibleIdentifier }
    package var sessionKey: String? { payload["sessionKey"]?.string }
    package var agent: String? { payload["agentId"]?.string }
    package var runId: String? { payload["runId"]?.identifier }
    package var createdAt: Timestamp? { GatewayTime.read(payload["createdAtMs"]) }
    package var expiresAt: Timestamp? { GatewayTime.read(payload["expiresAtMs"]) }
    package var time: Timestamp? { GatewayTime.read(payload["ts"]) }
    /// `pending`, `answered`, `cancelled` or `expired`, as sent.
    package var status: String? { payload["status"]?.string }
    /// The client that answered, by its own name.
    package var resolvedBy: String? { payload["resolvedBy"]?.string }
    package var partCount: Int { list?.count ?? 0 }

    /// The parts of the question, up to the limit.
    package var parts: [QuestionPart] {
        list?.elements.prefix(GatewayLimits.questionParts).map { QuestionPart($0) } ?? []
    }

    private var list: JSONValue? { payload["questions"].flatMap { $0.kind == .array ? $0 : nil } }

    /// The answers by part id; nil if the event has none. Releases nest them at different depths.
    package var answers: [String: [String]]? {
        guard let outer = payload["answers"], outer.kind == .object else { return nil }
        let object = outer["answers"].flatMap { $0.kind == .object ? $0 : nil } ?? outer
        var answers: [String: [String]] = [:]
        for (id, value) in object.members.prefix(GatewayLimits.questionParts) {
            let list =
                value.kind == .array ? value.elements.prefix(GatewayLimits.questionOptions + 1).map(\.self) : [value]
            answers[id] = list.compactMap(\.string)
        }
        return answers
    }
}

package struct QuestionPart: Sendable {
    private let value: JSONValue

    init(_ value: JSONValue) { self.value = value }

    package var id: String? { (value["questionId"] ?? value["id"])?.visibleIdentifier }
    package var header: String? { value["header"]?.string }
    package var text: String? { value["question"]?.string }
    package var takesSeveral: Bool { value["multiSelect"]?.bool ?? false }
    package var takesOther: Bool { value["isOther"]?.bool ?? false }
    package var isSecret: Bool { value["isSecret"]?.bool ?? false }
    package var optionCount: Int { list?.count ?? 0 }

    /// The options, up to the limit. A label is nil if it is not a text.
    package var options: [(label: String?, explanation: String?)] {
        list?.elements.prefix(GatewayLimits.questionOptions).map {
            ($0["label"]?.string ?? $0.string, $0["description"]?.string)
        } ?? []
    }

    private var list: JSONValue? { value["options"].flatMap { $0.kind == .array ? $0 : nil } }
}
