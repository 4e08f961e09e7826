import DemoGateway
import JSONBytes
import TestSupport
import Testing

/// The demo's models and usage, in the form of the recorded releases.
struct UsageTests {
    private static let recorded: [(DemoRelease, String)] = [(.march, "2026.3.1"), (.june, "2026.6.11")]

    /// The members of every row, and of the answer itself.
    private func shape(_ payload: JSONValue, rows: String) -> [Set<String>] {
        let row = payload[rows]?.elements.reduce(into: Set<String>()) { $0.formUnion($1.members.map(\.key)) }
        return [Set(payload.members.map(\.key)), row ?? []]
    }

    @Test(arguments: [("models.list", "models"), ("usage.cost", "daily"), ("sessions.usage", "sessions")])
    func `answers have the members of recorded ones, and refusals their words`(_ method: String, _ rows: String) throws
    {
        for (release, version) in Self.recorded {
            let bench = try GatewayBench(release)
            let client = bench.client()
            client.chatSend("hello", key: "a")
            bench.run(ms: 300)
            var params: [String: JSONValue] = [:]
            let lines = try TestData.bytes("captures-control/\(method).v\(version).jsonl").split(separator: 0x0A)
            let frames = try lines.map {
                try #require(try JSONDocument(parsing: Array($0), limits: .gateway).root["frame"])
            }
            let known = frames.compactMap { $0["payload"] }.reduce(into: Set<String>()) {
                $0.formUnion(shape($1, rows: rows)[1])
            }
            var compared = 0
            for frame in frames {
                let id = frame["id"]?.string ?? ""
                if let sent = frame["params"] {
                    params[id] = sent
                    continue
                }
                let sent = String(decoding: params[id]?.raw ?? [], as: UTF8.self)
                if frame["ok"]?.bool == true {
                    let ours = try #require(client.payload(method, sent), "\(method) \(sent)")
                    let theirs = try #require(frame["payload"])
                    let (left, right) = (shape(ours, rows: rows), shape(theirs, rows: rows))
                    // Without listed sessions there is no cache status.
                    let some: Set<String> = ["cacheStatus"]
                    #expect(left[0].subtracting(some) == right[0].subtracting(some), "\(release) \(method)")
                    #expect(left[1].isSubset(of: known), "\(release) \(method)")
                    compared += 1
                } else if frame["ok"]?.bool == false {
                    #expect(client.error(method, sent) == frame["error"]?["message"]?.string)
                    compared += 1
                }
            }
            #expect(compared > 1)
        }
    }

    @Test func `subscriptions are told at once by later releases, and earlier ones ask first`() throws {
        for release in DemoRelease.allCases {
            let bench = try GatewayBench(release) { $0.speed = 1 }
            let client = bench.client()
            client.call("usage.status")
            let isEarly = release < .june
            bench.run(ms: isEarly ? 1_999 : 1)
            #expect(client.frames.contains { $0["payload"]?["providers"] != nil } == !isEarly)
            bench.run(ms: 2)
            #expect(client.frames.contains { $0["payload"]?["providers"]?.count == 2 })
        }
    }

    @Test func `parameters are closed, by release`() throws {
        for (release, method, params, word) in [
            (DemoRelease.march, "models.list", #"{"view":"all"}"#, "unexpected property 'view'"),
            (.march, "usage.cost", #"{"agentScope":"all"}"#, "unexpected property 'agentScope'"),
            (.june, "usage.cost", #"{"timeZone":"Europe/Berlin"}"#, "unexpected property 'timeZone'"),
            (.june, "usage.status", #"{"x":1}"#, "unexpected property 'x'"),
            (.autumn, "sessions.usage", #"{"limit":0}"#, "must be >= 1"),
            (.autumn, "usage.cost", #"{"utcOffset":"+02:00"}"#, "must match pattern"),
        ] {
            let client = try GatewayBench(release).client()
            #expect(client.error(method, params)?.contains(word) == true, "\(method) \(params)")
        }
        let client = try GatewayBench(.autumn).client()
        let good =
            #"{"startDate":"2026-11-01","endDate":"2026-11-23","mode":"specific","utcOffset":"UTC-9:30","timeZone":"x","agentScope":"all"}"#
        #expect(client.error("usage.cost", good) == nil)
    }

    @Test func `the method of sessions is callable and in no hello`() throws {
        let client = try GatewayBench(.june).client()
        let methods = client.frames.lazy.compactMap { $0["payload"]?["features"]?["methods"] }.first
        let names = methods?.elements.compactMap(\.string) ?? []
        #expect(names.contains("usage.cost") && names.contains("models.list") && !names.contains("sessions.usage"))
    }
}
