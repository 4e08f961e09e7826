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
}
