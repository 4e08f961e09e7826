import JSONBytes
import Testing

@Suite(.serialized) struct RunTests {
    private static let text = ["Content-Type: text/plain"]

    private func activeRun(_ ladle: LadleProcess) throws -> String {
        try eventually {
            guard try ladle.request("GET", "/v1/activity").json["headline"]?.string != "Queued" else { return nil }
            return try ladle.request("GET", "/v1/runs?active=true").json["runs"]?[0]?["id"]?.string
        }
    }

    private func settled(_ id: String, _ ladle: LadleProcess) throws -> JSONValue {
        try eventually {
            let run = try ladle.request("GET", "/v1/runs/\(id)").json
            return run["state"]?.string == "running" ? nil : run
        }
    }

    @Test func `runs are listed and read, by their own id and by that of their message`() async throws {
        let ladle = try await LadleProcess(SendTests.fast)
        var ids: [String] = []
        for words in ["hello", "append the weather to weather.txt"] {
            let sent = try ladle.request("POST", "/v1/messages?wait=20", Self.text, body: words).json
            ids.append(try #require(sent["run"]?["id"]?.string))
        }
        let list = try ladle.request("GET", "/v1/runs").json["runs"]
        #expect(list?.elements.map { $0["id"]?.string } == ids.reversed())
        #expect(list?[0]?["steps"]?.count ?? 0 > 1)
        let page = try ladle.request("GET", "/v1/runs?limit=1").json
        #expect(page["before"]?.string == ids[1])
        #expect(try ladle.request("GET", "/v1/runs?limit=1&before=\(ids[1])").json["runs"]?[0]?["id"]?.string == ids[0])
        #expect(try ladle.request("GET", "/v1/runs?before=none").json["field"]?.string == "before")
        #expect(try ladle.request("GET", "/v1/runs?session=den").json["runs"]?.count == 0)
        #expect(try ladle.request("GET", "/v1/runs?active=true").json["runs"]?.count == 0)
        let run = try ladle.request("GET", "/v1/runs/\(ids[1])")
        #expect(run.json["state"]?.string == "completed")
        let tag = try #require(run.field("ETag"))
        #expect(try ladle.request("GET", "/v1/runs/\(ids[1])", ["If-None-Match: \(tag)"]).status == 304)
        #expect(try ladle.request("GET", "/v1/runs/none").status == 404)
        #expect(
            try ladle.request("GET", "/v1/runs/\(ids[0])", ["Accept: text/plain"]).body == "Hello! You said: hello\n"
        )
    }

    @Test func `a run that has just ended is in the list as it is by itself`() async throws {
        let ladle = try await LadleProcess(SendTests.fast)
        for number in 0..<40 {
            let id = try #require(
                try ladle.request("POST", "/v1/messages", Self.text, body: "echo \(number)").json["id"]?.string
            )
            try eventually { try ladle.request("GET", "/v1/runs/\(id)").json["endedAt"]?.string }
            let page = try ladle.request("GET", "/v1/runs?limit=1").json["runs"]
            #expect(page?.count == 1)
            #expect(page?[0]?["id"]?.string == id)
            #expect(page?[0]?["state"]?.string == "completed")
        }
    }

    @Test func `status, metrics, activity and the summary of a stream count the same runs`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "1"])
        for words in ["slow count", "hello"] { _ = try ladle.request("POST", "/v1/messages", Self.text, body: words) }
        _ = try activeRun(ladle)
        let activity = try ladle.request("GET", "/v1/activity").json
        let count = try #require(activity["active"]?.int)
        #expect(count > 0)
        #expect(try ladle.request("GET", "/v1/status").json["runs"]?["active"]?.int == count)
        #expect(try ladle.request("GET", "/metrics").body.contains("\nladle_runs_active \(count).0\n"))
        let path = "/v1/events?snapshot=true&types=summary&timeout=1"
        let lines = try ladle.request("GET", path, ["Accept: application/x-ndjson"]).body.split(separator: "\n")
        let summary = try JSONDocument(parsing: Array(try #require(lines.last).utf8)).root
        #expect(summary["type"]?.string == "summary")
        #expect(summary["active"]?.int == count)
        #expect(summary["headline"]?.string?.isEmpty == false)
        #expect(summary["link"]?["state"]?.string == "online")
    }

    @Test func `activity shows what is going on, and an abort ends it`() async throws {
        let ladle = try await LadleProcess(["--demo-speed", "1"])
        #expect(try ladle.request("GET", "/v1/activity", ["Accept: text/plain"]).body == "idle\n")
        _ = try ladle.request("POST", "/v1/messages", Self.text, body: "slow count")
        let id = try activeRun(ladle)
        let activity = try ladle.request("GET", "/v1/activity").json
        #expect(activity["active"]?.int == 1)
        #expect(activity["runs"]?[0]?["id"]?.string == id)
        #expect(try ladle.request("GET", "/v1/activity", ["Accept: text/plain"]).body.hasPrefix("agent:main:main  "))
        let abort = try ladle.request("POST", "/v1/sessions/main/abort")
        #expect(abort.status == 200)
        #expect(abort.json["runIds"]?[0]?.string == id)
        #expect(try settled(id, ladle)["state"]?.string == "aborted")
        let again = try ladle.request("POST", "/v1/runs/\(id)/abort").json
        #expect(again["aborted"]?.bool == false)
        #expect(again["state"]?.string == "aborted")
        #expect(try ladle.request("POST", "/v1/sessions/main/abort").json["aborted"]?.bool == false)
        #expect(try ladle.request("POST", "/v1/runs/none/abort").status == 404)
    }
}
