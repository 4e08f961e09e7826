import Basics
import JSONBytes
import TestSupport
import Testing

@testable import Broker

struct CommandReaderTests {
    private let now = CommandProof.now

    private func read(
        _ topic: String,
        _ payload: String,
        scopes: BrokerScopes = .all,
        _ change: (inout BrokerMessage) -> Void = { _ in }
    ) throws -> BrokerReading {
        var message = BrokerMessage(topic: "ladle/den/\(topic)", payload: Array(payload.utf8))
        change(&message)
        return CommandReader(topics: try denTopics(), scopes: scopes).read(message, now: now)
    }

    private func command(
        _ topic: String,
        _ payload: String,
        _ change: (inout BrokerMessage) -> Void = { _ in }
    ) throws -> BrokerCommand {
        let reading = try read(topic, payload, change)
        guard case .command(let command) = reading else { throw Unexpected(reading: reading) }
        return command
    }

    private func refusal(
        _ topic: String,
        _ payload: String,
        scopes: BrokerScopes = .all,
        _ change: (inout BrokerMessage) -> Void = { _ in }
    ) throws -> BrokerRefusal {
        let reading = try read(topic, payload, scopes: scopes, change)
        guard case .refused(let refusal, _, _) = reading else { throw Unexpected(reading: reading) }
        return refusal
    }

    private struct Unexpected: Error { let reading: BrokerReading }

    private func request(_ command: BrokerCommand) -> (line: String, body: String) {
        guard case .request(let request) = command.action else { return ("", "") }
        return ("\(request.method.rawValue) \(request.path)", String(decoding: request.body, as: UTF8.self))
    }

