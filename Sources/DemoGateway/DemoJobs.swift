import Basics
import JSONBytes

/// The jobs of the demo gateway: a line for the agent every ten minutes, a daily briefing with its own run, and an
/// hourly check that fails.
final class DemoJobs {
    private enum Schedule {
        case every(ms: Int64)
        /// Every day at this minute, in UTC.
        case daily(minute: Int64)
    }

    private enum Work {
        case event(String)
        case message(String)
        /// The job ends with an error.
        case broken(String)
    }

    private final class Job {
        let id: String
        let name: String
        let schedule: Schedule
        let work: Work
        let createdAt: Int64
        var updatedAt: Int64
        var isEnabled = true
        var nextRunAt: Int64?
        var runningAt: Int64?
        var lastRunAt: Int64?
        var lastStatus: String?
        var lastError: String?
        var lastDurationMs: Int64?
        var errors = 0
        /// Rows of `cron.runs`, newest first.
        var runs: [WireValue] = []
        /// Grows with each schedule, so that an earlier timer does nothing.
        var turn = 0

        init(_ id: String, _ name: String, _ schedule: Schedule, _ work: Work, at now: Int64) {
            self.id = id
            self.name = name
            self.schedule = schedule
            self.work = work
            createdAt = now
            updatedAt = now
        }
    }

    /// The most runs kept; a real gateway keeps some thousand.
    private static let mostRuns = 100
    private static let dayMs: Int64 = 86_400_000
    private static let failure = "ENOENT: no such file or directory, open '/home/demo/backups/last.json'"

    private let host: DemoHost
    private let dispatcher: DemoDispatcher
    private var jobs: [Job] = []
    private var runCount = 0

    private var release: DemoRelease { host.release }
    private var clock: DemoClock { host.clock }
    /// Whether the release answers before the run ends, and sends the whole job with each event.
    private var isLater: Bool { release >= .june }

    init(_ host: DemoHost, _ dispatcher: DemoDispatcher) {
        self.host = host
        self.dispatcher = dispatcher
        let now = clock.wallMs
        jobs = [
            Job(
                "5b1f0a7c-2d3e-4f60-8a91-b2c3d4e5f601",
                "Look at the sensors",
                .every(ms: 600_000),
                .event("Look at the sensors of the house."),
                at: now
            ),
            Job(
                "6c2a1b8d-3e4f-4071-9ba2-c3d4e5f60712",
                "Morning briefing",
                .daily(minute: 7 * 60),
                .message("Say what is on today."),
                at: now
            ),
            Job(
                "7d3b2c9e-4f50-4182-8cb3-d4e5f6071823",
                "Check the backup",
                .every(ms: 3_600_000),
                .broken("Read the backup's log. The password is demo-secret."),
                at: now
            ),
        ]
        for job in jobs { plan(job) }
    }

    // MARK: - Schedules

    private func plan(_ job: Job) {
        job.turn += 1
        guard job.isEnabled else {
            job.nextRunAt = nil
            return
        }
        let now = clock.wallMs
        let next: Int64
        switch job.schedule {
        case .every(let length): next = job.createdAt + ((now - job.createdAt) / length + 1) * length
        case .daily(let minute):
            let today = now - now % Self.dayMs + minute * 60_000
            next = today > now ? today : today + Self.dayMs
        }
        job.nextRunAt = next
        let (turn, id) = (job.turn, job.id)
        clock.after(ms: Int(next - now)) { [weak self] in
            guard let self, let job = self[id], job.turn == turn else { return }
            if job.runningAt == nil, self.host.pause == .accepting { self.start(job, by: nil) }
            self.plan(job)
        }
    }

    private subscript(id: String) -> Job? { jobs.first { $0.id == id } }

    // MARK: - Runs

