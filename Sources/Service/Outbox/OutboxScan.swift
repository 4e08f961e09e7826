import Basics
import EventLoops
import Gateway
import Outbox
import Upstream

/// Looks for one entry in a session's history: ever larger pages, since only newer gateways can page back.
final class OutboxScan {
    private static let pages = [50, 200, 1000]
    /// Gateways let old rows fall off a page of 6 MiB.
    private static let wholeBytes = 4 << 20

    /// Result of one look.
    enum Finding {
        case report(ScanReport)
        /// The row is there, and the gateway refused to run its message.
        case refused(reason: String)
    }

    private let order: ScanOrder
    private unowned let gateway: any GatewayCalls
    private let transcript: TranscriptReader
    private let scan: HistoryScan
    private var step = 0
    private var rowsBefore: Int?

    init(_ order: ScanOrder, transcript: TranscriptReader, gateway: any GatewayCalls) {
        self.order = order
        self.gateway = gateway
        self.transcript = transcript
        scan = HistoryScan(
            key: order.entry.upstreamKey,
            text: InboundEnvelope.stripped(order.entry.text ?? ""),
            // Rows bear the gateway's time.
            since: order.since.adding(milliseconds: gateway.clockSkewMs),
            sameText: order.sameText,
            sameTextBefore: order.sameTextBefore
        )
    }

    func start(on loop: isolated EventLoop, then answer: @escaping (Finding) -> Void) {
        ask(on: loop, then: answer)
    }

    private func ask(on loop: isolated EventLoop, then answer: @escaping (Finding) -> Void) {
        transcript.read(order.entry.session, rows: Self.pages[step], on: loop) { [self] result in
            guard case .success(let page) = result else { return answer(.report(.failed)) }
            let found = scan.report(
                on: Self.rows(page.rows),
                isWhole: Self.isWhole(page, rowsBefore: rowsBefore),
                hasActiveRun: page.inFlightRunId != nil || page.hasActiveRun == true
            )
            if let row = found.row, !order.entry.isSlashCommand {
                return judge(row, found, page, on: loop, then: answer)
            }
            rowsBefore = page.messageCount
            step += 1
            if found.isComplete || found.proof == .history || step == Self.pages.count { return answer(.report(found)) }
            ask(on: loop, then: answer)
        }
    }

    /// Asks what became of the message whose row was found. A process that does not know its key is not the one that took it, or has
    /// forgotten; then the page has to tell.
    private func judge(
        _ row: OwnRow,
        _ found: ScanReport,
        _ page: ChatHistory.Output,
        on loop: isolated EventLoop,
        then answer: @escaping (Finding) -> Void
    ) {
        gateway.call(AgentWait(runId: order.entry.upstreamKey), on: loop) { result in
            switch result {
            case .success(.failed(let reason?)) where GatewayError.isSessionConflict(reason):
                answer(.refused(reason: reason))
            // A refusal takes its time between the row and the end.
            case .success(.running) where Self.isUnrun(row, page):
                answer(.report(ScanReport(isComplete: false, hasActiveRun: true)))
            case .success(.ended), .success(.failed), .success(.running): answer(.report(found))
            case .success(.unknown): answer(Self.finding(row, found, page))
            case .failure(.gateway(let error, _)) where error.retryable != true: answer(Self.finding(row, found, page))
            case .failure: answer(.report(.failed))
            }
        }
    }

    private static func finding(_ row: OwnRow, _ found: ScanReport, _ page: ChatHistory.Output) -> Finding {
        if row.isAnswered { return .report(found) }
        let unknown = ScanReport(isComplete: false, hasActiveRun: page.hasActiveRun == true)
        // The run under way may be its own, which another process has taken up.
        if page.hasActiveRun == true { return .report(unknown) }
        guard isUnrun(row, page) else { return .report(row.isLast ? found : unknown) }
        // A run that was interrupted may be that of a row before the newest.
        return page.lastRunEnd == nil ? .report(unknown) : .refused(reason: notRun)
    }

    /// No run has begun in the session since its newest message was sent. As the start of one that it refuses, 2026.6.11 notes the
    /// time of the message itself.
    private static func isUnrun(_ row: OwnRow, _ page: ChatHistory.Output) -> Bool {
        guard let start = page.lastRunStart, let sent = row.newestAt else { return false }
        return start < sent || (start == sent && page.lastRunEnd == .failed)
    }

    private static let notRun = "no run has begun in its session since it was sent"

    /// Rows that nobody is to see are taken out after the newest were counted off: fewer than were asked for may not be all.
    /// Where the gateway does not say so, they are when asking for more brings no more.
    static func isWhole(_ page: ChatHistory.Output, rowsBefore: Int?) -> Bool {
        if let hasMore = page.hasMore { return !hasMore }
        return page.messageCount == rowsBefore && page.byteCount < wholeBytes
    }

    static func rows(_ rows: [HistoryRow]) -> [HistoryScan.Row] {
        rows.map { row in
            // Its own key first: the run that a row names may be the gateway's, which answers it under an id of its own.
            HistoryScan.Row(
                key: row.idempotencyKey ?? row.runKey,
                isUser: row.role == .user,
                text: row.words,
                at: row.time,
                isAnswer: row.role == .assistant || row.role == .toolResult,
                isResumption: row.resumesTurn
            )
        }
    }
}
