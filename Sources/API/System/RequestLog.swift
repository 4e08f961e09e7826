import Access
import Basics
import EventLoops
import HTTPModel
import Observability
import Outbox
import Server

/// Counts requests and writes their log lines. Successful reads leave no line; a problem always does, with the id from
/// its document.
final class RequestLog {
    private let log: Log
    private var tally: RequestTally
    /// Limits lines about refused requests, for all callers together.
    private var refusedLines = LogBudget()
    private var unansweredLines = LogBudget()
    /// Questions that tailscaled did not answer.
    private var unanswered: UInt64 = 0

    init(_ log: Log, routes: [Route]) {
        self.log = log
        tally = RequestTally(routes: routes)
    }

    /// Called once per request, when the status of its answer or stream is known.
    func count(_ call: Call) {
        guard !call.isCounted else { return }
        call.isCounted = true
        tally.count(call.exchange, place: call.request.place)
    }

    /// Counts a request without a route.
    func count(_ exchange: Exchange) {
        tally.count(exchange, place: nil)
    }

    func write(to page: inout MetricsPage) {
        tally.write(to: &page)
        page.counter("ladle_tailnet_silences", "Callers refused because tailscaled did not answer.", unanswered)
    }

    // MARK: Lines

    func finished(_ exchange: Exchange, _ call: Call?, on loop: isolated EventLoop) {
        let code = exchange.status?.code ?? 0
        let level: LogLevel = code >= 500 ? .warning : .info
        guard log.admits(level) else { return }
        let isRefused = exchange.problemCode != nil
        var suppressed: UInt64 = 0
        if isRefused {
            guard let left = refusedLines.take(now: loop.now) else { return }
            suppressed = left
        }
        log.write(
            level,
            isRefused ? "request.refused" : "request.done",
            [
                "request": .string(exchange.requestID),
                "operation": .string(call?.route.operation),
                "path": call == nil
                    ? .string(String(decoding: exchange.head.path.prefix(120), as: UTF8.self)) : .absent,
                "subject": .string((call?.subject ?? call?.parameters.first).map(TokenText.masked)),
                "status": code == 0 ? .absent : .int(code),
                "code": .string(exchange.problemCode?.rawValue),
                "who": .string(call?.caller.label),
                "from": .string("\(exchange.connection.remote)"),
                "ms": .int((max(loop.now, exchange.startedAt) - exchange.startedAt) / 1_000_000),
                "suppressed": suppressed > 0 ? .int(suppressed) : .absent,
            ]
        )
    }

    /// Logs a connection that was refused before its first request.
    func refused(_ problem: Problem, _ requestID: String, _ connection: ConnectionInfo, on loop: isolated EventLoop) {
        guard log.admits(.info), let suppressed = refusedLines.take(now: loop.now) else { return }
        log.info(
            "request.refused",
            [
                "request": .string(requestID), "status": .int(problem.status.code),
                "code": .string(problem.code.rawValue), "from": .string("\(connection.remote)"),
                "suppressed": suppressed > 0 ? .int(suppressed) : .absent,
            ]
        )
    }

    /// Logs that tailscaled did not answer. Nobody of the tailnet gets in then, which would otherwise look like too
    /// strict a list.
    func unanswered(_ question: WhoisQuestion, _ reason: String, on loop: isolated EventLoop) {
        unanswered += 1
        guard let suppressed = unansweredLines.take(now: loop.now) else { return }
        log.warning(
            "tailnet.unanswered",
            [
                "from": .string(question.address.description), "error": .string(reason),
                "suppressed": suppressed > 0 ? .int(suppressed) : .absent,
            ]
        )
    }

    /// Logs an entry that reached its final state or needs a person.
    func changed(_ entry: OutboxEntry) {
        guard entry.state.hasEnded || entry.state == .unconfirmed else { return }
        let isDone = entry.state == .delivered || entry.state == .cancelled
        log.write(
            isDone ? .info : .warning,
            "outbox.\(entry.state.rawValue)",
            [
                "entry": .string(entry.id), "session": .string(entry.session), "attempts": .int(entry.attemptCount),
                "code": .string(entry.fault?.code), "detail": .string(entry.fault?.detail),
            ]
        )
    }
}
