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

    private let order: ScanOrder
    private let transcript: TranscriptReader
    private let scan: HistoryScan
    private var step = 0
    private var rowsBefore: Int?

    init(_ order: ScanOrder, transcript: TranscriptReader, clockSkewMs: Int64) {
        self.order = order
        self.transcript = transcript
        scan = HistoryScan(
            key: order.entry.upstreamKey,
            text: InboundEnvelope.stripped(order.entry.text ?? ""),
            // Rows bear the gateway's time.
            since: order.since.adding(milliseconds: clockSkewMs),
            sameText: order.sameText,
            sameTextBefore: order.sameTextBefore
        )
    }

    func start(on loop: isolated EventLoop, then report: @escaping (ScanReport) -> Void) {
        ask(on: loop, then: report)
    }

    private func ask(on loop: isolated EventLoop, then report: @escaping (ScanReport) -> Void) {
        transcript.read(order.entry.session, rows: Self.pages[step], on: loop) { [self] result in
            guard case .success(let page) = result else { return report(.failed) }
            let found = scan.report(
                on: Self.rows(page.rows),
                isWhole: Self.isWhole(page, rowsBefore: rowsBefore),
                hasActiveRun: page.inFlightRunId != nil || page.hasActiveRun == true
            )
            rowsBefore = page.messageCount
            step += 1
            if found.isComplete || found.proof == .history || step == Self.pages.count { return report(found) }
            ask(on: loop, then: report)
        }
    }

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
                isResumption: row.resumesTurn
            )
        }
    }
}
