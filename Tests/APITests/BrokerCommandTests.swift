import Basics
import Broker
import EventLoops
import JSONBytes
import MQTT
import Outbox
import Store
import TestSupport
import Testing

@testable import API
@testable import Service

/// Commands of an MQTT broker, on all of Ladle with the demo gateway.
struct BrokerCommandTests {
    private static let root = "ladle/den"

    /// The API with its commands, as a start of the program makes them.
    private final class Ladle {
        let bench: APIBench
        let broker: MemoryBroker
        private var commands: BrokerCommands?

        init(_ bench: APIBench, _ broker: MemoryBroker) {
            (self.bench, self.broker) = (bench, broker)
            open()
        }

        func open() { commands = bench.bench.services.broker.map { BrokerCommands(bench.api, $0) } }

        /// Publishes to a topic and waits until nothing is to be done; time passes only if it is said.
        func say(
            _ topic: String,
            _ payload: String,
            isDuplicate: Bool = false,
            milliseconds: Int64 = 0,
            on loop: isolated EventLoop,
            _ change: (inout MQTTMessage) -> Void = { _ in }
        ) async throws {
            var message = MQTTMessage(topic: "\(root)/\(topic)", payload: Array(payload.utf8))
            change(&message)
            broker.deliver(message, isDuplicate: isDuplicate, on: loop)
            try await bench.advance(milliseconds, on: loop)
            try await bench.bench.settle(on: loop)
        }

        /// The results so far.
        var results: [JSONValue] {
            broker.texts("\(root)/results").compactMap { try? JSONDocument(parsing: $0).root }
        }

        func entries() async throws -> Int {
            try await bench.bench.journal.read { try $0.outbox.list(OutboxTable.Query()).count }
        }
    }

    private func withLadle(
        _ scopes: BrokerScopes = [.read, .send, .control, .approvals],
        sessions: SessionSet? = nil,
        _ test: @escaping @Sendable (Ladle, isolated EventLoop) async throws -> Void
    ) async throws {
        let broker = MemoryBroker()
        var setup = APIBench.Setup.demo
        setup.services = { settings in
            guard let address = try? BrokerAddress("mqtt://127.0.0.1"),
                let topics = try? BrokerTopics(prefix: "ladle", name: "den")
            else { return }
            var own = BrokerSettings(
                address: address,
                clientID: "ladle0123456789abcdef",
                deviceID: "ladle_01234567",
                topics: topics,
                release: "1.2.3"
            )
            own.scopes = scopes
            own.sessions = sessions
            own.connect = { _, client, handler in broker.connect(client, handler) }
            settings.broker = own
        }
        try await withAPI(setup) { bench, loop in
            try await bench.advance(100, on: loop)
            try await test(Ladle(bench, broker), loop)
        }
    }

    @Test func `a text becomes a message, and its PUBACK comes with the entry`() async throws {
        try await withLadle { ladle, loop in
            try await ladle.say("send", "hello", on: loop)
            #expect(ladle.broker.acknowledged == [.success])
            let result = try #require(ladle.results.first)
            #expect(result["status"]?.int == 202 && result["verb"]?.string == "send")
            let id = try #require(result["entry"]?["id"]?.string)
            #expect(try await ladle.bench.bench.entry(id).owner?.hasPrefix("mqtt ") == true)
            try await ladle.bench.advance(5_000, on: loop)
            #expect(ladle.broker.last("\(Self.root)/reply")?.contains("hello") == true)
            try await ladle.say("send/Kitchen%2Flamp", "lights", on: loop)
            #expect(ladle.results.last?["entry"]?["session"]?.string?.contains("kitchen/lamp") == true)
        }
    }

    @Test func `who waits gets the reply as a second result, with the response topic and correlation data`()
        async throws
    {
        try await withLadle { ladle, loop in
            let body = #"{"id":"one","text":"hello","wait":true}"#
            try await ladle.say("cmd/send", body, milliseconds: 10_000, on: loop) {
                $0.responseTopic = "home/answers"
                $0.correlationData = [1, 2, 3]
            }
            let answers = ladle.broker.published.filter { $0.topic == "home/answers" }
            #expect(answers.map(\.correlationData) == [[1, 2, 3], [1, 2, 3]])
            let texts = answers.map { String(decoding: $0.payload, as: UTF8.self) }
            #expect(texts.first?.contains(#""status":202"#) == true)
            #expect(texts.last?.contains(#""status":200"#) == true && texts.last?.contains(#""reply":"Hello!"#) == true)
            #expect(try await ladle.entries() == 1)
        }
    }

