import Basics
import EventLoops
import Gateway
import Ledger
import Outbox
import Runs
import Upstream

/// Looks for one entry in a session's transcript: ever larger pages, since only newer gateways can page back.
struct TranscriptSearch {
    private static let pages = [50, 200, 1000]
    /// Gateways drop old rows from a page of more than 6 MiB.
    private static let wholeBytes = 4 << 20

    /// The result of a search.
    enum Finding {
        case report(SearchReport)
        /// The transcript has the message's row, but the gateway refused to run it.
        case refused(reason: String)
    }

    let search: RowSearch
    let entry: OutboxEntry
    let transcript: TranscriptReader
    unowned let gateway: any GatewayCalls

    func find(on loop: isolated EventLoop) async -> Finding {
        let key = entry.upstreamKey
        var rowsBefore: Int?
        var found = SearchReport.failed
        for rows in Self.pages {
            guard case .success(let page) = await transcript.read(entry.session, rows: rows, input: key, on: loop)
            else {
                return .report(.failed)
            }
            found = search.report(
                on: Self.rows(page.rows),
                isWhole: Self.isWhole(page, rowsBefore: rowsBefore),
                hasActiveRun: page.inFlightRunId != nil || page.hasActiveRun == true
            )
            if let row = found.row, !entry.isSlashCommand, gateway.profile?.mayRefuseStoredMessages != false {
                return await judge(row, found, page, on: loop)
            }
            found.note(page.receipts[key].map { Fact.Receipt($0) })
            if found.isComplete || found.isSettled { break }
            rowsBefore = page.messageCount
        }
        return .report(found)
    }

    /// Asks the gateway what became of the message whose row was found. A gateway process that does not know the key
    /// has forgotten the message, or never took it; then the page decides.
    private func judge(
        _ row: OwnRow,
        _ found: SearchReport,
        _ page: ChatHistory.Output,
        on loop: isolated EventLoop
    ) async -> Finding {
        if entry.wasRefused, gateway.profile?.readsRefusedRows == true, Self.isRead(entry.upstreamKey, in: page.rows) {
            return .report(found)
        }
        let answer = await Result { () async throws(CallFailure) in
            try await gateway.call(AgentWait(runId: entry.upstreamKey), on: loop)
        }
        switch answer {
        case .success(.failed(let reason?)) where GatewayError.isSessionConflict(reason):
            return .refused(reason: reason)
        case .success(.ended) where Self.neverBegan(row, page): return await ended(beyond: page, on: loop)
        // A run that will be refused is shown as running for a moment.
        case .success(.draining) where Self.isUnrun(row, page):
            return .report(SearchReport(isComplete: false, hasActiveRun: true))
        case .success(.ended), .success(.failed), .success(.draining), .success(.queued): return .report(found)
        case .success(.unknown): return Self.finding(row, found, page)
        case .failure(.gateway(let error, _)) where error.retryable != true: return Self.finding(row, found, page)
        case .failure: return .report(.failed)
        }
    }

    /// The gateway is through with the message, and no run seems to have begun for it. A page that was asked for later decides: the run may
    /// have come after the first one.
    private func ended(beyond first: ChatHistory.Output, on loop: isolated EventLoop) async -> Finding {
        let answer = await transcript.read(entry.session, rows: max(first.messageCount, Self.pages[0]), on: loop)
        guard case .success(let page) = answer else { return .report(.failed) }
        let found = search.report(on: Self.rows(page.rows), isWhole: false, hasActiveRun: page.hasActiveRun == true)
        guard let row = found.row, Self.neverBegan(row, page) else { return .report(found) }
        return Self.finding(row, found, page)
    }

    /// The same for the message's own row, whatever others have said since.
    private static func neverBegan(_ row: OwnRow, _ page: ChatHistory.Output) -> Bool {
        isUnrun(row, page) && row.at.map { at in page.lastRunStart.map { $0 <= at } ?? false } ?? false
    }

    /// Whether the model read the refused message, with later ones: only messages stand between its row and what the model said.
    private static func isRead(_ key: String, in rows: [TranscriptRow]) -> Bool {
        guard let own = rows.lastIndex(where: { $0.role == .user && $0.runKey == key }) else { return false }
        let answer = rows[own...].drop { $0.role == .user }.prefix { $0.role != .user }
        return answer.contains { $0.role == .assistant && $0.hasModelsWords }
    }

    private static func finding(_ row: OwnRow, _ found: SearchReport, _ page: ChatHistory.Output) -> Finding {
        if row.isAnswered { return .report(found) }
        let unknown = SearchReport(isComplete: false, hasActiveRun: page.hasActiveRun == true)
        // The run in progress may be this message's, continued by another gateway process.
        if page.hasActiveRun == true { return .report(unknown) }
        // A run has begun since the message was sent, and the message has no answer: it was stopped or cut off. It was not refused,
        // because June gateways put the row of a refused message into the next prompt, so that run would have got its words too.
        guard isUnrun(row, page) else { return .report(found) }
        // The message of an interrupted run may be older than the newest row.
        return page.lastRunEnd == nil ? .report(unknown) : .refused(reason: notRun)
    }

    /// Whether no run has begun in the session since its newest message was sent. For a run that it refuses, a June
    /// gateway gives the time of the message itself as the run's start.
    private static func isUnrun(_ row: OwnRow, _ page: ChatHistory.Output) -> Bool {
        guard let start = page.lastRunStart, let sent = row.newestAt else { return false }
        return start < sent || (start == sent && page.lastRunEnd == .failed)
    }

    private static let notRun = "no run has begun in its session since it was sent"

    /// Whether the page has all rows of the session. The gateway counts hidden rows too before it removes them, so a
    /// page with fewer rows than requested may lack older ones. If the gateway does not report whether there are more,
    /// the page has all of them when a longer page brings no further rows.
    static func isWhole(_ page: ChatHistory.Output, rowsBefore: Int?) -> Bool {
        if let hasMore = page.hasMore { return !hasMore }
        return page.messageCount == rowsBefore && page.byteCount < wholeBytes
    }

    static func rows(_ rows: [TranscriptRow]) -> [Attribution.Row] {
        rows.filter { [.user, .assistant, .toolResult].contains($0.role) }.map { row in
            var found = Attribution.Row(row)
            found.id = row.messageID
            return found
        }
    }
}

extension Fact.Receipt {
    fileprivate init(_ receipt: ChatHistory.Receipt) {
        self =
            switch receipt {
            case .queued: .queued
            case .interrupted: .interrupted
            case .consumed: .consumed
            case .cancelled: .cancelled
            }
    }
}
