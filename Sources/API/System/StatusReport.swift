import Access
import Basics
import EventLoops
import EventStream
import JSONBytes
import Observability
import Outbox
import ReadableText
import Runs
import Service

/// The answer of `GET /v1/status`, as JSON or as text. A caller limited to sessions gets figures of those sessions and
/// of its own streams.
struct StatusReport: JSONWritable, Equatable {
    let version: String
    let startedAt: Timestamp
    let isDemo: Bool
    let link: LinkStatus
    let outbox: OutboxSummary
    let activeRuns: Int
    /// The reason why the link stays closed: the runs or messages of the earlier process could not be read.
    let runsFault: String?
    let pendingApprovals: Int
    let notifications: NotificationService.Summary
    /// Devices that wait for the gateway's operator; nil if the link may not see them.
    let pendingDevices: Int?
    let first: EventID?
    let last: EventID
    let subscribers: Int
    let connections: ConnectionLimit
    /// The listeners in the syntax of `--listen`.
    let listeners: [String]
    /// Nil without an MQTT broker.
    let broker: BrokerCondition?
    /// Nil without TLS.
    let tls: CertificateReport?

    private let isLimited: Bool

    init(_ api: HTTPAPI, for caller: Caller, on loop: isolated EventLoop) {
        isLimited = caller.sessions != nil
        version = api.settings.version
        startedAt = api.startedAt
        isDemo = api.settings.isDemo
        link = api.services.gateway.status.shown(to: caller)
        outbox = api.outbox.summary(of: caller.sessions, now: loop.wallClock)
        // The same runs as in `/v1/activity` and the metrics, including sends that wait for their turn.
        activeRuns = isLimited ? api.services.activity(for: caller).runs.count : api.runs.activeCount
        runsFault = api.runs.fault ?? api.services.messages.fault
        pendingApprovals = api.services.approvals.pendingCount(of: caller.sessions)
        notifications = api.services.notifications.summary
        pendingDevices = api.services.devicePairing.pendingCount
        first = api.feed.oldest
        last = api.hub.last
        subscribers = isLimited ? api.hub.count(of: caller) : api.hub.count
        connections = api.settings.connections
        listeners = api.rules.listening.map { address in
            if case .unix(let path) = address { "unix:\(path)" } else { "\(address)" }
        }
        broker = api.services.broker?.condition(on: loop)
        tls = api.settings.tls()
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
                if outbox.refused > 0 {
                    inner.member("refused", outbox.refused)
                    inner.member("hint", OutboxFault.sessionConflictCure)
                }
                inner.member("oldestAgeMs", outbox.oldestAgeMilliseconds)
                inner.member("fault", outbox.fault)
                inner.member("closed", outbox.closed)
                // Attempts are counted only for all sessions together.
                if isLimited { return }
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
            object.object("approvals") { $0.member("pending", pendingApprovals) }
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
            object.array("listeners", of: listeners)
            if isLimited { return }
            object.member("tls", tls)
            object.member("notifications", notifications)
            object.member("mqtt", broker)
            object.object("pairing") { inner in
                inner.key("pending")
                if let pendingDevices { inner.int(pendingDevices) } else { inner.null() }
            }
        }
    }

    func text(now: Timestamp) -> String {
        guard let status = AnswerForm.of(self) else { return "" }
        let lines = StatusText.lines(status, .plain, ReadableTime(now: now.milliseconds))
        return lines.joined(separator: "\n") + "\n"
    }
}
