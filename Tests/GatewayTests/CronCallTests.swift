import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Gateway

/// Jobs: recorded answers and events, and edge cases.
struct CronCallTests {
    private static let versions = ["2026.3.1", "2026.6.11"]

    private func frames(_ version: String) throws -> [JSONValue] {
        try ["cron", "cron.run"].flatMap { name in
            try TestData.bytes("captures-control/\(name).v\(version).jsonl").split(separator: 0x0A).compactMap { line in
                try JSONDocument(parsing: Array(line), limits: .gateway).root["frame"]
            }
        }
    }

    private func json(_ text: String) throws -> JSONValue { try JSONDocument(parsing: text).root }

    /// Each answer of a recording, with the method that it answers.
    private func answers(_ version: String) throws -> [(method: String, payload: JSONValue?, error: JSONValue?)] {
        var methods: [String: String] = [:]
        var found: [(String, JSONValue?, JSONValue?)] = []
        for frame in try frames(version) {
            guard let id = frame["id"]?.string else { continue }
            if let method = frame["method"]?.string { methods[id] = method }
            guard frame["type"]?.equals("res") == true, let method = methods[id] else { continue }
            found.append((method, frame["payload"], frame["error"]))
        }
        return found
    }

    @Test(arguments: versions)
    func `recorded jobs, runs and starts are read`(_ version: String) throws {
        let all = try answers(version)
        let jobs = try all.filter { $0.method == "cron.list" }.compactMap(\.payload).flatMap {
            try CronList.output(from: $0).jobs
        }
        let job = try #require(jobs.first)
        #expect(job.name == "probe job" && !job.isEnabled && job.target == "main")
        #expect(job.schedule == .every(milliseconds: 3_600_000) && job.work == .event(text: "probe tick"))
        let updated = try #require(all.first { $0.method == "cron.update" }?.payload)
        #expect(try CronEnable.output(from: updated)?.name == "probe job 2")
        let starts = try all.filter { $0.method == "cron.run" }.compactMap(\.payload).map(CronRun.output)
        #expect(starts.count == 2 && starts.allSatisfy { $0.refusal == nil })
        #expect(starts.allSatisfy { ($0.runId != nil) == (version == "2026.6.11") })
        let runs = try all.filter { $0.method == "cron.runs" }.compactMap(\.payload).flatMap {
            try CronRuns.output(from: $0).runs
        }
        #expect(runs.map(\.status) == ["ok", "ok"] && runs.allSatisfy { $0.durationMs != nil && $0.endedAt != nil })
        #expect(runs.last?.sessionKey?.hasPrefix("agent:main:cron:") == true && runs.last?.model == "fake-1")
    }

    @Test(arguments: versions)
    func `recorded events tell of a job's life`(_ version: String) throws {
        let events = try frames(version).compactMap { frame -> CronEvent? in
            guard frame["event"]?.equals("cron") == true else { return nil }
            guard case .cron(let event) = GatewayEvent(name: "cron", frame).payload else { return nil }
            return event
        }
        let life = ["added", "updated", "started", "finished", "removed", "added", "started", "finished", "removed"]
        #expect(events.map(\.action) == life)
        #expect(events.allSatisfy { ($0.job != nil) == (version == "2026.6.11") && $0.jobId != nil })
        #expect(events.filter { $0.action == "finished" }.allSatisfy { $0.status == "ok" && $0.durationMs != nil })
    }

    @Test func `an unknown id is told from other refusals`() throws {
        let refused = try answers("2026.6.11").compactMap(\.error).map { GatewayError($0).cronRefusal }
        #expect(refused == [.unknown, .unknown])
        #expect(GatewayError(code: "INVALID_REQUEST", message: "unknown cron job id: x").cronRefusal == .unknown)
        #expect(GatewayError(code: "UNAVAILABLE", message: "job is already running").cronRefusal == .running)
        #expect(GatewayError(code: "UNAVAILABLE", message: "busy").cronRefusal == nil)
    }

    @Test func `nothing of a command but its kind is read`() throws {
        let row =
            #"{"id":"j","payload":{"kind":"command","command":["rm","secret"],"env":{"PASSWORD":"x"},"cwd":"/home"}}"#
        let job = try #require(CronJob(try json(row)))
        #expect(job.work == .command)
        #expect(!String(reflecting: job).contains("secret") && !String(reflecting: job).contains("PASSWORD"))
    }

    @Test(arguments: [
        ("{}", CronJob.Schedule.other("unknown")), (#"{"kind":"stream"}"#, .other("stream")),
        (#"{"kind":"at","at":"2026-11-22T11:16:09Z"}"#, .at(Timestamp(milliseconds: 1_795_346_169_000))),
        (#"{"kind":"at"}"#, .at(nil)), (#"{"kind":"every","everyMs":-1}"#, .every(milliseconds: 0)),
        (
            #"{"kind":"cron","expr":"0 7 * * 1-5","tz":"Europe/Berlin"}"#,
            .cron(expression: "0 7 * * 1-5", timeZone: "Europe/Berlin")
        ),
    ])
    func `schedules of any kind are taken`(text: String, expected: CronJob.Schedule) throws {
        #expect(CronJob.Schedule(try json(text)) == expected)
    }

    @Test func `rows without a usable id are left out`() throws {
        let rows = #"{"jobs":[{},{"id":""},{"id":"a\u202eb"},{"id":7},{"id":"good"}],"nextOffset":null}"#
        let page = try CronList.output(from: try json(rows))
        #expect(page.jobs.map(\.id) == ["good"] && page.nextOffset == nil)
        #expect(throws: GatewayShapeError.self) { try CronList.output(from: json("{}")) }
    }
}
