package import Basics
package import Gateway
package import JSONBytes

/// A job that the gateway runs on a schedule, as Ladle shows it. Its text and command may hold secrets and are kept
/// apart from the rest.
package struct Automation: Sendable, Equatable {
    /// The last run that ended.
    package struct LastRun: Sendable, Equatable {
        let at: Timestamp
        let status: String
        let durationMs: Int64?
        let error: String?
        let wasDelivered: Bool?
    }

    /// In bytes, per text shown.
    static let longestText = 512

    package let id: String
    package let name: String
    let explanation: String?
    package let agent: String?
    package let session: String?
    package let isEnabled: Bool
    let deletesAfterRun: Bool
    let createdAt: Timestamp?
    let updatedAt: Timestamp?
    let schedule: CronJob.Schedule
    let target: String?
    /// The kind of the work, in the API's words.
    let kind: String
    /// Nil for a job that was read from the database, which has no texts.
    let work: CronJob.Work?
    package internal(set) var nextRunAt: Timestamp?
    package internal(set) var runningSince: Timestamp?
    package internal(set) var last: LastRun?
    var failures: Int64

    /// - Parameter session: the canonical key of the session the job is bound to.
    init(_ job: CronJob, session: String?) {
        id = job.id
        name = job.name.map { $0.shown(bytes: Self.longestText) } ?? job.id
        explanation = job.explanation.map { $0.shown(bytes: Self.longestText) }
        agent = job.agentId
        self.session = session
        isEnabled = job.isEnabled
        deletesAfterRun = job.deletesAfterRun
        createdAt = job.createdAt
        updatedAt = job.updatedAt
        schedule = job.schedule
        target = job.target
        kind = job.work.kind
        work = job.work
        nextRunAt = job.isEnabled ? job.state.nextRunAt : nil
        runningSince = job.state.runningAt
        failures = job.state.failures
        last = job.state.lastRunAt.map { at in
            LastRun(
                at: at,
                status: job.state.lastStatus ?? "unknown",
                durationMs: job.state.lastDurationMs,
                error: job.state.lastError.map(Self.shownError),
                wasDelivered: job.state.wasDelivered
            )
        }
    }

    /// The error's text without file paths, since gateway errors name files of its host.
    static func shownError(_ text: String) -> String {
        HostPaths.removed(from: text).shown(bytes: longestText)
    }

    /// Takes over the run's state from an event that does not carry the whole job.
    mutating func note(_ event: CronEvent, now: Timestamp) {
        switch event.action {
        case "started": runningSince = event.runAt ?? now
        case "finished":
            runningSince = nil
            failures = event.status == "error" ? failures + 1 : 0
            nextRunAt = event.nextRunAt ?? nextRunAt
            last = LastRun(
                at: event.runAt ?? now,
                status: event.status ?? "unknown",
                durationMs: event.durationMs,
                error: event.error.map(Self.shownError),
                wasDelivered: nil
            )
        default: break
        }
    }

    /// Whether the last run is the one whose end the event reports, or a later one.
    func knows(_ event: CronEvent) -> Bool {
        guard let last else { return false }
        return event.runAt.map { last.at >= $0 } ?? true
    }

    /// Whether the parts set by people are equal; runs do not change these.
    func isDefined(as other: Automation) -> Bool {
        (name, isEnabled, schedule, target, work) == (
            other.name, other.isEnabled, other.schedule, other.target, other.work
        )
            && (explanation, agent, session) == (other.explanation, other.agent, other.session)
    }

    /// The bytes of the job's definition, for a tag. They include the job's text, so the tag hashes them with a secret.
    package var definition: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("enabled", isEnabled)
            object.member("work", String(reflecting: work))
            object.member("schedule", String(reflecting: schedule))
            object.member("target", target)
            object.member("session", session)
        }
        return writer.bytes
    }

    // MARK: JSON

    /// - Parameter showsWork: whether to include the job's text, where it is known.
    package func write(to writer: inout JSONWriter, showsWork: Bool = false) {
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("description", explanation)
            object.member("agent", agent)
            object.member("session", session)
            object.member("enabled", isEnabled)
            object.member("kind", kind)
            object.key("schedule")
            schedule.write(to: &object)
            object.member("target", target)
            object.member("deleteAfterRun", deletesAfterRun ? true : nil)
            object.member("nextRunAt", nextRunAt)
            object.member("running", runningSince != nil)
            object.member("runningSince", runningSince)
            if let last {
                object.object("last") { run in
                    run.member("at", last.at)
                    run.member("status", last.status)
                    run.member("durationMs", last.durationMs)
                    run.member("error", last.error)
                    run.member("delivered", last.wasDelivered)
                }
            }
            object.member("failures", failures)
            object.member("createdAt", createdAt)
            object.member("updatedAt", updatedAt)
            if showsWork { work?.write(to: &object) }
        }
    }
}

