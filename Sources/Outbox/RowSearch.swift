package import Basics
package import Ledger

/// Looks for one entry in the newest rows of its session's history.
///
/// An overlooked row makes a message run twice. So if a row may or may not be the entry's, the report says neither
/// found nor absent.
package struct RowSearch: Sendable {
    /// One row of the gateway's history, with the parts that can prove something.
    package struct Row: Sendable, Equatable {
        /// The idempotency key as written in the row.
        package var key: String?
        package var isUser: Bool
        package var words: Words
        package var at: Timestamp?
        /// A row of the assistant, or of one of its tools.
        package var isAnswer: Bool
        /// A restarted gateway wrote the row in place of the user's own, to continue the run; it has no key.
        package var isResumption: Bool

        package init(
            key: String?,
            isUser: Bool,
            words: Words,
            at: Timestamp?,
            isAnswer: Bool = false,
            isResumption: Bool = false
        ) {
            self.key = key
            self.isUser = isUser
            self.isAnswer = isAnswer
            self.words = words
            self.at = at
            self.isResumption = isResumption
        }
    }

    private let key: String
    private let words: Words
    private let window: ClockWindow
    private let sameText: Int
    private let sameTextBefore: Int

    /// - Parameters:
    ///   - key: the entry's present key. A row under an earlier key was refused.
    ///   - since: the first dispatch, on the gateway's clock.
    ///   - sameText: the number of other entries with this text that may have rows of their own in that time.
    ///   - sameTextBefore: the same number, including entries whose runs may have been in progress at its start: a
    ///     restarted gateway writes their rows again.
    package init(key: String, words: Words, since: Timestamp, sameText: Int = 0, sameTextBefore: Int = 0) {
        self.key = key
        self.words = words
        window = .row(dispatchedAt: since)
        self.sameText = sameText
        self.sameTextBefore = max(sameText, sameTextBefore)
    }

    /// - Parameter isWhole: whether the session has no older rows than these.
    package func report(on rows: [Row], isWhole: Bool, hasActiveRun: Bool) -> SearchReport {
        var isComplete = isWhole
        var showsKeys = false
        var sightings = 0
        var resumptions = 0
        var mayBeThere = false
        for (place, row) in rows.enumerated() {
            if let key = row.key {
                if names(key) { return found(row, before: rows[(place + 1)...], hasActiveRun: hasActiveRun) }
                // Old gateways write keys only on the partial answers of aborted runs.
                if row.isUser { showsKeys = true }
                if let masked = MaskedKey(key), row.isUser, agrees(masked) {
                    if row.words == words {
                        return found(row, before: rows[(place + 1)...], hasActiveRun: hasActiveRun)
                    }
                    mayBeThere = true
                }
            }
            if let at = row.at, at < window.from {
                isComplete = true
            } else if row.isUser, row.key == nil {
                if row.words == words, !words.isEmpty, row.at != nil {
                    if row.isResumption { resumptions += 1 } else { sightings += 1 }
                } else if row.words.mayShow(words) {
                    mayBeThere = true
                }
            }
        }
        // A gateway that shows keys may have written the row before it started to.
        if sightings > 0, showsKeys { mayBeThere = true }
        let counted = resumptions + (showsKeys ? 0 : sightings)
        let others = resumptions > 0 ? sameTextBefore : sameText
        // There are no more rows than other entries with this text, so each row may be another entry's.
        if counted > 0, counted <= others { mayBeThere = true }
        if counted > others {
            return SearchReport(proof: .textMatch, isComplete: isComplete, hasActiveRun: hasActiveRun)
        }
        return SearchReport(isComplete: isComplete && !mayBeThere, hasActiveRun: hasActiveRun)
    }

    private func found(_ row: Row, before later: ArraySlice<Row>, hasActiveRun: Bool) -> SearchReport {
        var report = SearchReport(proof: .history, isComplete: true, hasActiveRun: hasActiveRun)
        guard row.isUser else { return report }
        let answer = later.firstIndex(where: \.isAnswer)
        let next = later.firstIndex(where: \.isUser)
        report.row = OwnRow(
            isAnswered: answer.map { $0 < next ?? .max } ?? false,
            newestAt: answer == nil ? later.last(where: \.isUser).map(\.at) ?? row.at : nil
        )
        return report
    }

    /// Whether the key is that of the entry's own row, or of an answer to it.
    private func names(_ key: String) -> Bool {
        let answer = ":assistant"
        return OutboxEntry.bareKey(key.hasSuffix(answer) ? key.dropLast(answer.count) : key[...]) == self.key
    }

    private func agrees(_ masked: MaskedKey) -> Bool {
        [key, key + ":user"].contains { masked.agrees(with: $0) }
    }
}
