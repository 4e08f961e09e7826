import Access
import Basics
import EventLoops
import HTTPModel
import Observability
import Outbox
import Server

/// What the log says of requests and entries. Reads that worked leave no line; a problem always does, with the id that
/// stands in it.
extension HTTPAPI {
    func log(_ exchange: Exchange, _ call: Call?, on loop: isolated EventLoop) {
        let code = exchange.status?.code ?? 0
        let level: LogLevel = code >= 500 ? .warning : .info
        guard settings.log.admits(level) else { return }
        let isRefused = exchange.problemCode != nil
        var suppressed: UInt64 = 0
        if isRefused {
            guard let left = refusedLines.take(now: loop.now) else { return }
            suppressed = left
        }
        settings.log.write(
            level,
            isRefused ? "request.refused" : "request.done",
            [
                "request": .string(exchange.requestID),
                "operation": .string(call?.route.operation),
                "path": call == nil
                    ? .string(String(decoding: exchange.head.path.prefix(120), as: UTF8.self)) : .absent,
                "subject": .string(call?.subject ?? call?.parameters.first),
                "status": code == 0 ? .absent : .int(code),
                "code": .string(exchange.problemCode?.rawValue),
                "who": .string(call?.caller.label),
                "from": .string("\(exchange.connection.remote)"),
                "ms": .int((max(loop.now, exchange.startedAt) - exchange.startedAt) / 1_000_000),
                "suppressed": suppressed > 0 ? .int(suppressed) : .absent,
            ]
        )
    }

    func logRefusal(
        _ problem: Problem,
        _ requestID: String,
        _ connection: ConnectionInfo,
        on loop: isolated EventLoop
    ) {
        guard settings.log.admits(.info), let suppressed = refusedLines.take(now: loop.now) else { return }
        settings.log.info(
            "request.refused",
            [
                "request": .string(requestID), "status": .int(problem.status.code),
                "code": .string(problem.code.rawValue),
                "from": .string("\(connection.remote)"), "suppressed": suppressed > 0 ? .int(suppressed) : .absent,
            ]
        )
    }

    /// Without tailscaled's word nobody of the tailnet gets in, which would look like a list that allows too little.
    func logSilence(of question: WhoisQuestion, _ reason: String, on loop: isolated EventLoop) {
        silences += 1
        guard let suppressed = silentLines.take(now: loop.now) else { return }
        settings.log.warning(
            "tailnet.unanswered",
            [
                "from": .string(question.address.description), "error": .string(reason),
                "suppressed": suppressed > 0 ? .int(suppressed) : .absent,
            ]
        )
    }

    /// An entry that came to its end, or to a person.
    func log(_ entry: OutboxEntry) {
        guard entry.state.isTerminal || entry.state == .unconfirmed else { return }
        let isDone = entry.state == .delivered || entry.state == .cancelled
        settings.log.write(
            isDone ? .info : .warning,
            "outbox.\(entry.state.rawValue)",
            [
                "entry": .string(entry.id), "session": .string(entry.session), "attempts": .int(entry.attemptCount),
                "code": .string(entry.fault?.code), "detail": .string(entry.fault?.detail),
            ]
        )
    }
}