    @Test func `text is a message, whatever it looks like`() throws {
        let plain = try command("send", #"{"all":true}"#)
        #expect(request(plain) == ("POST /v1/messages", #"{"text":"{\"all\":true}"}"#))
        #expect(plain.verb == .send && plain.key == .none && !plain.waits)
        let named = try command("send/agent:main:x%2Fy", "hi") { $0.expiry = 0 }
        #expect(request(named).body == #"{"text":"hi","session":"agent:main:x/y","ttlSeconds":1}"#)
        #expect(named.message == .init(session: "agent:main:x/y", text: "hi"))
        let late = try command("send", "hi") { $0.expiry = .max }
        #expect(request(late).body == #"{"text":"hi","ttlSeconds":2592000}"#)
    }

    @Test func `JSON goes to the API without the command's own members`() throws {
        let sent = try command(
            "cmd/send",
            #"{"id":"a b","wait":true,"at":"2020-01-01T00:00:00Z","text":"hi","session":"main","ttlSeconds":90}"#
        ) { $0.expiry = 60 }
        #expect(request(sent).body == #"{"text":"hi","session":"main","ttlSeconds":60}"#)
        #expect(sent.waits && sent.key == .given("id-hex:612062") && sent.address.id == "a b")
        #expect(sent.address.topic == "ladle/den/results")
    }

    @Test func `runs and sessions are stopped, entries sent again`() throws {
        #expect(request(try command("cmd/abort", #"{"run":"../x y"}"#)).line == "POST /v1/runs/..%2fx%20y/abort")
        #expect(request(try command("cmd/abort", #"{"run":".."}"#)).line == "POST /v1/runs/%2e%2e/abort")
        #expect(
            request(try command("cmd/abort", #"{"session":"agent:main:é"}"#)).line
                == "POST /v1/sessions/agent%3amain%3a%c3%a9/abort"
        )
        #expect(try command("cmd/abort", #"{"all":true}"#).action == .abortAll)
        #expect(request(try command("cmd/retry", #"{"entry":"e1"}"#)).line == "POST /v1/outbox/e1/retry")
        #expect(try command("cmd/retry", "{}").action == .retryFailed)
        #expect(try refusal("cmd/abort", #"{"run":"a","all":true}"#).code == .invalidField)
        #expect(try refusal("cmd/abort", "{}").field == "run")
        #expect(try refusal("cmd/abort", #"{"all":false}"#).field == "all")
    }

    @Test func `approvals are decided one by one, and never for ever`() throws {
        let once = try command("cmd/approvals", #"{"id":"ap-1","decision":"allow-once"}"#)
        #expect(request(once) == ("POST /v1/approvals/ap-1", #"{"decision":"allow-once"}"#))
        #expect(once.key == .none && once.address.id == "ap-1")
        #expect(try command("cmd/approvals/deny", #"{"all":true}"#).action == .denyAll)
        #expect(try refusal("cmd/approvals", #"{"id":"a","decision":"allow-always"}"#).code == .decisionNotAllowed)
        #expect(try refusal("cmd/approvals", #"{"id":"a","decision":"allow"}"#).code == .invalidField)
        #expect(try refusal("cmd/approvals", #"{"decision":"deny"}"#).field == "id")
        #expect(try refusal("cmd/approvals", #"{"all":true}"#).hint?.contains("at, commandSha256") == true)
        #expect(try refusal("cmd/approvals/deny", "{}").field == "all")
    }

    @Test func `a session's settings are changed by merge`() throws {
        let change = try command("cmd/session", #"{"session":"main","model":null,"pinned":true,"id":"x"}"#)
        #expect(request(change) == ("PATCH /v1/sessions/main", #"{"model":null,"pinned":true}"#))
        guard case .request(let patch) = change.action else { return }
        #expect(patch.ifMatch == "*" && patch.contentType == "application/merge-patch+json" && !patch.takesKey)
        #expect(try refusal("cmd/session", #"{"session":"main"}"#).field == "model")
        #expect(try refusal("cmd/session", #"{"session":"main","modle":"x"}"#).hint == "Did you mean `model`?")
    }

    @Test func `the first of correlation, property and id is the key`() throws {
        let body = #"{"text":"hi","id":"i1"}"#
        let all = try command("cmd/send", body) {
            $0.correlation = [1, 0xAB]
            $0.properties = [.init("idempotency-key", "p1"), .init("wait", "true")]
        }
        #expect(all.key == .given("correlation:01ab") && all.waits && all.address.correlation == [1, 0xAB])
        let long = try command("cmd/send", body) {
            $0.correlation = [UInt8](repeating: 1, count: 65)
            $0.properties = [.init("idempotency-key", "p1")]
        }
        #expect(long.key == .given("property:p1") && long.address.correlation?.count == 65)
        #expect(try command("cmd/send", body).key == .given("id:i1"))
        #expect(try command("send", "hi") { $0.isDuplicate = true }.key == .digestOfDuplicate)
        let tooLong = String(repeating: "x", count: 121)
        #expect(try refusal("cmd/send", #"{"text":"a","id":"\#(tooLong)"}"#).field == "id")
        #expect(
            try refusal("send", "a") { $0.properties = [.init("idempotency-key", tooLong)] }.field == "idempotency-key"
        )
    }

    @Test func `a retained command is refused, and an empty payload is none`() throws {
        #expect(try refusal("send", "hi") { $0.isRetained = true }.code == .retainedCommand)
        #expect(try read("cmd/abort", "") { $0.isRetained = true } == .ignored)
        #expect(try read("status", "{}") == .ignored)
        #expect(try read("x", "{}") { $0.topic = "ladle/attic/send" } == .ignored)
    }

    @Test func `an old command to stop or allow is refused, an old message is not`() throws {
        let old = now.adding(milliseconds: -600_001).rfc3339
        #expect(try refusal("cmd/abort", #"{"all":true,"at":"\#(old)"}"#).code == .commandTooOld)
        #expect(try refusal("cmd/approvals/deny", #"{"all":true,"at":"\#(old)"}"#).code == .commandTooOld)
        #expect(try command("cmd/send", #"{"text":"hi","at":"\#(old)"}"#).verb == .send)
        let recent = now.adding(milliseconds: -600_000).rfc3339
        #expect(try command("cmd/abort", #"{"all":true,"at":"\#(recent)"}"#).action == .abortAll)
        #expect(try refusal("cmd/abort", #"{"all":true,"at":"today"}"#).field == "at")
    }

    @Test func `a command without its scope is refused, although a kept subscription delivers it`() throws {
        #expect(try refusal("send", "hi", scopes: .read).code == .missingScope)
        #expect(try refusal("cmd/session", "{}", scopes: .send).code == .missingScope)
        #expect(try refusal("cmd/approvals", "{}", scopes: [.send, .control]).code == .missingScope)
    }

    @Test func `sizes and forms have their limits`() throws {
        #expect(try command("send", String(repeating: "x", count: 65_536)).verb == .send)
        #expect(try refusal("send", String(repeating: "x", count: 65_537)).code == .messageTooLarge)
        #expect(try refusal("send", "x") { $0.payload = [0xFF] }.code == .malformedText)
        #expect(try refusal("send/", "x").field == "session")
        #expect(try refusal("send/a%2", "x").field == "session")
        #expect(try refusal("cmd/send", "hi").code == .malformedJSON)
        #expect(try refusal("cmd/send", "[]").code == .malformedJSON)
        #expect(try refusal("cmd/send", #"{"text":"\ud800"}"#).field == "text")
        #expect(try refusal("cmd/send", String(repeating: " ", count: 1 << 20) + "{}").code == .bodyTooLarge)
        #expect(try refusal("cmd/send", #"{"text":"a","wait":1}"#).field == "wait")
        #expect(try refusal("cmd/abrot", "{}").hint == "Did you mean `cmd/abort`?")
        #expect(try refusal("cmd/send", #"{"txet":"a"}"#).hint == "Did you mean `text`?")
    }

    @Test func `a result goes to the response topic only where Ladle may write`() throws {
        let there = try command("send", "hi") { $0.responseTopic = "phones/1" }
        #expect(there.address.topic == "phones/1")
        let reading = try read("send", "hi") { $0.responseTopic = "homeassistant/device/x/config" }
        guard case .refused(let refusal, let verb, let address) = reading else { throw Unexpected(reading: reading) }
        #expect(refusal.code == .responseTopicNotAllowed && verb == .send && address.topic == "ladle/den/results")
    }

    @Test func `hostile messages never break a property`() throws {
        var random = SeededRandom(5)
        let topics = ["send", "send/x", "cmd/send", "cmd/abort", "cmd/approvals", "cmd/session", "cmd/x", "status"]
        for _ in 0..<500 {
            var bytes: [UInt8] = [UInt8.random(in: 0...255, using: &random)]
            bytes += "ladle/den/\(topics.randomElement(using: &random) ?? "")\n".utf8
            let response = HostileText.make(&random).utf8.filter { $0 != 0x0A }
            bytes += response + [0x0A]
            var writer = JSONWriter()
            writer.object { object in
                for name in ["id", "text", "session", "run", "decision"] where Bool.random(using: &random) {
                    object.member(name, HostileText.make(&random))
                }
            }
            bytes += writer.bytes
            #expect(CommandProof.problem(with: bytes) == nil)
        }
    }
}
