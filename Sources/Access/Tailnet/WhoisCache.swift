package import Basics

/// Recent answers by address and port, few and short-lived: a grant that was withdrawn ends within 30 s.
package struct WhoisCache: Sendable {
    package static let lifeMilliseconds: Int64 = 30_000

    private struct Entry {
        let answer: WhoisAnswer
        let goodUntil: Int64
    }

    private var entries: [WhoisQuestion: Entry] = [:]
    private let capacity: Int

    package init(capacity: Int = 1024) {
        self.capacity = max(capacity, 1)
    }

    package mutating func answer(to question: WhoisQuestion, now: Timestamp) -> WhoisAnswer? {
        guard let entry = entries[question] else { return nil }
        guard now.milliseconds < entry.goodUntil, entry.goodUntil - now.milliseconds <= Self.lifeMilliseconds else {
            entries[question] = nil
            return nil
        }
        return entry.answer
    }

    package mutating func learn(_ answer: WhoisAnswer, to question: WhoisQuestion, now: Timestamp) {
        let life: Int64 =
            switch answer {
            case .known: Self.lifeMilliseconds
            // A peer that was just added, or a tailscaled that just started, should not have to wait.
            case .unknown: 5000
            case .failed: 1000
            }
        if entries.count >= capacity, entries[question] == nil {
            entries = entries.filter { $0.value.goodUntil > now.milliseconds }
            // All fresh: drop one. Its owner is asked again, nothing else happens.
            if entries.count >= capacity, let any = entries.keys.first { entries[any] = nil }
        }
        entries[question] = Entry(answer: answer, goodUntil: now.milliseconds + life)
    }

    package mutating func forget(_ question: WhoisQuestion) {
        entries[question] = nil
    }

    package var count: Int { entries.count }
}
