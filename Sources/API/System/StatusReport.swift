import Basics
import EventLoops
import EventStream
import JSONBytes
import Observability
import Outbox
import ReadableText
import Service

/// The answer of `GET /v1/status`, as JSON or as text.
struct StatusReport: JSONWritable, Equatable {
    let version: String
    let startedAt: Timestamp
    let isDemo: Bool
    let link: LinkStatus
    let outbox: OutboxSummary
    let activeRuns: Int
    /// Why the link stays closed: the runs of the earlier process could not be read.
    let runsFault: String?
    let first: EventID?
    let last: EventID
    let subscribers: Int
    let connections: ConnectionLimit

    init(_ api: HTTPAPI, on loop: isolated EventLoop) {
        version = api.settings.version
        startedAt = api.startedAt
        isDemo = api.settings.isDemo
        link = api.services.gateway.status
        outbox = api.outbox.summary(now: loop.wallClock)
        // The runs of `/v1/activity` and of the metrics: with sends that wait for their turn.
        activeRuns = api.runs.activeCount
        runsFault = api.runs.fault
        first = api.feed.oldest
        last = api.hub.last
        subscribers = api.hub.count
        connections = api.settings.connections
    }

    func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("version", version)
            object.member("startedAt", startedAt)
            object.member("demo", isDemo)
            object.member("link", link)
            object.object("outbox") { inner in
                inner.member("pending", outbox.counts.pending)
                inner.member("unconfirmed", outbox.counts.unconfirmed)
                inner.member("failed", outbox.counts.failed)
                inner.member("oldestAgeMs", outbox.oldestAgeMilliseconds)
                inner.member("fault", outbox.fault)
                inner.object("attempts") { list in
                    for outcome in AttemptClass.allCases {
                        list.member(outcome.rawValue, Int64(clamping: outbox.attempts[outcome] ?? 0))
                    }
                }
            }
            object.object("runs") { inner in
                inner.member("active", activeRuns)
                inner.member("fault", runsFault)
            }
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
        var writer = JSONWriter()
        write(to: &writer)
        guard let status = try? JSONDocument(parsing: writer.bytes).root else { return "" }
        let lines = StatusText.lines(status, .plain, ReadableTime(now: now.milliseconds))
        return lines.joined(separator: "\n") + "\n"
    }
}
