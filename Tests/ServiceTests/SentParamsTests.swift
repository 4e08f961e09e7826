import Gateway
import Ledger
import Testing

/// `ServiceBench` holds every call of every test against the schema of the connected release. Here the check itself is checked.
struct SentParamsTests {
    private static let send = #""sessionKey":"main","message":"x","idempotencyKey":"k""#

    /// The releases that would refuse the call. April is never among them, because it has no schema.
    private func refusing(_ method: String, _ members: String) -> [GatewayProfile.Generation] {
        GatewayProfile.Generation.allCases.filter {
            !SentParams.problems(method, json("{\(members)}"), GatewayProfile($0)).isEmpty
        }
    }

    @Test func `a call fits the releases that take its members`() {
        #expect(refusing("chat.send", Self.send) == [])
        #expect(refusing("chat.send", Self.send + #","queueMode":"followup""#) == [.march, .june])
        #expect(refusing("chat.send", #""sessionKey":"main","message":"x""#) == [.march, .june, .autumn])
        #expect(refusing("chat.history", #""sessionKey":"main","maxChars":40000"#) == [.march])
        #expect(refusing("chat.history", #""sessionKey":"main","inputRunIds":["k"]"#) == [.march, .june])
        #expect(refusing("chat.abort", #""sessionKey":"main","discardPendingInput":true"#) == [.march, .june])
        #expect(refusing("sessions.patch", #""key":"main","pinned":true"#) == [.march, .june])
        #expect(refusing("cron.run", #""id":"j","mode":"force","waitTimeoutMs":1"#) == [.march, .june])
        #expect(refusing("agents.list", #""x":1"#) == [.march, .june, .autumn])
    }

    @Test(arguments: [
        "chat.send", "chat.history", "chat.abort", "agent.wait", "sessions.list", "sessions.patch", "sessions.reset",
        "sessions.delete", "sessions.compact", "sessions.create", "agents.list", "agents.files.get", "agents.files.set",
        "models.list", "sessions.usage", "cron.list", "cron.run", "cron.runs", "cron.update", "node.list",
        "node.invoke", "node.pair.list", "device.pair.list", "exec.approval.resolve", "wake",
    ])
    func `the call is described for each release that has a schema`(method: String) {
        let known = GatewayProfile.Generation.allCases.filter { SentParams.knows(method, GatewayProfile($0)) }
        #expect(known == [.march, .june, .autumn])
    }
}
