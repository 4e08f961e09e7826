import Gateway

/// The names of all that the gateway sent since the program started: no text, no key and no id, so that anybody may see it.
package struct GatewayNames: Sendable {
    package struct Answer: Sendable, Hashable, Comparable {
        package let method: String
        /// `ok`, or the code of a refusal and, if there is one, its finer code or reason.
        package let outcome: String

        package static func < (left: Answer, right: Answer) -> Bool {
            (left.method, left.outcome) < (right.method, right.outcome)
        }
    }

    package private(set) var answers: [Answer: UInt64] = [:]
    package private(set) var events: [String: UInt64] = [:]
    /// The names of events that Ladle does not read.
    package private(set) var unread: Set<String> = []
    /// No gateway has so many names.
    private static let mostNames = 512
    private static let longestName = 64

    package init() {}

    mutating func saw(_ event: GatewayEvent) {
        let name = Self.name(event.name)
        guard events[name] != nil || events.count < Self.mostNames else { return }
        events[name, default: 0] += 1
        if case .other = event.payload { unread.insert(name) }
    }

    mutating func saw(_ outcome: CallOutcome, of method: String) {
        let word: String
        switch outcome {
        case .ok: word = "ok"
        case .failed(let error, _):
            let finer = [error.detailsCode, error.detailsReason].compactMap(\.self).filter { $0 != error.code }
            word = ([error.code] + finer).map(Self.name).joined(separator: " ")
        case .ambiguous: word = "no answer"
        case .notDispatched: return
        }
        let answer = Answer(method: method, outcome: word)
        guard answers[answer] != nil || answers.count < Self.mostNames else { return }
        answers[answer, default: 0] += 1
    }

    /// A name as gateways give them; anything else might be a text.
    package static func name(_ text: String) -> String {
        let isName = text.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                || [0x2D, 0x2E, 0x3A, 0x5F].contains(byte)
        }
        return isName && (1...longestName).contains(text.utf8.count) ? text : "(no name)"
    }
}
