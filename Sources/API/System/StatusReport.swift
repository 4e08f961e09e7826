import Basics
import EventStream
import Gateway
import JSONBytes
import Outbox
import Service
import Upstream

/// What `GET /v1/status` answers, as JSON or as the screenful a person wants.
struct StatusReport: JSONWritable, Equatable {
    let version: String
    let startedAt: Timestamp
    let isDemo: Bool
    let link: LinkStatus
    let outbox: OutboxSummary
    let activeRuns: Int
    let first: EventID?
    let last: EventID
    let subscribers: Int
    let connections: ConnectionLimit

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("version", version)
            object.member("startedAt", startedAt)
            object.member("demo", isDemo)
            object.member("link", link)
            object.object("outbox") { inner in
                inner.member("pending", outbox.pending)
                inner.member("unconfirmed", outbox.unconfirmed)
                inner.member("failed", outbox.failed)
                inner.member("oldestAgeMs", outbox.oldestAgeMilliseconds)
                inner.member("fault", outbox.fault)
                inner.object("attempts") { list in
                    for outcome in AttemptClass.allCases {
                        list.member(outcome.rawValue, Int64(clamping: outbox.attempts[outcome] ?? 0))
                    }
                }
            }
            object.object("runs") { $0.member("active", activeRuns) }
            object.object("events") { inner in
                inner.member("epoch", last.epoch.text)
                inner.member("first", first?.text)
                inner.member("last", last.text)
                inner.member("subscribers", subscribers)
            }
            object.object("connections") { inner in
                inner.member("limit", connections.inForce)
                inner.member("configured", connections.configured)
            }
        }
    }

    func text(now: Timestamp) -> String {
        var lines = [
            "ladle \(version)\(isDemo ? " (demo)" : ""), up \(Self.duration(now.milliseconds - startedAt.milliseconds))"
        ]
        lines.append("link      \(link.state.rawValue)\(link.code.map { " (\($0))" } ?? "")")
        lines.append("          \(link.detail)")
        if let hint = link.hint { lines.append("          \(hint)") }
        if let url = link.url { lines.append("gateway   \(url)\(link.gatewayVersion.map { ", \($0)" } ?? "")") }
        lines.append("scopes    \(link.scopes.isEmpty ? "none" : link.scopes.joined(separator: ", "))")
        let age = outbox.oldestAgeMilliseconds.map { ", oldest waits \(Self.duration($0))" } ?? ""
        lines.append(
            "outbox    \(outbox.pending) pending, \(outbox.unconfirmed) unconfirmed, \(outbox.failed) failed\(age)"
        )
        if let fault = outbox.fault {
            lines.append("          nothing is sent: what waits could not be read: \(fault)")
        }
        lines.append("runs      \(activeRuns == 0 ? "idle" : "\(activeRuns) active")")
        lines.append("events    \(last.text), \(subscribers) subscribed")
        return lines.joined(separator: "\n") + "\n"
    }

    static func duration(_ milliseconds: Int64) -> String {
        let seconds = max(0, milliseconds / 1000)
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min" }
        if seconds < 86_400 { return "\(seconds / 3600) h \(seconds / 60 % 60) min" }
        return "\(seconds / 86_400) d \(seconds / 3600 % 24) h"
    }
}
