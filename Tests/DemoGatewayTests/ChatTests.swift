import DemoGateway
import JSONBytes
import Testing

struct ChatTests {
    @Test(arguments: DemoRelease.allCases)
    func `a plain turn streams its text and ends with a final`(_ release: DemoRelease) throws {
        let bench = try GatewayBench(release)
        let client = bench.client()
        #expect(client.chatSend("Good morning to you", key: "k1")?["payload"]?["status"]?.string == "started")
        bench.run(ms: 10)
        let phases = client.agent("lifecycle").compactMap { $0["data"]?["phase"]?.string }
        #expect(phases == (release < .june ? ["start", "end"] : ["start", "finishing", "end"]))
        let text = "Hello! You said: Good morning to you"
        #expect(client.agent("assistant").last?["data"]?["text"]?.string == text)
        let deltas = client.chat("delta")
        #expect(deltas.count > 3)
        #expect(deltas.first?["message"]?.messageText == "Hello!")
        if release < .june {
            #expect(deltas.allSatisfy { $0["deltaText"] == nil })
        } else {
            #expect(deltas.compactMap { $0["deltaText"]?.string }.joined() == text)
        }
        #expect(deltas.dropFirst().allSatisfy { ($0["message"] == nil) == (release >= .autumn) })
        let finals = client.chat("final")
        #expect(finals.count == 1)
        #expect(finals.first?["runId"]?.string == "k1")
        #expect(finals.first?["message"]?.messageText == text)
        let seqs = client.payloads("agent").compactMap { $0["seq"]?.int }
        #expect(seqs == seqs.sorted() && Set(seqs).count == seqs.count)
    }

    @Test
    func `at real pace a turn takes seconds and deltas keep their distance`() throws {
        let bench = try GatewayBench(.march) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("one two three four five six seven eight", key: "k")
        bench.run(ms: 500)
        #expect(client.chat("final").isEmpty)
        bench.run(ms: 5_500)
        #expect(client.chat("final").count == 1)
        let stamps = client.chat("delta").compactMap { $0["message"]?["timestamp"]?.int }
        #expect(zip(stamps, stamps.dropFirst()).allSatisfy { $1 - $0 >= 150 })
    }

    @Test
    func `a repeated key is in flight, then ok, whatever its text`() throws {
        let bench = try GatewayBench(.june) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("hello", key: "k")
        #expect(client.chatSend("hello", key: "k")?["payload"]?["status"]?.string == "in_flight")
        bench.run(ms: 6_000)
        #expect(client.chatSend("other", key: "k")?["payload"]?["status"]?.string == "ok")
        #expect(client.accepted == 1)
        bench.run(ms: 301_000)
        #expect(client.chatSend("hello", key: "k")?["payload"]?["status"]?.string == "started")
        #expect(client.accepted == 2)
    }

