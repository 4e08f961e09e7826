import Basics
import DemoGateway
import EventLoops
import JSONBytes
import TestSupport
import Testing

struct RunRouteTests {
    private static let paced = APIBench.Setup(demo: { $0.speed = 1 })

    /// The active run, once it is past being queued.
    private func activeRun(_ api: APIBench, on loop: isolated EventLoop) async throws -> String {
        try await api.advance(500, on: loop)
        return try #require(try await api.get("/v1/runs?active=true", on: loop).json["runs"]?[0]?["id"]?.string)
    }

    @Test func `runs are listed and read, by their own id and by that of their message`() async throws {
        try await withAPI(.demo) { api, loop in
            var ids: [String] = []
            for words in ["hello", "append the weather to weather.txt"] {
                let sent = try await api.say(words, "?wait=20", on: loop).json
                ids.append(try #require(sent["run"]?["id"]?.string))
            }
            let list = try await api.get("/v1/runs", on: loop).json["runs"]
            #expect(list?.elements.map { $0["id"]?.string } == ids.reversed())
            #expect(list?[0]?["steps"]?.count ?? 0 > 1)
            let page = try await api.get("/v1/runs?limit=1", on: loop).json
            #expect(page["before"]?.string == ids[1])
            #expect(
                try await api.get("/v1/runs?limit=1&before=\(ids[1])", on: loop).json["runs"]?[0]?["id"]?.string
                    == ids[0]
            )
            #expect(try await api.get("/v1/runs?before=none", on: loop).json["field"]?.string == "before")
            #expect(try await api.get("/v1/runs?session=den", on: loop).json["runs"]?.count == 0)
            #expect(try await api.get("/v1/runs?active=true", on: loop).json["runs"]?.count == 0)
            let run = try await api.get("/v1/runs/\(ids[1])", on: loop)
            #expect(run.json["state"]?.string == "completed")
            let tag = try #require(run.field("ETag"))
            #expect(try await api.get("/v1/runs/\(ids[1])", ["If-None-Match: \(tag)"], on: loop).status == 304)
            #expect(try await api.get("/v1/runs/none", on: loop).status == 404)
            #expect(
                try await api.get("/v1/runs/\(ids[0])", ["Accept: text/plain"], on: loop).body
                    == "Hello! You said: hello\n"
            )
        }
    }

    @Test func `a brief list has no steps, and the beginning of each text`() async throws {
        try await withAPI(.demo) { api, loop in
            for words in ["append the weather to weather.txt", String(repeating: "long ", count: 100)] {
                _ = try await api.say(words, "?wait=20", on: loop)
            }
            let runs = try #require(try await api.get("/v1/runs", on: loop).json["runs"])
            let brief = try #require(try await api.get("/v1/runs?brief=true", on: loop).json["runs"])
            let (whole, cut) = (try #require(runs[0]?["text"]?.string), try #require(brief[0]?["text"]?.string))
            #expect(whole.count > 200 && cut == whole.prefix(200) && brief[0]?["truncated"]?.bool == true)
            #expect(runs[1]?["steps"]?.count ?? 0 > 0 && brief[1]?["steps"] == nil)
            #expect(brief[1]?["text"]?.string == runs[1]?["text"]?.string && brief[1]?["truncated"] == nil)
            #expect(brief.elements.map { $0["id"]?.string } == runs.elements.map { $0["id"]?.string })
            let active = try await api.get("/v1/runs?active=true&brief=maybe", on: loop)
            #expect(active.status == 400 && active["field"] == "brief")
        }
    }

    @Test func `a run that has just ended is in the list as it is by itself`() async throws {
        try await withAPI(.demo) { api, loop in
            for number in 0..<40 {
                let id = try #require(try await api.say("echo \(number)", on: loop)["id"])
                #expect(try await api.get("/v1/runs/\(id)", on: loop)["endedAt"] != nil)
                let page = try await api.get("/v1/runs?limit=1", on: loop).json["runs"]
                #expect(page?.count == 1)
                #expect(page?[0]?["id"]?.string == id)
                #expect(page?[0]?["state"]?.string == "completed")
            }
        }
    }

    @Test func `status, metrics, activity and the summary of a stream count the same runs`() async throws {
        try await withAPI(Self.paced) { api, loop in
            for words in ["slow count", "hello"] { _ = try await api.say(words, on: loop) }
            _ = try await activeRun(api, on: loop)
            let activity = try await api.get("/v1/activity", on: loop).json
            let count = try #require(activity["active"]?.int)
            #expect(count > 0)
            #expect(try await api.get("/v1/status", on: loop).json["runs"]?["active"]?.int == count)
            #expect(try await api.get("/metrics", on: loop).body.contains("\nladle_runs_active \(count).0\n"))
            let path = "/v1/events?snapshot=true&types=summary&timeout=1"
            let stream = try await api.open("GET", path, ["Accept: application/x-ndjson"], on: loop)
            let lines = stream.text.split(separator: "\n")
            let summary = try JSONDocument(parsing: Array(try #require(lines.last).utf8)).root
            #expect(summary["type"]?.string == "summary")
            #expect(summary["active"]?.int == count)
            #expect(summary["headline"]?.string?.isEmpty == false)
            #expect(summary["link"]?["state"]?.string == "online")
        }
    }

    /// A text that is told before the log is caught up with would never get the pieces that came meanwhile.
    @Test func `the pieces of a text are whole for a stream whose run ends while it catches up`() async throws {
        try await withAPI(Self.paced) { api, loop in
            let before = try #require(try await api.get("/v1/events?poll=0", on: loop)["cursor"])
            _ = try await api.say("slow count", on: loop)
            let id = try await activeRun(api, on: loop)
            try await api.advance(1_000, on: loop)
            #expect(try await api.get("/v1/runs/\(id)", on: loop)["text"] != "")
            let lines = ["Accept: application/x-ndjson"]
            let path = "/v1/events?types=run.*&snapshot=true&since=\(before)"
            // Until the run is over the first takes its hello and one event of the snapshot, the second all of it.
            let slow = try await api.open("GET", path, lines, room: 2, on: loop)
            let live = try await api.open("GET", path, lines, on: loop)
            try await api.advance(60_000, on: loop)
            slow.readOn(on: loop)
            try await api.advance(1_000, on: loop)
            for (stream, isLive) in [(slow, false), (live, true)] {
                var text: [UInt16] = []
                var hasText = false
                var end: String?
                for line in stream.text.split(separator: "\n") {
                    let event = try JSONDocument(parsing: Array(line.utf8)).root
                    if event["type"]?.string == "run.delta" {
                        hasText = true
                        let offset = Int(event["offset"]?.int ?? -1)
                        text = text.prefix(offset) + Array(try #require(event["text"]?.string).utf16)
                    }
                    if event["type"]?.string == "run.ended" { end = event["run"]?["text"]?.string }
                }
                #expect(hasText == isLive && end?.isEmpty == false, "\(stream.text)")
                if hasText { #expect(String(decoding: text, as: UTF16.self) == end) }
            }
        }
    }

    @Test func `activity shows what is going on, and an abort ends it`() async throws {
        try await withAPI(Self.paced) { api, loop in
            #expect(try await api.get("/v1/activity", ["Accept: text/plain"], on: loop).body == "idle\n")
            _ = try await api.say("slow count", on: loop)
            let id = try await activeRun(api, on: loop)
            let activity = try await api.get("/v1/activity", on: loop).json
            #expect(activity["active"]?.int == 1)
            #expect(activity["runs"]?[0]?["id"]?.string == id)
            #expect(
                try await api.get("/v1/activity", ["Accept: text/plain"], on: loop).body.hasPrefix("agent:main:main  ")
            )
            let abort = try await api.post("/v1/sessions/main/abort", [], on: loop)
            #expect(abort.status == 200)
            #expect(abort.json["runIds"]?[0]?.string == id)
            try await api.advance(500, on: loop)
            #expect(try await api.get("/v1/runs/\(id)", on: loop)["state"] == "aborted")
            let again = try await api.post("/v1/runs/\(id)/abort", [], on: loop).json
            #expect(again["aborted"]?.bool == false)
            #expect(again["state"]?.string == "aborted")
            #expect(try await api.post("/v1/sessions/main/abort", [], on: loop).json["aborted"]?.bool == false)
            #expect(try await api.post("/v1/runs/none/abort", [], on: loop).status == 404)
        }
    }

    @Test func `an abort is kept while the gateway is away, and nobody says that nothing runs there`() async throws {
        try await withAPI(Self.paced) { api, loop in
            _ = try await api.say("slow count", on: loop)
            let id = try await activeRun(api, on: loop)
            try await api.demo?.drop(on: loop)
            let kept = try await api.post("/v1/runs/\(id)/abort", [], on: loop)
            #expect(kept.status == 202)
            let place = try #require(kept.field("Location"))
            #expect(try await api.get(place, on: loop).json["state"]?.string == "queued")
            #expect(try await api.post("/v1/sessions/den/abort", [], on: loop).status == 503)
        }
    }

    @Test func `an abort of a message that was never sent says what takes it back, once`() async throws {
        try await withAPI { api, loop in
            let id = try #require(try await api.say("hello", on: loop)["id"])
            let waiting = try await api.post("/v1/runs/\(id)/abort", [], on: loop)
            #expect(waiting.status == 409)
            #expect(waiting["hint"]?.contains("DELETE /v1/outbox/\(id)") == true)
            _ = try await api.request("DELETE", "/v1/outbox/\(id)", on: loop)
            let cancelled = try await api.post("/v1/runs/\(id)/abort", [], on: loop)
            #expect(cancelled.status == 409)
            #expect(cancelled["hint"]?.contains("DELETE") != true)
        }
    }

    @Test func `an abort by a message's id stops the run that answers it now`() async throws {
        try await withAPI { api, loop in
            let bench = api.bench
            try await bench.open(on: loop)
            let id = try #require(try await api.say("hello", on: loop)["id"])
            try await bench.event("agent", Frame.start(id), on: loop)
            bench.gateway.rows[ServiceBench.main] = [Row.user("hello", key: id)]
            try await bench.drop(on: loop)
            try await bench.open(uptimeMs: 100, on: loop)
            let now = loop.wallClock.milliseconds
            try await bench.event("agent", Frame.start("run-own", at: now), on: loop)
            try await bench.row(Row.user(Row.resumption(of: "hello"), id: "r2", at: now), on: loop)
            let abort = try await api.post("/v1/runs/\(id)/abort", [], on: loop)
            #expect(abort.json["runIds"]?[0]?.string == "run-own", "\(abort)")
        }
    }
}