    /// The broker repeats what was not acknowledged; Ladle may have died in between.
    @Test(arguments: [true, false], [#"{"id":"one","text":"hello"}"#, #"{"text":"hello"}"#])
    func `a repeat by the broker is one message`(isLadleGone: Bool, body: String) async throws {
        try await withLadle { ladle, loop in
            try await ladle.say("cmd/send", body, on: loop)
            if isLadleGone {
                try await ladle.bench.restart(on: loop)
                ladle.open()
                try await ladle.bench.advance(1_000, on: loop)
            }
            try await ladle.say("cmd/send", body, isDuplicate: true, on: loop)
            #expect(try await ladle.entries() == 1)
            #expect(ladle.results.count == 2 && ladle.results.allSatisfy { $0["status"]?.int == 202 })
        }
    }

    @Test func `a message that the disk does not take stays at the broker`() async throws {
        try await withLadle { ladle, loop in
            ladle.bench.bench.journal.failWrites(.unavailable("no space"))
            try await ladle.say("send", "hello", on: loop)
            #expect(ladle.broker.acknowledged.isEmpty)
            let seen = ladle.bench.bench.services.broker?.condition(on: loop)
            #expect(seen?.code == "MQTT_NOT_KEPT")
            ladle.bench.bench.journal.failWrites(nil)
            try await ladle.bench.advance(3_000, on: loop)
            try await ladle.say("send", "hello", isDuplicate: true, on: loop)
            #expect(ladle.broker.acknowledged == [.success])
            #expect(try await ladle.entries() == 1)
        }
    }

    @Test func `two equal presses are two messages`() async throws {
        try await withLadle { ladle, loop in
            for _ in 0..<2 { try await ladle.say("send", "hello", milliseconds: 1_000, on: loop) }
            #expect(try await ladle.entries() == 2)
        }
    }

    @Test func `a kept message is no command, and neither is an empty one`() async throws {
        try await withLadle { ladle, loop in
            try await ladle.say("send", "hello", on: loop) { $0.retain = true }
            #expect(ladle.results.first?["code"]?.string == "RETAINED_COMMAND")
            try await ladle.say("send", "", on: loop)
            #expect(try await ladle.entries() == 0)
            #expect(ladle.broker.acknowledged == [.success, .success])
        }
    }

    @Test func `with the scope read alone nothing is taken`() async throws {
        try await withLadle(.read) { ladle, loop in
            #expect(ladle.broker.subscriptions.isEmpty)
            // As a session that the broker kept from before might.
            try await ladle.say("send", "hello", on: loop)
            #expect(ladle.results.first?["code"]?.string == "MISSING_SCOPE")
            #expect(try await ladle.entries() == 0)
        }
    }

    @Test func `sessions that were not named are out of reach`() async throws {
        try await withLadle(sessions: ["agent:main:other"]) { ladle, loop in
            try await ladle.say("send", "hello", on: loop)
            #expect(ladle.results.last?["status"]?.int == 403)
            try await ladle.say("send/other", "hello", on: loop)
            #expect(ladle.results.last?["status"]?.int == 202)
        }
    }

    @Test func `all runs are stopped, and all failed messages retried`() async throws {
        try await withLadle { ladle, loop in
            try await ladle.say("send", "tell me a long story", milliseconds: 700, on: loop)
            try await ladle.say("cmd/abort", #"{"all":true}"#, milliseconds: 2_000, on: loop)
            let result = try #require(ladle.results.last)
            #expect(result["verb"]?.string == "abort" && result["answer"]?["failed"]?.int == 0)
            try await ladle.say("cmd/retry", "{}", on: loop)
            #expect(ladle.results.last?["answer"]?["done"]?.int == 0)
            try await ladle.say("cmd/abort", #"{"run":"nothing"}"#, on: loop)
            #expect(ladle.results.last?["code"]?.string == "RUN_NOT_FOUND")
        }
    }

    @Test func `an automation that answers itself is stopped`() async throws {
        try await withLadle { ladle, loop in
            for _ in 0..<4 { try await ladle.say("send", "again", milliseconds: 2_000, on: loop) }
            #expect(ladle.results.last?["code"]?.string == "LOOP_SUSPECTED")
            #expect(try await ladle.entries() == 3)
        }
    }

    @Test func `more commands than a house gives are refused, and nothing stops reading`() async throws {
        try await withLadle { ladle, loop in
            for number in 0..<30 { try await ladle.say("cmd/abort", #"{"run":"r\#(number)"}"#, on: loop) }
            let codes = ladle.results.compactMap { $0["code"]?.string }
            #expect(codes.count { $0 == "RATE_LIMITED" } == 10)
            #expect(ladle.broker.acknowledged.count { $0 == .quotaExceeded } == 10)
        }
    }
}