extension CronJob.Work {
    /// The kind's name in the API.
    var kind: String {
        switch self {
        case .event: "event"
        case .message: "message"
        case .command: "command"
        case .other: "other"
        }
    }

    /// Writes the text. Commands, folders and environments are not even read.
    fileprivate func write(to object: inout JSONWriter) {
        switch self {
        case .event(let text): object.object("payload") { $0.member("text", text.cut(toBytes: Self.longest)) }
        case .message(let text, let model, let thinking):
            object.object("payload") { payload in
                payload.member("text", text.cut(toBytes: Self.longest))
                payload.member("model", model)
                payload.member("thinking", thinking)
            }
        case .command, .other: break
        }
    }

    private static let longest = 16 << 10
}

extension CronJob.Schedule: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            switch self {
            case .at(let time):
                object.member("kind", "at")
                object.member("text", time.map { "once at \($0.rfc3339)" } ?? "once")
                object.member("at", time)
            case .every(let milliseconds):
                object.member("kind", "every")
                object.member("text", "every \(Self.text(milliseconds))")
                object.member("everyMs", milliseconds)
            case .cron(let expression, let zone):
                object.member("kind", "cron")
                object.member("text", [expression, zone].compactMap(\.self).joined(separator: " "))
                object.member("expression", expression)
                object.member("timeZone", zone)
            case .other(let kind):
                object.member("kind", "other")
                object.member("text", kind)
            }
        }
    }

    /// `30m`, `1h`, `90s`: in the largest unit that divides the duration evenly.
    private static func text(_ milliseconds: Int64) -> String {
        let units: [(String, Int64)] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)]
        for (name, length) in units where milliseconds >= length && milliseconds % length == 0 {
            return "\(milliseconds / length)\(name)"
        }
        return "\(milliseconds)ms"
    }
}

/// An ended run of a job.
package struct AutomationRun: Sendable, Equatable {
    package let id: String?
    package let endedAt: Timestamp?
    let startedAt: Timestamp?
    let status: String
    let error: String?
    /// The run's result text; for some jobs it is the same every time.
    let summary: String?
    let durationMs: Int64?
    let session: String?
    let wasDelivered: Bool?
    let model: String?
    let tokens: Int64?

    init(_ run: CronJobRun, session: String?) {
        id = run.runId
        endedAt = run.endedAt
        startedAt = run.startedAt
        status = run.status ?? "unknown"
        error = run.error.map(Automation.shownError)
        summary = run.summary?.cut(toBytes: 4_096)
        durationMs = run.durationMs
        self.session = session
        wasDelivered = run.wasDelivered
        model = run.model.map { model in run.provider.map { "\($0)/\(model)" } ?? model }
        tokens = run.totalTokens
    }

    package func write(to writer: inout JSONWriter, showsWork: Bool) {
        writer.object { object in
            object.member("id", id)
            object.member("status", status)
            object.member("startedAt", startedAt)
            object.member("endedAt", endedAt)
            object.member("durationMs", durationMs)
            object.member("error", error)
            object.member("session", session)
            object.member("delivered", wasDelivered)
            object.member("model", model)
            object.member("tokens", tokens)
            if showsWork { object.member("summary", summary) }
        }
    }
}
