import JSONBytes
import TestSupport
import Testing

/// Messages through a gateway that fails at the worst moments, over real sockets.
@Suite(.serialized) struct GatewayFaultTests {
    private static let text = ["Content-Type: text/plain"]

    /// It writes the user's row at the start of the run, as the newest releases do.
    private static func gateway(_ options: [String] = []) throws -> GatewayProcess {
        try GatewayProcess(["--store-user-row"] + options)
    }

    @Test(arguments: ["ackThenClose", "closeBeforeAck", "doubleAck"])
    func `a message runs once whatever becomes of its acknowledgement`(fault: String) async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([(fault, "1")])
        let id = try ladle.send("one")
        let next = try ladle.send("two")
        let entry = try ladle.entry(id, becomes: "delivered")
        #expect(entry["proof"]?.string != nil)
        #expect(entry["attempts"]?[0]?["class"]?.string == (fault == "closeBeforeAck" ? "ambiguous" : "accepted"))
        try ladle.entry(next, becomes: "delivered")
        #expect(try gateway.accepted().map(\.text) == ["one", "two"])
    }

    @Test func `a message that never arrived goes again under its key, ahead of what waits behind it`() async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([("loseSend", "1")])
        let id = try ladle.send("one")
        let next = try ladle.send("two")
        let entry = try ladle.entry(id, becomes: "delivered")
        #expect(entry.attemptClasses == ["ambiguous", "accepted"])
        try ladle.entry(next, becomes: "delivered")
        #expect(try gateway.accepted().map(\.key) == [id, next])
    }

    @Test(arguments: [("true", "false"), ("true", "true")])
    func `a restart that loses keys does not lose the proof in the history`(_ keys: (keep: String, hidden: String))
        async throws
    {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([
            ("closeBeforeAck", "1"), ("lostDedupe", "true"), ("historyWithoutKeys", keys.hidden),
            ("refuseConnections", "1"),
        ])
        let id = try ladle.send("only once, please")
        try ladle.entry(id, becomes: "unconfirmed")
        try gateway.control("POST", "restart?crash=true&keep=\(keys.keep)")
        let entry = try ladle.entry(id, becomes: "delivered")
        #expect(entry["proof"]?.string == (keys.hidden == "true" ? "text-match" : "history"))
        #expect(try gateway.accepted().map(\.key) == [id])
    }

    /// The two clocks differ by a minute, and history shows no keys: it goes by text and time.
    @Test(arguments: ["-60000", "60000"])
    func `a message is found in the history by the gateway's clock`(skew: String) async throws {
        let gateway = try Self.gateway(["--fault", "clockSkewMs=\(skew)"])
        let ladle = try await gateway.linked()
        try gateway.faults([
            ("clockSkewMs", skew), ("closeBeforeAck", "1"), ("lostDedupe", "true"), ("historyWithoutKeys", "true"),
            ("refuseConnections", "1"), ("silence", "true"),
        ])
        let id = try ladle.send("only once, please")
        let entry = try ladle.entry(id, becomes: "delivered")
        #expect(entry["proof"]?.string == "text-match")
        #expect(try gateway.accepted().map(\.key) == [id])
    }

    @Test func `a gateway that forgot everything gets the message again, under the same key`() async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([("closeBeforeAck", "1"), ("refuseConnections", "1")])
        let id = try ladle.send("again")
        try ladle.entry(id, becomes: "unconfirmed")
        try gateway.control("POST", "restart?crash=true")
        let entry = try ladle.entry(id, becomes: "delivered")
        #expect(entry.attemptClasses == ["ambiguous", "accepted"])
        #expect(try gateway.accepted().map(\.key) == [id, id])
    }

    @Test func `a slash command in doubt waits for a person`() async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([("loseSend", "1")])
        let id = try ladle.send("/model large")
        let behind = try ladle.send("two")
        try ladle.entry(id, becomes: "unconfirmed")
        try ladle.online()
        #expect(try ladle.request("DELETE", "/v1/outbox/\(id)")["code"] == "ENTRY_UNCONFIRMED")
        #expect(try ladle.request("GET", "/v1/outbox").json["unconfirmed"]?.int == 1)
        #expect(try ladle.entry(behind)["state"]?.string == "queued")
        #expect(try ladle.request("POST", "/v1/outbox/\(id)/retry").status == 200)
        try ladle.entry(id, becomes: "delivered")
        try ladle.entry(behind, becomes: "delivered")
        #expect(try gateway.accepted().map(\.text) == ["/model large", "two"])
    }

    @Test func `while the device waits for its approval messages wait too, and no attempt is used up`() async throws {
        let gateway = try Self.gateway(["--pairing", "true"])
        let ladle = try await gateway.ladle()
        try ladle.link { $0["state"]?.string == "waiting_for_approval" }
        let id = try ladle.send("patience")
        let waiting = try ladle.entry(id)
        #expect(waiting["state"]?.string == "queued")
        #expect(waiting["blockedReason"]?.string == "PAIRING_REQUIRED")
        #expect(waiting["attemptCount"]?.int == 0)
        try gateway.control("POST", "pairing/approve")
        let entry = try ladle.entry(id, becomes: "delivered")
        #expect(entry.attemptClasses == ["accepted"])
        #expect(entry["blockedReason"] == nil)
    }

    @Test func `a refusal is told to who waits for it, with the gateway's code`() async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([("sendError", "1"), ("sendErrorCode", "INVALID_REQUEST")])
        let answer = try ladle.request("POST", "/v1/messages?wait=20", Self.text, body: "no")
        #expect(answer.status == 502)
        #expect(answer["code"] == "SEND_REJECTED")
        #expect(answer["gatewayCode"] == "INVALID_REQUEST")
        let id = try #require(answer.json["entry"]?["id"]?.string)
        #expect(try ladle.entry(id).attemptClasses == ["rejected_terminal"])
        #expect(try ladle.request("GET", "/v1/outbox").json["failed"]?.int == 1)
        #expect(try ladle.request("POST", "/v1/outbox/\(id)/retry").status == 200)
        try ladle.entry(id, becomes: "delivered")
        // What was refused may be remembered under its key; the second try has a key of its own.
        #expect(try gateway.accepted().map(\.key) == ["\(id)-r2"])
    }

    @Test func `the gateway's wish for a longer wait is heard`() async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([("sendError", "1"), ("retryAfterMs", "7000")])
        let id = try ladle.send("later")
        let entry = try ladle.entry(id, becomes: "retrying")
        #expect(entry["attempts"]?[0]?["class"]?.string == "rejected_transient")
        #expect(entry["attempts"]?[0]?["delayMs"]?.int == 7000)
    }

    @Test func `what is on the wire can be neither taken back nor sent again`() async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        try gateway.faults([("slowAckMs", "2000"), ("silence", "true")])
        let id = try ladle.send("under way")
        try ladle.entry(id, becomes: "sending")
        for (method, path) in [("DELETE", "/v1/outbox/\(id)"), ("POST", "/v1/outbox/\(id)/retry")] {
            let answer = try ladle.request(method, path)
            #expect(answer.status == 409)
            #expect(answer["code"] == "ALREADY_DISPATCHED")
        }
        #expect(try ladle.entry(id, becomes: "accepted", "delivered").attemptClasses == ["accepted"])
    }

    @Test func `an abort that found the gateway away goes first when it is back`() async throws {
        let gateway = try Self.gateway(["--speed", "0.2"])
        let ladle = try await gateway.linked()
        let id = try ladle.send("append the weather to weather.txt")
        try eventually { try ladle.request("GET", "/v1/runs/\(id)").json["state"]?.string == "running" ? true : nil }
        try gateway.faults([("refuseConnections", "-1")])
        try gateway.control("POST", "drop")
        try ladle.link { $0["state"]?.string == "offline" }
        let behind = try ladle.send("and then this")
        let answer = try ladle.request("POST", "/v1/runs/\(id)/abort")
        #expect(answer.status == 202, "\(answer)")
        let abort = try #require(answer.json["entries"]?[0]?["id"]?.string)
        #expect(answer.json["entries"]?[0]?["kind"]?.string == "abort")
        try gateway.faults([])
        let done = try ladle.entry(abort, becomes: "delivered")
        #expect(done["proof"]?.string == "answer")
        let later = try ladle.entry(behind, becomes: "delivered")
        let sent = try #require(later["attempts"]?.elements.compactMap { $0["at"]?.string }.last)
        #expect((done["updatedAt"]?.string ?? "z") <= sent)
        try eventually { try ladle.request("GET", "/v1/runs/\(id)").json["state"]?.string == "aborted" ? true : nil }
    }

    @Test(arguments: [false, true])
    func `on protocol 3 a message waits for the run that began before the link was lost`(restarts: Bool) async throws {
        let gateway = try Self.gateway(["--protocol", "3", "--speed", "1"])
        var ladle = try await gateway.linked()
        let start = try #require(try ladle.request("GET", "/v1/events?poll=0").json["cursor"]?.string)
        let first = try ladle.send("slow count")
        _ = try eventually {
            try ladle.request("GET", "/v1/events?poll=5&types=run.started&since=\(start)").json["events"]?[0]
        }
        if restarts {
            ladle.signal(9)
            _ = ladle.waitForExit()
            ladle = try await gateway.ladle(state: ladle.state)
        } else {
            try gateway.faults([("refuseConnections", "1")])
            try gateway.control("POST", "drop")
            try ladle.link { $0["state"]?.string == "offline" }
        }
        try ladle.online()
        let next = try ladle.send("two")
        // Accepted later, for a session that is free: the other's turn has come and gone by then.
        try ladle.entry(try ladle.send("three", session: "den"), becomes: "delivered")
        #expect(try ladle.entry(next)["state"]?.string == "queued")
        #expect(try ladle.request("GET", "/v1/runs/\(first)").json["state"]?.string == "running")
        #expect(try ladle.request("POST", "/v1/runs/\(first)/abort").status == 200)
        try ladle.entry(next, becomes: "delivered")
    }

    @Test func `on protocol 3 a busy send takes the run that answers it, and the next one follows that`() async throws {
        let gateway = try Self.gateway(["--protocol", "3", "--speed", "1"])
        try gateway.faults([("refuseConnections", "-1")])
        let away = try await gateway.ladle()
        let id = try away.send("one")
        away.signal(9)
        _ = away.waitForExit()
        try gateway.faults([])
        let other = try await gateway.linked()
        try gateway.control("POST", "say?session=main&text=burst%20400%20100")
        try eventually { try other.request("GET", "/v1/activity").json["active"]?.int == 1 ? true : nil }
        let ladle = try await gateway.ladle(state: away.state)
        try ladle.entry(id, becomes: "delivered")
        let next = try ladle.send("two")
        let sent = try #require(try ladle.entry(next, becomes: "delivered").firstAttempt)
        let run = try #require(try ladle.entry(id)["runId"]?.string)
        #expect(run != id)
        let answer = try ladle.request("GET", "/v1/runs/\(run)").json
        #expect(answer["text"]?.string == "Hello! You said: one")
        #expect(answer["endedAt"]?.string ?? "z" <= sent)
        #expect(try ladle.request("GET", "/v1/outbox/\(id)").json["state"]?.string == "delivered")
    }

    @Test func `a session that somebody else resets fails what waits, one that we reset does not`() async throws {
        let gateway = try Self.gateway()
        let ladle = try await gateway.linked()
        let other = try await gateway.linked()
        try gateway.faults([("sendError", "1"), ("retryAfterMs", "600000")])
        let waiting = try ladle.send("for the old conversation", session: "den")
        try ladle.entry(waiting, becomes: "retrying")
        try other.entry(try other.send("/reset", session: "den"), becomes: "delivered")
        let failed = try ladle.entry(waiting, becomes: "failed")
        #expect(failed["error"]?["code"]?.string == "TARGET_CHANGED")
        #expect(failed.attemptClasses == ["rejected_transient", "route_changed"])
        let reset = try ladle.send("/new", session: "hall")
        let after = try ladle.send("for the new conversation", session: "hall")
        try ladle.entry(reset, becomes: "delivered")
        try ladle.entry(after, becomes: "delivered")
    }
}
