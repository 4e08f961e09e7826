package import Basics
package import Ledger

/// Looks for one entry in the newest rows of its session's transcript.
///
/// An overlooked row makes a message run twice. So if a row may or may not be the entry's, the report says neither
/// found nor absent.
package struct RowSearch: Sendable {
    private let message: Attribution.Claimant
    private let since: ClockWindow
    private let others: [Attribution.Claimant]
    private let strangers: [Attribution.Claimant]

    /// - Parameters:
    ///   - key: the entry's present key. A row under an earlier key was refused.
    ///   - since: the first dispatch, on the gateway's clock.
    ///   - isClockSame: the gateway's clock is as far ahead of ours as it was then, so neither was set.
    ///   - others: other entries of the session that may have rows of their own, with their texts.
    ///   - starts: when the runs of other entries started.
    ///   - strangers: when runs started of which no entry is known to be answered, by their ids. A row of that time may be theirs.
    ///   - earlier: messages that were on the stream before the first dispatch.
    ///   - aheadMs: how far the gateway's clock is ahead of ours, at least and at most.
    package init(
        key: String,
        words: Words,
        since: Timestamp,
        isClockSame: Bool = false,
        others: [OutboxEntry] = [],
        starts: [String: Timestamp] = [:],
        strangers: [String: Timestamp] = [:],
        earlier: Set<String> = [],
        aheadMs: ClosedRange<Int64> = 0...0
    ) {
        self.strangers = strangers.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map { id, start in
            var run = Attribution.Claimant(id)
            run.starts = [start]
            return run
        }
        self.since = isClockSame ? .row(sentAt: since) : .row(dispatchedAt: since)
        var message = Attribution.Claimant(key, keys: [key], words: words, written: self.since)
        message.sentAt = since
        message.earlier = earlier
        self.message = message
        self.others = others.filter { Words($0.text ?? "") == words }
            .map { Attribution.Claimant($0, words, startedAt: starts[$0.id], aheadMs: aheadMs) }
    }

    /// - Parameter isWhole: whether the session has no older rows than these.
    package func report(on rows: [Attribution.Row], isWhole: Bool, hasActiveRun: Bool) -> SearchReport {
        // The run that goes on with our message begins with the gateway's prompt, which repeats the words.
        let prompts = rows.filter(\.isResumption).compactMap(\.at)
        let strangers = strangers.filter { run in
            !run.starts.contains { start in prompts.contains { ClockWindow.row(startedAt: start).contains($0) } }
        }
        let attribution = Attribution(rows, strangers + others + [message])
        let isComplete = isWhole || rows.contains { $0.at.map { $0 < since.from } ?? false }
        let own = attribution.owners.filter { $0.value.turn == message.id }.min { $0.key < $1.key }
        switch own?.value.tie {
        case .certain?:
            var report = SearchReport(proof: .history, isComplete: true, hasActiveRun: hasActiveRun)
            report.row = own.flatMap { OwnRow(rows[$0.key], before: rows[($0.key + 1)...]) }
            return report
        case .likely?:
            return SearchReport(proof: .textMatch, isComplete: isComplete, hasActiveRun: hasActiveRun)
        case nil:
            var report = SearchReport(isComplete: isComplete, hasActiveRun: hasActiveRun)
            let ofStrangers = Set(strangers.map(\.id))
            report.isShared =
                attribution.shared.values.contains { $0.contains(message.id) }
                || attribution.owners.contains { ofStrangers.contains($0.value.turn) && mayBeOwn(rows[$0.key]) }
            return report
        }
    }

    /// Whether a row that a stranger's run owns by its time alone may be this message's all the same.
    private func mayBeOwn(_ row: Attribution.Row) -> Bool {
        guard !row.isNamed, let at = row.at, since.contains(at), let words = message.words,
            row.id.map({ !message.earlier.contains($0) }) ?? true
        else { return false }
        return row.words.contains { $0.show(words) }
    }
}

extension OwnRow {
    /// Nil for a row of an answer.
    fileprivate init?(_ row: Attribution.Row, before later: ArraySlice<Attribution.Row>) {
        guard row.isUser else { return nil }
        let answer = later.firstIndex { !$0.isUser }
        let next = later.firstIndex(where: \.isUser)
        self.init(
            isAnswered: answer.map { $0 < next ?? .max } ?? false,
            at: row.at,
            newestAt: answer == nil ? later.last(where: \.isUser).map(\.at) ?? row.at : nil,
            joinedRun: row.joinedRun
        )
    }
}

extension Attribution.Claimant {
    /// Another entry, which has a row by now, or may get one at any time.
    fileprivate init(_ other: OutboxEntry, _ words: Words, startedAt: Timestamp?, aheadMs: ClosedRange<Int64>) {
        let sent = (other.firstDispatchAt ?? other.createdAt).adding(milliseconds: aheadMs.lowerBound)
        var written = ClockWindow.row(dispatchedAt: sent)
        var again = written
        if ![.sending, .accepted, .unconfirmed].contains(other.state) {
            let known = other.updatedAt.adding(milliseconds: aheadMs.upperBound)
            written = .row(dispatchedAt: sent, knownAt: known)
            again = .row(dispatchedAt: sent, knownAt: known.adding(milliseconds: ClockWindow.longestRunMs))
        }
        self.init(other.id, keys: [other.upstreamKey], words: words, written: written)
        resumed = again
        starts = startedAt.map { [$0] } ?? []
        sentAt = sent
    }
}

/// A message's own row in the transcript. A gateway writes the row even if it refuses to run the message, so the row alone does not
/// show that the agent got it.
package struct OwnRow: Sendable, Equatable {
    /// Rows of an answer follow it.
    package var isAnswered: Bool
    package var at: Timestamp?
    /// The time of the newest message; nil if an answer follows this row.
    package var newestAt: Timestamp?
    /// The run at work that read the message.
    package var joinedRun: String?
}

/// The result of a search in the transcript.
package struct SearchReport: Sendable, Equatable {
    package var proof: OutboxProof?
    /// The message's own row, where that is the proof.
    package var row: OwnRow?
    /// The transcript was read back past the first dispatch.
    package var isComplete: Bool
    /// A row may be the message's or another one's, so the message may be there.
    package var isShared = false
    /// A run is in progress in the session: the row may not be in the transcript yet.
    package var hasActiveRun: Bool
    /// The word of a gateway that keeps messages on this one.
    package private(set) var receipt: Fact.Receipt?
    /// The request itself failed, so nothing is known.
    var hasFailed = false

    package init(proof: OutboxProof? = nil, row: OwnRow? = nil, isComplete: Bool, hasActiveRun: Bool = false) {
        self.proof = proof
        self.row = row
        self.isComplete = isComplete
        self.hasActiveRun = hasActiveRun
    }

    /// Whether older rows can add nothing.
    package var isSettled: Bool { proof == .history || proof == .gatewayReceipt || receipt == .queued }

    /// Notes the gateway's word on the message. A message that it ran together with others has no row of its own.
    package mutating func note(_ receipt: Fact.Receipt?) {
        if receipt == .consumed, proof == nil { proof = .gatewayReceipt }
        self.receipt = receipt
    }

    package static let failed = {
        var report = SearchReport(isComplete: false)
        report.hasFailed = true
        return report
    }()
}
