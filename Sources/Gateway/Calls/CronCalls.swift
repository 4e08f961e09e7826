package import JSONBytes

/// One page of the gateway's jobs.
package struct CronList: GatewayCall {
    package struct Page: Sendable {
        package let jobs: [CronJob]
        /// The offset of the next page; nil on the last.
        package let nextOffset: Int?
    }

    package static let method = "cron.list"
    /// The largest page that every release returns.
    static let pageSize = 200
    package var offset: Int

    package init(offset: Int = 0) { self.offset = offset }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("includeDisabled", true)
        writer.member("limit", Self.pageSize)
        if offset > 0 { writer.member("offset", offset) }
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Page {
        guard let rows = payload["jobs"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "jobs")
        }
        return Page(
            jobs: rows.elements.prefix(GatewayLimits.automations).compactMap { CronJob($0) },
            nextOffset: payload["nextOffset"]?.int.flatMap { Int(exactly: $0) }
        )
    }
}

/// Ended runs of a job, newest first.
package struct CronRuns: GatewayCall {
    package struct Page: Sendable {
        package let runs: [CronJobRun]
        package let hasMore: Bool
    }

    package static let method = "cron.runs"
    package var id: String
    package var limit: Int
    package var offset: Int

    package init(id: String, limit: Int, offset: Int) {
        self.id = id
        self.limit = limit
        self.offset = offset
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("limit", limit)
        writer.member("offset", offset)
        writer.member("sortDir", "desc")
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Page {
        guard let rows = payload["entries"], rows.kind == .array else {
            throw GatewayShapeError(method: method, missing: "entries")
        }
        return Page(
            runs: rows.elements.prefix(GatewayLimits.automations).map { CronJobRun($0) },
            hasMore: payload["hasMore"]?.bool ?? false
        )
    }
}

/// Runs a job now, regardless of its schedule. Releases of protocol 3 answer when the run has ended, later ones at
/// once.
package struct CronRun: GatewayCall {
    package struct Answer: Sendable {
        /// The gateway's id of this run; earlier releases have none.
        package let runId: String?
        /// The reason why the job does not run; nil if it does.
        package let refusal: String?
        /// The run's end, if it was waited for and came in time.
        package let end: CronJobRun?
    }

    package static let method = "cron.run"
    /// An agent's run may take 30 minutes.
    package var timeoutMs: Int64 { 1_860_000 }
    package var id: String
    /// How long the gateway waits for the run's end before it answers. Gateways before 2026.9 refuse this member.
    package var waitMs: Int64?

    package init(id: String, waitMs: Int64? = nil) {
        self.id = id
        self.waitMs = waitMs
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("mode", "force")
        writer.member("waitTimeoutMs", waitMs)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> Answer {
        let runs = payload["enqueued"]?.bool ?? payload["ran"]?.bool ?? true
        return Answer(
            runId: payload["runId"]?.identifier,
            refusal: runs ? nil : payload["reason"]?.identifier ?? "not run",
            end: payload["run"].flatMap { $0.kind == .object ? CronJobRun($0) : nil }
        )
    }
}

/// Switches a job on or off.
package struct CronEnable: GatewayCall {
    package static let method = "cron.update"
    package var id: String
    package var isEnabled: Bool

    package init(id: String, isEnabled: Bool) {
        self.id = id
        self.isEnabled = isEnabled
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.object("patch") { $0.member("enabled", isEnabled) }
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) -> CronJob? { CronJob(payload) }
}

/// Adds a line to the agent's next turn, or starts a turn now. No answer tells the result.
package struct Wake: GatewayCall {
    package static let method = "wake"
    /// `now` or `next-heartbeat`.
    package var mode: String
    package var text: String
    /// Nil for the main session. Releases of protocol 3 refuse this member.
    package var sessionKey: String?

    package init(mode: String, text: String, sessionKey: String?) {
        self.mode = mode
        self.text = text
        self.sessionKey = sessionKey
    }

    package func writeParams(to writer: inout JSONWriter) {
        writer.member("mode", mode)
        writer.member("text", text)
        writer.member("sessionKey", sessionKey)
    }

    package static func output(from payload: JSONValue) throws(GatewayShapeError) {}
}

/// The reason why a job was not run or changed.
package enum CronRefusal: Sendable, Equatable {
    case unknown
    case running
}

extension GatewayError {
    /// Nil for every other error.
    package var cronRefusal: CronRefusal? {
        if message.contains("id not found") || message.hasPrefix("unknown cron job") { return .unknown }
        return message.contains("already running") || detailsReason == "already-running" ? .running : nil
    }
}
