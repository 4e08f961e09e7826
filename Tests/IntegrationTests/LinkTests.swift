import JSONBytes
import TestSupport
import Testing

/// The link of the real program against everything a gateway does, over sockets.
@Suite(.serialized) struct LinkTests {
    private static let text = ["Content-Type: text/plain", "Accept: text/plain"]
    private static let patch = ["Content-Type: application/merge-patch+json", "If-Match: *"]

    private func ask(_ ladle: LadleProcess, _ words: String) throws -> Answer {
        try ladle.request("POST", "/v1/messages?wait=20", Self.text, body: words)
    }

    /// Every state of the link that subscribers see, as codes.
    private func events(_ ladle: LadleProcess) throws -> BlockingSocket {
        let socket = try ladle.connect()
        try socket.send(ladle.requestBytes("GET", "/v1/events?types=link", ["Accept: text/event-stream"]))
        _ = try socket.read(until: "event: hello")
        return socket
    }

    // MARK: Getting in

    @Test(arguments: [("march", 3), ("june", 4), ("autumn", 4)])
    func `every release is linked to, and a message is answered`(release: String, number: Int64) async throws {
        let gateway = try GatewayProcess(["--release", release])
        let ladle = try await gateway.ladle()
        let link = try ladle.online()
        #expect(link["protocol"]?.int == number)
        #expect(link["gateway"]?["version"]?.string != nil)
        let scopes = link["scopes"]?.elements.compactMap(\.string).sorted()
        #expect(scopes == ["operator.admin", "operator.read", "operator.write"])
        #expect(try ask(ladle, "hello").body.contains("hello"))
    }

