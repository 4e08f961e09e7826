import Basics
import EventLoops
import JSONBytes
import Outbox
import Upstream

/// Looks for one entry in a session's history: ever larger pages, since only newer gateways can page back.
final class OutboxScan {
    private static let pages = [50, 200, 1000]

    private let order: ScanOrder
    private let link: UpstreamLink
    private var step = 0

    init(_ order: ScanOrder, link: UpstreamLink) {
        self.order = order
        self.link = link
    }

    func start(on loop: isolated EventLoop, then report: @escaping (ScanReport) -> Void) {
        ask(on: loop, then: report)
    }

    private func ask(on loop: isolated EventLoop, then report: @escaping (ScanReport) -> Void) {
        let limit = Self.pages[min(step, Self.pages.count - 1)]
        let call = ChatHistory(sessionKey: order.entry.session, limit: limit)
        link.call(call, on: loop) { [self] result in
            guard case .success(let page) = result else {
                return report(ScanReport(proof: nil, isComplete: false, hasActiveRun: false))
            }
            let isLast = page.messages.count < limit || step + 1 >= Self.pages.count
            var scan = HistoryScan(
                entryID: order.entry.id,
                text: order.entry.text,
                since: order.since,
                twins: order.twins
            )
            let rows = page.messages.reversed().map(Self.row)
            let isWhole = page.messages.count < limit
            if let found = scan.receive(page: rows, hasMore: !isWhole, hasActiveRun: page.inFlightRunId != nil) {
                return report(found)
            }
            guard !isLast else {
                return report(
                    ScanReport(proof: nil, isComplete: false, hasActiveRun: page.inFlightRunId != nil)
                )
            }
            step += 1
            ask(on: loop, then: report)
        }
    }

    private static func row(_ message: JSONValue) -> HistoryRow {
        let inner = message["__openclaw"]
        let content = message["content"]
        let text =
            content?.string
            ?? content?.elements.compactMap { $0["type"]?.equals("text") ?? false ? $0["text"]?.string : nil }
            .joined(separator: "\n")
        return HistoryRow(
            key: message["idempotencyKey"]?.string ?? inner?["idempotencyKey"]?.string,
            isUser: message["role"]?.equals("user") ?? false,
            text: text ?? "",
            at: message["timestamp"]?.int.map { Timestamp(milliseconds: $0) }
        )
    }
}
