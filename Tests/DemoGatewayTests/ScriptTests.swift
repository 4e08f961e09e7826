import DemoGateway
import JSONBytes
import Testing

struct ScriptTests {
    private func history(_ client: TestClient, _ session: String = "main") -> [JSONValue] {
        client.payload("chat.history", "{\"sessionKey\":\"\(session)\",\"limit\":1000}")?["messages"]?.elements.map {
            $0
        } ?? []
    }

    @Test(arguments: [DemoRelease.march, .june])
    func `appending the weather is one command from start to result`(_ release: DemoRelease) throws {
        let bench = try GatewayBench(release) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("append the weather to weather.txt", key: "w")
        bench.run(ms: 8_000)
        let tools = client.agent("tool")
        #expect(tools.compactMap { $0["data"]?["phase"]?.string } == ["start", "update", "result"])
        // Tool frames carry no number of their own.
        #expect(
            client.events("agent").filter { $0["payload"]?["stream"]?.string == "tool" }.allSatisfy { $0["seq"] == nil }
        )
        let start = try #require(tools.first?["data"])
        #expect(start["name"]?.string == "exec")
        let command = try #require(start["args"]?["command"]?.string)
        #expect(command.contains("curl") && command.contains(">> weather.txt"))
        let result = try #require(tools.last?["data"])
        #expect(result["isError"]?.bool == false)
        if release == .march {
            #expect(result["result"] == nil)
            #expect(result["meta"]?.string?.hasSuffix("\n\n`\(command)`") == true)
        } else {
            #expect(result["result"]?["details"]?["exitCode"]?.int == 0)
            #expect(result["result"]?["details"]?["durationMs"]?.int == 1_250)
            let items = client.agent("item").compactMap { $0["data"]?["itemId"]?.string }
            #expect(Set(items).count == 2)
            #expect(client.agent("command_output").last?["data"]?["exitCode"]?.int == 0)
        }
        let rows = history(client)
        #expect(rows.compactMap { $0["role"]?.string } == ["user", "assistant", "toolResult", "assistant"])
        let blocks = rows[1]["content"]?.elements.compactMap { $0["type"]?.string }
        #expect(blocks == ["thinking", "toolCall"])
        #expect(rows[2]["toolCallId"]?.string == start["toolCallId"]?.string)
        #expect(client.chat("final").first?["message"]?.messageText?.contains("weather.txt") == true)
    }

    @Test
    func `March shows output live only at full verbosity`() throws {
        let bench = try GatewayBench(.march)
        let client = bench.client()
        client.chatSend("/verbose full", key: "v")
        bench.run(ms: 10)
        client.chatSend("what is the weather?", key: "w")
        bench.run(ms: 10)
        #expect(client.agent("tool").last?["data"]?["result"]?["details"]?["status"]?.string == "completed")
    }

    @Test
    func `text around a tool call restarts in March and is joined in June`() throws {
        for (release, text) in [
            (DemoRelease.march, "It is **sunny**, 21 °C. I saved it to `weather.txt`."),
            (.june, "Let me check that.It is **sunny**, 21 °C. I saved it to `weather.txt`."),
        ] {
            let bench = try GatewayBench(release)
            let client = bench.client()
            client.chatSend("what is the weather?", key: "w")
            bench.run(ms: 10)
            #expect(client.chat("final").first?["message"]?.messageText == text)
            let rows = history(client)
            let types = rows[1]["content"]?.elements.compactMap { $0["type"]?.string }
            #expect(types == (release == .march ? ["thinking", "text", "toolCall"] : ["text"]))
        }
    }

    @Test
    func `tool events go to the sender with the cap, others may subscribe`() throws {
        let bench = try GatewayBench(.june)
        let sender = bench.client(device: TestDevice(1))
        let plain = bench.client(caps: [], device: TestDevice(2))
        let watcher = bench.client(device: TestDevice(3))
        watcher.call("sessions.subscribe")
        sender.chatSend("what is the weather?", key: "w")
        bench.run(ms: 10)
        #expect(sender.agent("tool").count == 3)
        #expect(plain.agent("tool").isEmpty && watcher.agent("tool").isEmpty)
        #expect(plain.chat("final").count == 1)
        #expect(watcher.payloads("session.tool").count == 3)
        #expect(
            watcher.payloads("session.message").compactMap { $0["message"]?["role"]?.string } == [
                "user", "assistant", "assistant",
            ]
        )
        #expect(watcher.payloads("sessions.changed").compactMap { $0["phase"]?.string } == ["start", "end"])
        #expect(watcher.events("sessions.changed").allSatisfy { $0["seq"] == nil })
        #expect(sender.payloads("session.message").isEmpty)
    }

    @Test
    func `parallel calls overlap and end in the order of their durations`() throws {
        let bench = try GatewayBench(.june) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("parallel please", key: "p")
        bench.run(ms: 8_000)
        let phases = client.agent("tool").compactMap { event -> String? in
            guard let data = event["data"], data["phase"]?.string != "update" else { return nil }
            return "\(data["phase"]?.string ?? "") \(data["name"]?.string ?? "")"
        }
        #expect(
            phases == [
                "start exec", "start read", "start web_search", "result read", "result web_search", "result exec",
            ]
        )
    }

    @Test
    func `a failing command has its exit code`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        client.chatSend("run a failing command", key: "f")
        bench.run(ms: 10)
        let result = client.agent("tool").last?["data"]
        #expect(result?["isError"]?.bool == true)
        #expect(result?["result"]?["details"]?["exitCode"]?.int == 1)
        #expect(client.chat("final").count == 1)
    }

    @Test(arguments: [("fail 401", "401"), ("fail500 now", "500"), ("provider error please", "500")])
    func `provider failures leave a failed row`(_ message: String, _ code: String) throws {
        let bench = try GatewayBench(.march)
        let client = bench.client()
        client.chatSend(message, key: "f")
        bench.run(ms: 10)
        #expect(client.chat("error").first?["errorMessage"]?.string?.contains(code) == true)
        let row = history(client).last
        #expect(row?["stopReason"]?.string == "error")
        #expect(row?["content"]?.count == 0)
    }

    @Test
    func `a silent reply has a final without message and no row`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        client.chatSend("silent please", key: "s")
        bench.run(ms: 10)
        #expect(client.chat("delta").isEmpty)
        #expect(client.chat("final").first?["message"] == nil)
        #expect(history(client).compactMap { $0["role"]?.string } == ["user"])
    }

    @Test
    func `long texts are bounded live and cut in the history`() throws {
        for (release, limit) in [(DemoRelease.march, 12_000), (.june, 8_000)] {
            let bench = try GatewayBench(release)
            let client = bench.client()
            client.chatSend("longtext 30000", key: "l")
            bench.run(ms: 10)
            #expect(client.chat("final").first?["message"]?.messageText?.count == 30_000)
            let text = history(client).last?.messageText ?? ""
            #expect(text.count > limit && text.count < limit + 40)
            #expect(text.hasSuffix("...(truncated)..."))
            if release == .june {
                let whole = client.payload("chat.history", "{\"sessionKey\":\"main\",\"maxChars\":100000}")
                #expect(whole?["messages"]?.elements.map { $0 }.last?.messageText?.count == 30_000)
            }
        }
        let bench = try GatewayBench(.june) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("longtext 999999999", key: "l")
        bench.run(ms: 2_000)
        #expect(client.chat("final").first?["message"]?.messageText?.count == 200_000)
    }

    @Test
    func `thinking is history, and a stream only where the session asks`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        client.chatSend("please think about it", key: "t")
        bench.run(ms: 10)
        #expect(client.agent("thinking").isEmpty)
        #expect(history(client).last?["content"]?[0]?["thinking"]?.string?.hasSuffix("It is 42.") == true)
        client.chatSend("/reasoning stream", key: "r")
        bench.run(ms: 10)
        client.chatSend("please think again", key: "t2")
        bench.run(ms: 10)
        #expect(client.agent("thinking").count == 3)
    }

    @Test
    func `the identity frame reads and writes both files`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        client.chatSend("Show them:\n---IDENTITY---\n(raw IDENTITY.md)\n---USER---\n(raw USER.md)\n---END---", key: "r")
        bench.run(ms: 10)
        let text = client.chat("final").first?["message"]?.messageText ?? ""
        #expect(text.hasPrefix("---IDENTITY---\n# IDENTITY.md") && text.contains("---USER---\n# USER.md"))
        #expect(client.agent("tool").isEmpty)
        client.chatSend("Write:\n---IDENTITY---\n- **Name:** Wren\n---USER---\n- **Name:** Pat\n---END---", key: "w")
        bench.run(ms: 10)
        let file = client.payload("agents.files.get", "{\"agentId\":\"main\",\"name\":\"IDENTITY.md\"}")?["file"]
        #expect(file?["content"]?.string == "- **Name:** Wren\n")
        #expect(client.agentName == "Wren")
    }

    @Test(arguments: ["Call yourself Wren.", "please CALL YOURSELF İstanbul", "call yourself "])
    func `an agent can rename itself through an edit`(_ message: String) throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        client.chatSend(message, key: "n")
        bench.run(ms: 10)
        #expect(client.agent("tool").last?["data"]?["name"]?.string == "edit")
        let expected = message.contains("İ") ? "İstanbul" : "Wren"
        #expect(client.agentName == expected)
    }

    @Test
    func `booking a train takes several tools`() throws {
        let bench = try GatewayBench(.june) { $0.speed = 1 }
        let client = bench.client()
        client.chatSend("book a train to Hamburg", key: "b")
        bench.run(ms: 15_000)
        let names = client.agent("tool").filter { $0["data"]?["phase"]?.string == "start" }
            .compactMap { $0["data"]?["name"]?.string }
        #expect(names == ["web_search", "browser", "browser", "browser", "browser"])
        #expect(client.chat("final").count == 1)
    }

    @Test
    func `an echo repeats the text exactly`() throws {
        let bench = try GatewayBench(.june)
        let client = bench.client()
        client.chatSend("echo  two  blanks\n\nand lines ", key: "e")
        bench.run(ms: 10)
        #expect(client.chat("final").first?["message"]?.messageText == "two  blanks\n\nand lines ")
    }

    @Test(arguments: DemoRelease.allCases)
    func `a burst sends its count at its rate with rising numbers and the sender's clock`(_ release: DemoRelease) throws
    {
        let bench = try GatewayBench(release)
        let client = bench.client()
        client.chatSend("burst 500 1000 chat", key: "b")
        bench.run(ms: 250)
        let half = client.chat("delta").count
        #expect((240...255).contains(half))
        bench.run(ms: 1_000)
        var numbers: [Int] = []
        for delta in client.chat("delta") {
            let text = delta["deltaText"]?.string ?? delta["message"]?.messageText ?? ""
            guard let line = text.split(separator: "\n").last, let document = try? JSONDocument(parsing: String(line)),
                let number = document.root["seq"]?.int, document.root["ts_ns"]?.int != nil
            else { continue }
            numbers.append(Int(number))
        }
        #expect(numbers == Array(1...500))
        #expect(client.chat("final").count == 1)
    }
}