    @Test func `fewer scopes are asked for where the configuration says so`() async throws {
        let gateway = try GatewayProcess()
        let ladle = try await gateway.ladle(["--gateway-scopes", "read"])
        #expect(try ladle.online()["scopes"]?.elements.compactMap(\.string) == ["operator.read"])
        let refused = try ladle.request("PATCH", "/v1/identity", Self.patch, body: #"{"name":"X"}"#)
        #expect(refused.status == 403)
        #expect(refused["hint"] == "ladle serve --gateway-scopes operator.read,operator.admin")
    }

    @Test func `pairing is waited for, and the way to approve is told everywhere`() async throws {
        let gateway = try GatewayProcess(["--pairing", "true"])
        let ladle = try await gateway.ladle()
        let link = try ladle.link("waiting_for_approval", "PAIRING_REQUIRED")
        let request = try #require(link["requestId"]?.string)
        #expect(link["hint"]?.string == "openclaw devices approve \(request)")
        #expect(link["retryAt"]?.string != nil)
        let doctor = try ladle.command(["doctor"])
        #expect(doctor.code != 0 && doctor.output.contains("openclaw devices approve \(request)"))
        let stream = try events(ladle)
        defer { stream.close() }
        #expect(try gateway.control("POST", "pairing/approve?id=\(request)").status == 200)
        let told = try stream.read(until: #""state":"online""#)
        #expect(told.contains("event: link"))
        #expect(try ladle.command(["doctor"]).output.contains("is connected"))

        // The issued device token is good for the next start, without the shared one.
        let path = try eventually { ladle.state.exists("device-tokens.json") ? "device-tokens.json" : nil }
        #expect(try ladle.state.mode(of: path) == 0o600)
        ladle.signal(15)
        _ = ladle.waitForExit()
        let second = try await LadleProcess(["--gateway", gateway.url], state: ladle.state, demo: false)
        try second.online()
    }

    @Test func `a wrong token stops the link until the right one is there and SIGHUP says so`() async throws {
        let gateway = try GatewayProcess()
        let ladle = try await gateway.ladle(token: "wrong")
        let link = try ladle.link("refused", "AUTH_TOKEN_MISMATCH")
        #expect(link["hint"]?.string?.isEmpty == false)
        #expect(link["retryAt"] == nil)
        let doctor = try ladle.command(["doctor", "--json"])
        #expect(doctor.code != 0 && doctor.output.contains("AUTH_TOKEN_MISMATCH"))
        try ladle.state.write(Array("demo-token\n".utf8), to: "gateway-token")
        ladle.signal(1)
        try ladle.online()
    }

    @Test func `a token that was changed in its file is used within half a minute, without a signal`() async throws {
        let gateway = try GatewayProcess()
        let home = try ScratchDirectory()
        try home.makeDirectory(".openclaw", mode: 0o700)
        func write(_ token: String) throws {
            let configuration = "{gateway: {port: \(gateway.port), auth: {token: '\(token)'}}}"
            try home.write(configuration, to: ".openclaw/openclaw.json", mode: 0o600)
            try home.write(token, to: "gateway-token", mode: 0o600)
        }
        try write("wrong")
        let named = ["--gateway", gateway.url, "--token-file", home.file("gateway-token")]
        let found = try await LadleProcess(demo: false, environment: ["HOME": home.path])
        let configured = try await LadleProcess(named, demo: false)
        for ladle in [found, configured] {
            let hint = try ladle.link("refused", "AUTH_TOKEN_MISMATCH")["hint"]?.string
            #expect(hint?.contains("pkill -HUP -f 'ladle serve'") == true)
        }
        try write(GatewayProcess.token)
        for ladle in [found, configured] {
            try eventually(seconds: 60) {
                try ladle.request("GET", "/v1/status").json["link"]?["state"]?.string == "online" ? true : nil
            }
        }
    }

    @Test func `a gateway that appears later is found`() async throws {
        let home = try ScratchDirectory()
        let gateway = try GatewayProcess()
        let ladle = try await LadleProcess(demo: false, environment: ["HOME": home.path])
        let link = try ladle.link("offline", "GATEWAY_NOT_FOUND")
        #expect(link["hint"]?.string?.hasPrefix("ladle serve --gateway") == true)
        try home.makeDirectory(".openclaw", mode: 0o700)
        let configuration = "{gateway: {port: \(gateway.port), auth: {token: 'demo-token'}}, /* JSON5 */}"
        try home.write(Array(configuration.utf8), to: ".openclaw/openclaw.json")
        ladle.signal(1)
        #expect(try ladle.link("refused", "GATEWAY_SECRET_EXPOSED")["hint"]?.string?.hasPrefix("chmod 600 /") == true)
        try home.setMode(of: ".openclaw/openclaw.json", to: 0o600)
        ladle.signal(1)
        #expect(try ladle.online()["url"]?.string == gateway.url)
    }

    @Test(arguments: [
        (["--gateway", "ws://192.0.2.1:18789"], "PLAINTEXT_REFUSED", "gateway.allowPlaintext"),
        (["--gateway", "ws://127.0.0.1:1", "--gateway-pin", "ab"], "GATEWAY_PIN_INVALID", ""),
        (
            ["--gateway", "ws://127.0.0.1:1", "--gateway-pin", String(repeating: "ab", count: 32)],
            "GATEWAY_PIN_INVALID", "wss://"
        ),
    ]) func `an address that must not be used is refused before a socket is opened`(
        flags: [String],
        code: String,
        hint: String
    ) async throws {
        let ladle = try await LadleProcess(flags, demo: false)
        let link = try ladle.link("refused", code)
        #expect(link["hint"]?.string?.contains(hint) ?? hint.isEmpty)
        #expect(try ladle.command(["doctor"]).output.contains(code))
    }

    @Test(arguments: ["march", "autumn"])
    func `a scope that is missing only shows when it is used, in both wire forms`(release: String) async throws {
        let gateway = try GatewayProcess(["--release", release, "--fault", "strippedScopes=operator.admin"])
        let ladle = try await gateway.ladle()
        try ladle.online()
        let tag = try ladle.request("GET", "/v1/identity").field("ETag")
        let refused = try ladle.request("PATCH", "/v1/identity", Self.patch, body: #"{"name":"X"}"#)
        #expect(refused.status == 403)
        #expect(refused["code"] == "GATEWAY_SCOPE_MISSING")
        #expect(refused.json["requiredScopes"]?[0]?.string == "operator.admin")
        let hint = try #require(refused["hint"])
        #expect(hint.hasPrefix("openclaw devices rotate --device ") && hint.contains("--scope operator.admin"))
        #expect(try ladle.request("GET", "/v1/identity?refresh=true").field("ETag") == tag)
    }

    // MARK: Staying up

    @Test(arguments: ["torn:1", "torn:7:1", "fragmented:5"])
    func `frames that come in pieces are whole frames`(delivery: String) async throws {
        let gateway = try GatewayProcess(["--fault", "delivery=\(delivery)"])
        let ladle = try await gateway.ladle()
        try ladle.online()
        #expect(try ask(ladle, "hello in pieces").body.contains("hello in pieces"))
    }

    @Test func `a restart that is announced is followed at once, and messages sent meanwhile arrive`() async throws {
        let gateway = try GatewayProcess()
        let ladle = try await gateway.ladle()
        let since = try ladle.online()["since"]?.string
        // Right after a hello an announcement is not trusted.
        let stream = try events(ladle)
        defer { stream.close() }
        let clock = ContinuousClock()
        let began = clock.now
        while clock.now - began < .milliseconds(2100) { _ = try ladle.request("GET", "/healthz") }
        let restarted = clock.now
        try gateway.control("POST", "restart?keep=1")
        #expect(try stream.read(until: #""state":"online""#).contains("GATEWAY_RESTARTING"))
        #expect(clock.now - restarted < .seconds(2))
        #expect(try ladle.online()["since"]?.string != since)
        #expect(try ask(ladle, "after the restart").body.contains("after the restart"))
    }

    @Test func `a cut line is told at once and taken up again`() async throws {
        let gateway = try GatewayProcess()
        let ladle = try await gateway.ladle()
        try ladle.online()
        let stream = try events(ladle)
        defer { stream.close() }
        let clock = ContinuousClock()
        let began = clock.now
        try gateway.control("POST", "drop")
        let told = try stream.read(until: "LINK_LOST")
        #expect(clock.now - began < .seconds(1))
        #expect(told.contains("retryAt"))
        #expect(try stream.read(until: #""state":"online""#).contains("online"))
        #expect(clock.now - began > .milliseconds(2900))
    }

    @Test(arguments: ["autumn"])
    func `messages said while the line was cut are published once it is back`(release: String) async throws {
        let gateway = try GatewayProcess(["--release", release])
        let ladle = try await gateway.ladle()
        try ladle.online()
        let stream = try ladle.connect()
        defer { stream.close() }
        try stream.send(ladle.requestBytes("GET", "/v1/events?types=message", ["Accept: text/event-stream"]))
        _ = try stream.read(until: "event: hello")
        #expect(try ask(ladle, "before the cut").body.contains("before the cut"))
        _ = try stream.read(until: "You said: before the cut")
        try gateway.control("POST", "drop")
        #expect(try gateway.control("POST", "say?text=hello%20from%20elsewhere").status == 200)
        let told = try stream.read(until: "You said: hello from elsewhere")
        #expect(told.contains(#""text":"hello from elsewhere""#))
        #expect(!told.contains("You said: before the cut"))
        #expect(try ask(ladle, "and now").body.contains("and now"))
        let rest = try stream.read(until: "You said: and now")
        #expect(!rest.contains("from elsewhere"))
    }

    @Test(arguments: ["march"])
    func `a run that began while the line was cut is taken up with all of its text`(release: String) async throws {
        let gateway = try GatewayProcess(["--release", release, "--speed", "2"])
        let ladle = try await gateway.ladle()
        try ladle.online()
        let stream = try ladle.connect()
        defer { stream.close() }
        let types = "types=run.started,run.ended"
        try stream.send(ladle.requestBytes("GET", "/v1/events?\(types)", ["Accept: text/event-stream"]))
        _ = try stream.read(until: "event: hello")
        try gateway.control("POST", "drop")
        #expect(try gateway.control("POST", "say?text=slow%20count").status == 200)
        let told = try stream.read(until: "event: run.ended")
        #expect(told.contains("event: run.started"))
        let run = try #require(try ladle.request("GET", "/v1/runs?limit=1").json["runs"]?[0])
        #expect(run["state"]?.string == "completed")
        let text = run["text"]?.string ?? ""
        #expect(text.hasPrefix("number 1, number 2,") && text.hasSuffix("number 30,"), "\(text)")
    }

    @Test(arguments: ["march", "june"])
    func `holes in the numbers lose no run and no text`(release: String) async throws {
        let gateway = try GatewayProcess(["--release", release, "--fault", "seqGapEvery=2"])
        let ladle = try await gateway.ladle()
        try ladle.online()
        for number in 0..<5 {
            #expect(try ask(ladle, "hello number \(number)").body.contains("hello number \(number)"))
        }
        #expect(try ladle.request("GET", "/v1/activity").json["active"]?.int == 0)
    }

    @Test func `a giant frame ends the connection and not the program`() async throws {
        let gateway = try GatewayProcess()
        let ladle = try await gateway.ladle()
        try ladle.online()
        let stream = try events(ladle)
        defer { stream.close() }
        try gateway.control("POST", "oversized?bytes=27000000")
        #expect(try stream.read(until: #""state":"online""#).contains("PROTOCOL_ERROR"))
        #expect(try ask(ladle, "still here").body.contains("still here"))
    }

    @Test func `rubbish in frames is passed over, rubbish instead of frames ends the connection`() async throws {
        let gateway = try GatewayProcess(["--fault", "garbage=-1"])
        let ladle = try await gateway.ladle()
        try ladle.online()
        for text in ["%5D%5Dgarbage", "%5B1,2%5D", "%7B%7D", "null", "%7B%22type%22:%22res%22,%22id%22:7%7D"] {
            try gateway.control("POST", "garbage?text=\(text)")
        }
        #expect(try ask(ladle, "still here").body.contains("still here"))
        let stream = try events(ladle)
        defer { stream.close() }
        try gateway.control("POST", "garbage?raw=1")
        #expect(try stream.read(until: #""state":"online""#).contains("PROTOCOL_ERROR"))
        #expect(try gateway.state["lastClose"]?["code"]?.int == 1002)
        #expect(try ask(ladle, "and again").body.contains("and again"))
    }

    @Test func `a silent gateway is left within two ticks, with 4000`() async throws {
        let gateway = try GatewayProcess(["--tick", "400"])
        let ladle = try await gateway.ladle()
        try ladle.online()
        let stream = try events(ladle)
        defer { stream.close() }
        try gateway.control("POST", "faults?silence=true")
        let clock = ContinuousClock()
        let began = clock.now
        #expect(try stream.read(until: "TICK_TIMEOUT").contains("offline"))
        #expect(clock.now - began < .milliseconds(2 * 400 + 200))
        let close = try eventually { try gateway.state["lastClose"] }
        #expect(close["code"]?.int == 4000 && close["reason"]?.string == "tick timeout")
        try gateway.control("POST", "faults?silence=false")
        try ladle.online()
    }

    @Test func `a gateway that never says a word is given up and tried again`() async throws {
        let gateway = try GatewayProcess(["--fault", "refuseConnections=-1"])
        let ladle = try await gateway.ladle()
        let link = try ladle.link { $0["state"]?.string == "offline" && $0["code"] != nil }
        #expect(link["retryAt"]?.string != nil)
        try gateway.control("POST", "faults?refuseConnections=0")
        try ladle.online()
    }
}