    /// - Parameter ended: called when the run has ended.
    private func start(_ job: Job, by runID: String?, ended: @escaping () -> Void = {}) {
        job.runningAt = clock.wallMs
        tell(job, "started", ["runAtMs": clock.wallMs])
        switch job.work {
        case .event(let text): later { $0.end(job, runID, "ok", text, nil, ended) }
        case .broken: later { $0.end(job, runID, "error", nil, Self.failure, ended) }
        case .message(let text):
            let key = "agent:main:cron:\(job.id)"
            guard let run = dispatcher.startRun(text, in: key) else {
                return later { $0.end(job, runID, "skipped", nil, "the session is busy", ended) }
            }
            follow(run, of: job, runID, key, ended)
        }
    }

    private func later(_ work: @escaping (DemoJobs) -> Void) {
        clock.after(ms: clock.paced(40)) { [weak self] in if let self { work(self) } }
    }

    /// Checks from time to time whether the agent's run has ended.
    private func follow(_ run: String, of job: Job, _ runID: String?, _ key: String, _ ended: @escaping () -> Void) {
        clock.after(ms: max(clock.paced(50), 1)) { [weak self] in
            guard let self else { return }
            guard !self.dispatcher.activeRuns.contains(run) else { return self.follow(run, of: job, runID, key, ended) }
            self.end(job, runID, "ok", "The briefing is done.", nil, session: key, ended)
        }
    }

    private func end(
        _ job: Job,
        _ runID: String?,
        _ status: String,
        _ summary: String?,
        _ error: String?,
        session: String? = nil,
        _ ended: () -> Void
    ) {
        let (now, startedAt) = (clock.wallMs, job.runningAt ?? clock.wallMs)
        job.runningAt = nil
        job.lastRunAt = startedAt
        job.lastStatus = status
        job.lastError = error
        job.lastDurationMs = now - startedAt
        job.errors = status == "error" ? job.errors + 1 : 0
        if isLater { job.updatedAt = now }
        let told: WireValue = [
            "status": status, "error": error, "summary": summary, "deliveryStatus": "not-requested",
            "sessionKey": session, "runId": isLater ? runID : nil, "runAtMs": startedAt, "durationMs": now - startedAt,
            "nextRunAtMs": job.nextRunAt,
        ]
        let row: WireValue = ["ts": now, "jobId": job.id, "action": "finished"]
        job.runs.insert(row.adding(told), at: 0)
        if job.runs.count > Self.mostRuns { job.runs.removeLast() }
        tell(job, "finished", told)
        ended()
    }

    private func tell(_ job: Job, _ action: String, _ more: WireValue = [:]) {
        let event: WireValue = ["jobId": job.id, "action": action, "job": isLater ? row(of: job) : nil]
        host.connections.broadcastToReaders("cron", event.adding(more))
    }

    // MARK: - Calls

    func list(_ request: DemoRequest) -> DemoReply {
        let all = jobs.filter { $0.isEnabled || request.bool("includeDisabled") == true }
        let offset = Int(clamping: request.int("offset") ?? 0)
        let limit = Int(clamping: request.int("limit") ?? 50)
        let page = all.dropFirst(offset).prefix(limit)
        let next = offset + page.count
        let answer: WireValue = [
            "jobs": page.map(row), "total": all.count, "offset": offset, "limit": limit, "hasMore": next < all.count,
            "nextOffset": next < all.count ? .int(Int64(next)) : WireValue.null,
            "deliveryPreviews": isLater ? wireObject([:]) : nil,
        ]
        return .ok(answer)
    }

    func runs(_ request: DemoRequest) -> DemoReply {
        let rows = id(of: request).flatMap { self[$0]?.runs } ?? []
        let offset = Int(clamping: request.int("offset") ?? 0)
        let limit = Int(clamping: request.int("limit") ?? 50)
        let ordered = request.string("sortDir") == "asc" ? rows.reversed() : rows
        let page = Array(ordered.dropFirst(offset).prefix(limit))
        let answer: WireValue = [
            "entries": page, "total": rows.count, "offset": offset, "limit": limit,
            "hasMore": offset + page.count < rows.count,
        ]
        return .ok(answer)
    }

