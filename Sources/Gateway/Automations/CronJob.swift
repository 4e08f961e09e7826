package import Basics
package import JSONBytes

/// A job as `cron.list` and the event `cron` describe it.
package struct CronJob: Sendable {
    package enum Schedule: Sendable, Equatable {
        case at(Timestamp?)
        case every(milliseconds: Int64)
        case cron(expression: String, timeZone: String?)
        /// A kind of a later release.
        case other(String)
    }

    /// The work of a job. Texts may hold secrets; the arguments, folder and environment of a command are not even read.
    package enum Work: Sendable, Equatable {
        case event(text: String)
        case message(text: String, model: String?, thinking: String?)
        case command
        /// A kind of a later release.
        case other(String)
    }

    package struct State: Sendable, Equatable {
        package var nextRunAt: Timestamp?
        package var runningAt: Timestamp?
        package var lastRunAt: Timestamp?
        package var lastStatus: String?
        package var lastError: String?
        package var lastDurationMs: Int64?
        package var failures: Int64
        package var wasDelivered: Bool?
    }

    package let id: String
    package let name: String?
    package let explanation: String?
    package let agentId: String?
    package let sessionKey: String?
    package let isEnabled: Bool
    package let deletesAfterRun: Bool
    package let createdAt: Timestamp?
    package let updatedAt: Timestamp?
    package let schedule: Schedule
    /// `main`, `isolated`, `current`, or `session:` and a key.
    package let target: String?
    package let work: Work
    package let state: State

    /// Nil if the job has no id.
    package init?(_ value: JSONValue) {
        guard let id = value["id"]?.visibleIdentifier else { return nil }
        self.id = id
        name = value["name"]?.string
        explanation = value["description"]?.string
        agentId = value["agentId"]?.identifier
        sessionKey = value["sessionKey"]?.identifier
        isEnabled = value["enabled"]?.bool ?? true
        deletesAfterRun = value["deleteAfterRun"]?.bool ?? false
        createdAt = GatewayTime.read(value["createdAtMs"])
        updatedAt = GatewayTime.read(value["updatedAtMs"])
        schedule = Schedule(value["schedule"])
        target = value["sessionTarget"]?.identifier
        work = Work(value["payload"])
        state = State(value["state"])
    }
}

extension CronJob.Schedule {
    init(_ value: JSONValue?) {
        switch value?["kind"]?.string {
        case "at": self = .at(GatewayTime.read(value?["at"]))
        case "every": self = .every(milliseconds: GatewayTime.duration(value?["everyMs"]) ?? 0)
        case "cron":
            self = .cron(expression: value?["expr"]?.identifier ?? "", timeZone: value?["tz"]?.identifier)
        case let kind: self = .other(kind?.cut(toBytes: GatewayLimits.identifierBytes) ?? "unknown")
        }
    }
}

extension CronJob.Work {
    init(_ value: JSONValue?) {
        switch value?["kind"]?.string {
        case "systemEvent": self = .event(text: value?["text"]?.string ?? "")
        case "agentTurn":
            self = .message(
                text: value?["message"]?.string ?? "",
                model: value?["model"]?.identifier,
                thinking: value?["thinking"]?.identifier
            )
        case "command", "script": self = .command
        case let kind: self = .other(kind?.cut(toBytes: GatewayLimits.identifierBytes) ?? "unknown")
        }
    }
}

extension CronJob.State {
    init(_ value: JSONValue?) {
        nextRunAt = GatewayTime.read(value?["nextRunAtMs"])
        runningAt = GatewayTime.read(value?["runningAtMs"])
        lastRunAt = GatewayTime.read(value?["lastRunAtMs"])
        lastStatus = (value?["lastRunStatus"] ?? value?["lastStatus"])?.identifier
        lastError = value?["lastError"]?.string
        lastDurationMs = GatewayTime.duration(value?["lastDurationMs"])
        failures = max(value?["consecutiveErrors"]?.int ?? 0, 0)
        wasDelivered =
            value?["lastDelivered"]?.bool ?? value?["lastDeliveryStatus"]?.string.flatMap { CronDelivery.wasMade($0) }
    }
}

/// Whether the result of a run reached the chat that it was meant for.
enum CronDelivery {
    /// Nil if no delivery was requested, or its result is unknown.
    static func wasMade(_ status: String) -> Bool? {
        switch status {
        case "delivered": true
        case "not-delivered": false
        default: nil
        }
    }
}

/// One run of a job, as `cron.runs` lists those that ended.
package struct CronJobRun: Sendable {
    package let jobId: String?
    package let runId: String?
    package let endedAt: Timestamp?
    package let startedAt: Timestamp?
    package let status: String?
    package let error: String?
    package let summary: String?
    package let durationMs: Int64?
    package let sessionKey: String?
    package let wasDelivered: Bool?
    package let model: String?
    package let provider: String?
    package let totalTokens: Int64?

    init(_ value: JSONValue) {
        jobId = value["jobId"]?.identifier
        runId = value["runId"]?.identifier
        endedAt = GatewayTime.read(value["ts"])
        startedAt = GatewayTime.read(value["runAtMs"])
        status = value["status"]?.identifier
        error = value["error"]?.string
        summary = value["summary"]?.string
        durationMs = GatewayTime.duration(value["durationMs"])
        sessionKey = value["sessionKey"]?.identifier
        // Without a requested delivery, later releases still answer `delivered: false`.
        let told = value["deliveryStatus"]?.string
        wasDelivered = told.map { CronDelivery.wasMade($0) } ?? value["delivered"]?.bool
        model = value["model"]?.identifier
        provider = value["provider"]?.identifier
        totalTokens = value["usage"]?["total_tokens"]?.int
    }
}
