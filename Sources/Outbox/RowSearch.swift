package import Basics

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
        /// The text without the envelope that the gateway puts around a user's words.
        package var text: String
        package var at: Timestamp?
        /// A row of the assistant, or of one of its tools.
        package var isAnswer: Bool
        /// A restarted gateway wrote the row in place of the user's own, to continue the run; it has no key.
        package var isResumption: Bool

        package init(
            key: String?,
            isUser: Bool,
            text: String,
            at: Timestamp?,
            isAnswer: Bool = false,
            isResumption: Bool = false
        ) {
            self.key = key
            self.isUser = isUser
            self.isAnswer = isAnswer
            self.text = text
            self.at = at
            self.isResumption = isResumption
        }
    }

    /// The possible remaining difference between two clocks after comparison; text matches and the end of a search allow
    /// for it.
    package static let clockToleranceMs: Int64 = 10_000
    /// Runs rarely last longer.
    package static let longestRunMs: Int64 = 3_600_000
    /// Gateways cut texts at 8,000 or 12,000 UTF-16 units, envelope included; one character may take many units.
    private static let fewestShown = 1_000
    /// The longest mark that a gateway writes at a cut.
    private static let longestMark = 64
    private static let omission = "[chat.history omitted"

    private let key: String
    private let text: String
    private let since: Timestamp
    private let sameText: Int
    private let sameTextBefore: Int

    /// - Parameters:
    ///   - key: the entry's present key. A row under an earlier key was refused.
    ///   - since: the first dispatch, on the gateway's clock.
    ///   - sameText: the number of other entries with this text that may have rows of their own in that time.
    ///   - sameTextBefore: the same number, including entries whose runs may have been in progress at its start: a
    ///     restarted gateway writes their rows again.
    package init(key: String, text: String, since: Timestamp, sameText: Int = 0, sameTextBefore: Int = 0) {
        self.key = key
        self.text = Self.bare(text)
        self.since = since
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
                    if Self.bare(row.text) == text {
                        return found(row, before: rows[(place + 1)...], hasActiveRun: hasActiveRun)
                    }
                    mayBeThere = true
                }
            }
            if let at = row.at, at < since.adding(milliseconds: -Self.clockToleranceMs) {
                isComplete = true
            } else if row.isUser, row.key == nil {
                let shown = Self.bare(row.text)
                // Any message of pictures alone has no words.
                if shown == text, !text.isEmpty, row.at != nil {
                    if row.isResumption { resumptions += 1 } else { sightings += 1 }
                } else if resembles(shown) {
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

    /// Whether the text may be the entry's: inside an unknown envelope, cut, left out, or without a known time.
    private func resembles(_ shown: String) -> Bool {
        if shown == text || shown.hasPrefix(Self.omission) { return true }
        if !text.isEmpty, shown.hasSuffix(text) { return true }
        guard shown.utf8.count >= Self.fewestShown, text.utf8.count >= Self.fewestShown else { return false }
        let agreeing = zip(shown, text).prefix { $0 == $1 }.count
        return agreeing >= Self.fewestShown && shown.count - agreeing <= Self.longestMark
    }

    /// The text without control characters, which gateways remove, and without blanks at its ends.
    private static func bare(_ text: String) -> String {
        var scalars = text.unicodeScalars.filter {
            $0 == "\n" || $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value)
        }[...]
        while scalars.last?.properties.isWhitespace == true { scalars.removeLast() }
        while scalars.first?.properties.isWhitespace == true { scalars.removeFirst() }
        return String(Substring(scalars))
    }
}