    @Test
    func `a thousand keys are remembered and not more`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        for number in 0...1_000 {
            client.chatSend("/status", key: "k\(number)", session: "agent:main:s\(number % 7)")
            bench.run(ms: 1)
        }
        #expect(client.chatSend("/status", key: "k1000")?["payload"]?["status"]?.string == "ok")
        #expect(client.chatSend("/status", key: "k0")?["payload"]?["status"]?.string == "started")
    }

    @Test
    func `a failed run is remembered as an error with its summary`() throws {
        for release in [DemoRelease.march, .june] {
            let bench = try GatewayBench(release)
            let client = bench.client()
            client.chatSend("fail429 now", key: "k")
            bench.run(ms: 10)
            let errors = client.chat("error")
            #expect(errors.count == (release == .march ? 1 : 2))
            #expect(errors.first?["errorMessage"]?.string?.contains("rate limit") == true)
            if release == .june { #expect(errors.first?["errorKind"]?.string == "rate_limit") }
            let again = client.chatSend("fail429 now", key: "k")
            #expect(again?["ok"]?.bool == false)
            #expect(again?["error"]?["code"]?.string == "UNAVAILABLE")
            #expect(again?["payload"]?["status"]?.string == "error")
        }
    }

    @Test
    func `parameters are closed and checked in the words of the gateway`() throws {
        let client = try GatewayBench(.march).client()
        #expect(
            client.error("chat.send")
                == "invalid chat.send params: must have required property 'sessionKey'; must have required property "
                + "'message'; must have required property 'idempotencyKey'"
        )
        let later = try GatewayBench(.june).client()
        #expect(later.error("chat.send") == "invalid chat.send params: must have required property 'sessionKey'")
        let cases: [(String, String)] = [
            ("{\"sessionKey\":\"main\",\"message\":\"\",\"idempotencyKey\":\"e\"}", "message or attachment required"),
            (
                "{\"sessionKey\":\"main\",\"message\":\"x\",\"idempotencyKey\":\"e\",\"bogus\":1}",
                "invalid chat.send params: at root: unexpected property 'bogus'"
            ),
            (
                "{\"sessionKey\":\"main\",\"message\":5,\"idempotencyKey\":\"e\"}",
                "invalid chat.send params: at /message: must be string"
            ),
            (
                "{\"sessionKey\":\"\",\"message\":\"x\",\"idempotencyKey\":\"e\"}",
                "invalid chat.send params: at /sessionKey: must not have fewer than 1 characters"
            ),
            (
                "{\"sessionKey\":\"agent:ghost:main\",\"message\":\"x\",\"idempotencyKey\":\"e\"}",
                "Agent \"ghost\" no longer exists in configuration"
            ),
            (
                "{\"sessionKey\":\"main\",\"message\":\"x\\u0000\",\"idempotencyKey\":\"e\"}",
                "message must not contain null bytes"
            ),
            (
                "{\"sessionKey\":\"main\",\"message\":\"x\",\"idempotencyKey\":\"e\",\"attachments\":[{\"type\":\"image\",\"content\":\"not base64\"}]}",
                "Error: attachment image: invalid base64 content"
            ),
        ]
        for (params, message) in cases { #expect(later.error("chat.send", params) == message) }
    }

    @Test(arguments: ["/stop", "stop", "Please stop!", "STOP.", "wait"])
    func `a stop phrase starts nothing and ends what runs`(_ phrase: String) throws {
        let bench = try GatewayBench(.june) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("slow count please", key: "a")
        bench.run(ms: 2_000)
        let answer = client.chatSend(phrase, key: "b")?["payload"]
        #expect(answer?["aborted"]?.bool == true)
        #expect(answer?["runIds"]?[0]?.string == "a")
        #expect(client.chat("aborted").first?["stopReason"]?.string == "stop")
        #expect(client.accepted == 1)
    }

    @Test
    func `an abort ends the run with its partial text`() throws {
        for release in [DemoRelease.march, .june] {
            let bench = try GatewayBench(release) { $0.speed = 1 }
            let client = bench.client()
            client.chatSend("slow count please", key: "a")
            bench.run(ms: 2_500)
            let answer = client.payload("chat.abort", "{\"sessionKey\":\"agent:main:main\",\"runId\":\"a\"}")
            #expect(answer?["aborted"]?.bool == true)
            let aborted = try #require(client.chat("aborted").first)
            #expect(aborted["message"]?.messageText?.hasPrefix("number 1,") == true)
            bench.run(ms: 1_000)
            #expect(
                client.payload("chat.abort", "{\"sessionKey\":\"agent:main:main\",\"runId\":\"a\"}")?["aborted"]?.bool
                    == false
            )
            let rows =
                client.payload("chat.history", "{\"sessionKey\":\"main\"}")?["messages"]?.elements.map { $0 } ?? []
            let roles = rows.compactMap { $0["role"]?.string }
            // March lists the partial answer twice, once before the question.
            #expect(roles == (release == .march ? ["assistant", "user", "assistant"] : ["user", "assistant"]))
            #expect(rows.last?["stopReason"]?.string == "aborted")
        }
    }

    @Test
    func `an abort without a run id needs the literal key in March and the canonical one in June`() throws {
        for (release, sent, wrong) in [
            (DemoRelease.march, "main", "agent:main:main"), (.june, "agent:main:main", "main"),
        ] {
            let bench = try GatewayBench(release) { $0.speed = 1 }
            let client = bench.client()
            client.chatSend("slow count", key: "a", session: "main")
            bench.run(ms: 1_000)
            #expect(client.payload("chat.abort", "{\"sessionKey\":\"\(wrong)\"}")?["aborted"]?.bool == false)
            #expect(client.payload("chat.abort", "{\"sessionKey\":\"\(sent)\"}")?["aborted"]?.bool == true)
        }
    }

    @Test
    func `only the sender's device or an administrator may abort`() throws {
        let bench = try GatewayBench(.june) { $0.speed = 1 }
        let owner = bench.client(scopes: ["operator.read", "operator.write"], device: TestDevice(1))
        let other = bench.client(scopes: ["operator.read", "operator.write"], device: TestDevice(2))
        owner.chatSend("slow count", key: "a")
        bench.run(ms: 1_000)
        #expect(other.error("chat.abort", "{\"sessionKey\":\"agent:main:main\",\"runId\":\"a\"}") == "unauthorized")
        #expect(
            bench.client(device: TestDevice(3)).payload(
                "chat.abort",
                "{\"sessionKey\":\"agent:main:main\",\"runId\":\"a\"}"
            )?["aborted"]?.bool == true
        )
    }

    @Test
    func `March answers a busy send at once without text and replies later under another id`() throws {
        let bench = try GatewayBench(.march) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("weather", key: "a")
        bench.run(ms: 500)
        #expect(client.chatSend("second", key: "b")?["payload"]?["status"]?.string == "started")
        bench.run(ms: 100)
        let empty = client.chat("final").first
        #expect(empty?["runId"]?.string == "b")
        #expect(empty?["message"] == nil)
        #expect(client.chatSend("second", key: "b")?["payload"]?["status"]?.string == "ok")
        bench.run(ms: 10_000)
        let last = client.chat("final").last
        #expect(last?["runId"]?.string != "b")
        #expect(last?["message"]?.messageText == "Hello! You said: second")
        #expect(client.accepted == 2)
    }

    @Test
    func `June keeps a busy send's run id and starts it afterwards`() throws {
        let bench = try GatewayBench(.june) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("weather", key: "a")
        bench.run(ms: 500)
        client.chatSend("second", key: "b")
        #expect(client.chatSend("second", key: "b")?["payload"]?["status"]?.string == "in_flight")
        let inFlight = client.payload("chat.history", "{\"sessionKey\":\"main\"}")?["inFlightRun"]
        #expect(inFlight?["runId"]?.string == "b")
        bench.run(ms: 10_000)
        #expect(client.chat("final").compactMap { $0["runId"]?.string } == ["a", "b"])
    }

    @Test
    func `aborting a June session takes the waiting runs along`() throws {
        let bench = try GatewayBench(.june) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("slow count", key: "a")
        bench.run(ms: 1_000)
        client.chatSend("second", key: "b")
        let ids = client.payload("chat.abort", "{\"sessionKey\":\"agent:main:main\"}")?["runIds"]?.elements.compactMap(
            \.string
        )
        #expect(ids == ["a", "b"])
        bench.run(ms: 60_000)
        #expect(client.chat("final").isEmpty)
    }

    @Test(arguments: [DemoRelease.march, .june])
    func `commands answer by one final, under the key as March knows it`(_ release: DemoRelease) throws {
        let bench = try GatewayBench(release)
        let client = bench.client()
        client.chatSend("/verbose full", key: "v", session: "main")
        bench.run(ms: 10)
        let final = client.chat("final").first
        #expect(final?["message"]?.messageText == "⚙️ Verbose logging set to full.")
        #expect(final?["sessionKey"]?.string == (release == .march ? "main" : "agent:main:main"))
        #expect(client.chat("delta").isEmpty)
        #expect(client.payload("chat.history", "{\"sessionKey\":\"main\"}")?["verboseLevel"]?.string == "full")
    }
}