    func run(_ request: DemoRequest) -> DemoReply {
        guard let job = id(of: request).flatMap({ self[$0] }) else { return unknown("cron.run") }
        guard job.runningAt == nil else { return .ok(["ok": true, "ran": false, "reason": "already-running"]) }
        if request.string("mode") == "due", job.nextRunAt.map({ $0 > clock.wallMs }) ?? true {
            return .ok(["ok": true, "ran": false, "reason": "not-due"])
        }
        guard isLater else {
            start(job, by: nil)
            // The March release answers when the run has ended; the demo's short runs take about this long.
            return .later(ms: clock.paced(60), .ok(["ok": true, "ran": true]))
        }
        runCount += 1
        let runID = "manual:\(job.id):\(clock.wallMs):\(runCount)"
        let started: WireValue = ["ok": true, "enqueued": true, "runId": runID]
        guard let wait = request.int("waitTimeoutMs") else {
            clock.after(ms: 0) { [weak self] in self?.start(job, by: runID) }
            return .ok(started)
        }
        // The answer of a run that has not ended by then is not established.
        return .awaited { [weak self] answer in
            var isOpen = true
            func answerOnce(_ value: WireValue) {
                if isOpen { answer(.ok(value)) }
                isOpen = false
            }
            self?.clock.after(ms: Int(clamping: wait)) { answerOnce(started) }
            self?.clock.after(ms: 0) {
                self?.start(job, by: runID) {
                    let run = job.runs.first ?? [:]
                    answerOnce(started.adding(["finished": true, "run": run]))
                }
            }
        }
    }

    func update(_ request: DemoRequest) -> DemoReply {
        guard let job = id(of: request).flatMap({ self[$0] }) else { return unknown("cron.update") }
        if let isEnabled = request.params?["patch"]?["enabled"]?.bool { job.isEnabled = isEnabled }
        job.updatedAt = clock.wallMs
        plan(job)
        tell(job, "updated")
        return .ok(row(of: job))
    }

    /// Has no effect in the demo.
    func wake(_ request: DemoRequest) -> DemoReply { .ok(["ok": true]) }

    private func id(of request: DemoRequest) -> String? { request.string("id") ?? request.string("jobId") }

    private func unknown(_ method: String) -> DemoReply {
        isLater
            ? .invalid("invalid \(method) params: id not found")
            : .failed(DemoError("UNAVAILABLE", "unknown cron job id"))
    }

    private func row(of job: Job) -> WireValue {
        let schedule: WireValue
        switch job.schedule {
        case .every(let length): schedule = ["kind": "every", "everyMs": length, "anchorMs": job.createdAt]
        case .daily(let minute):
            schedule = ["kind": "cron", "expr": "\(minute % 60) \(minute / 60) * * *", "tz": "UTC"]
        }
        let payload: WireValue
        switch job.work {
        case .event(let text): payload = ["kind": "systemEvent", "text": text]
        case .message(let text): payload = ["kind": "agentTurn", "message": text]
        case .broken(let text):
            // Later releases added commands, whose arguments are not shown.
            payload =
                isLater
                ? [
                    "kind": "command", "command": ["/home/demo/bin/check", "--password", "demo-secret"],
                    "cwd": "/home/demo", "env": wireObject(["BACKUP_PASSWORD": "demo-secret"]),
                ] : ["kind": "agentTurn", "message": text]
        }
        var target = "isolated"
        if case .event = job.work { target = "main" }
        let state: WireValue = [
            "nextRunAtMs": job.nextRunAt, "runningAtMs": job.runningAt, "lastRunAtMs": job.lastRunAt,
            "lastRunStatus": job.lastStatus, "lastStatus": job.lastStatus, "lastError": job.lastError,
            "lastDurationMs": job.lastDurationMs, "consecutiveErrors": job.lastRunAt == nil ? nil : job.errors,
        ]
        return [
            "id": job.id, "name": job.name, "enabled": job.isEnabled, "createdAtMs": job.createdAt,
            "updatedAtMs": job.updatedAt, "schedule": schedule, "sessionTarget": target,
            "wakeMode": "next-heartbeat", "payload": payload, "state": state,
        ]
    }
}
