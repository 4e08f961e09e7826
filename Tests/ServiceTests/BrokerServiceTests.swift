import Basics
import Broker
import EventLoops
import EventStream
import Gateway
import JSONBytes
import MQTT
import Observability
import TestSupport
import Testing

@testable import Service

/// State and events at an MQTT broker, over its deaths and Ladle's.
struct BrokerServiceTests {
    private static let root = "ladle/den"

    private static func settings(
        _ broker: MemoryBroker,
        _ change: (inout BrokerSettings) -> Void = { _ in }
    ) throws -> ServiceSettings {
        var settings = BrokerSettings(
            address: try BrokerAddress("mqtt://127.0.0.1"),
            clientID: "ladle0123456789abcdef",
            deviceID: "ladle_01234567",
            topics: try BrokerTopics(prefix: "ladle", name: "den"),
            release: "1.2.3"
        )
        settings.connect = { _, client, handler in broker.connect(client, handler) }
        change(&settings)
        var services = ServiceSettings()
        services.broker = settings
        return services
    }

    private func withBroker(
        _ change: @escaping @Sendable (inout BrokerSettings) -> Void = { _ in },
        _ test: @escaping @Sendable (MemoryBroker, ServiceBench, isolated EventLoop) async throws -> Void
    ) async throws {
        let broker = MemoryBroker()
        try await withServices(try Self.settings(broker, change)) { bench, loop in
            try await bench.open(on: loop)
            try await test(broker, bench, loop)
        }
    }

    private func member(_ message: MQTTMessage, _ name: String) -> String? {
        try? JSONDocument(parsing: message.payload).root[name]?.string
    }

    private func condition(_ bench: ServiceBench, on loop: isolated EventLoop) throws -> BrokerCondition {
        let condition = bench.services.broker?.condition(on: loop)
        return try #require(condition)
    }

    /// The ids of the events, each of which names the one before it, except after a break.
    private func ids(_ broker: MemoryBroker) -> [String] { broker.events.compactMap { member($0, "id") } }

    private func durable(_ bench: ServiceBench) -> [String] { bench.published.compactMap { $0.id?.text } }

    private func run(_ id: String, _ bench: ServiceBench, on loop: isolated EventLoop) async throws {
        try await bench.event("agent", Frame.start(id), on: loop)
        try await bench.event("chat", Frame.final(id, 2, "Done."), on: loop)
        try await bench.advance(2_000, on: loop)
    }

    @Test func `a new connection gets all state, and keeps it at the broker`() async throws {
        try await withBroker { broker, bench, loop in
            #expect(broker.connects.count == 1)
            #expect(broker.connects.first?.will?.message.topic == "\(Self.root)/status")
            for topic in ["status", "link", "activity", "reply", "error", "outbox"] {
                let message = try #require(broker.published.last { $0.topic == "\(Self.root)/\(topic)" }, "\(topic)")
                #expect(message.retain && message.qos == .atLeastOnce)
            }
            #expect(broker.last("\(Self.root)/status")?.contains(#""state":"online""#) == true)
            #expect(broker.subscriptions.isEmpty, "nobody may send commands")
            try await run("r", bench, on: loop)
            #expect(broker.last("\(Self.root)/reply")?.contains(#""short":"Done.""#) == true)
            #expect(broker.last("\(Self.root)/activity")?.contains(#""active":0"#) == true)
            broker.forget()
            broker.kill(on: loop)
            try await bench.advance(2_000, on: loop)
            #expect(broker.connects.count == 2)
            #expect(broker.last("\(Self.root)/reply")?.contains(#""short":"Done.""#) == true)
            #expect(broker.last("\(Self.root)/link") != nil)
        }
    }

    @Test func `events come in the order of the log, and each names the one before it`() async throws {
        try await withBroker { broker, bench, loop in
            for id in ["a", "b", "c"] { try await run(id, bench, on: loop) }
            #expect(ids(broker) == durable(bench))
            let previous = broker.events.dropFirst().map { member($0, "prev") }
            #expect(previous == ids(broker).dropLast().map { $0 })
            let seen1 = try condition(bench, on: loop)
            #expect(seen1.lag.events == 0)
        }
    }

    @Test(arguments: [true, false])
    func `an event that was not acknowledged comes again after a break`(isLadle: Bool) async throws {
        try await withBroker { broker, bench, loop in
            try await run("a", bench, on: loop)
            try await bench.advance(2_000, on: loop)
            let before = ids(broker)
            broker.acknowledges = false
            try await run("b", bench, on: loop)
            let lost = ids(broker).dropFirst(before.count)
            #expect(!lost.isEmpty)
            let seen2 = try condition(bench, on: loop)
            #expect(seen2.lag.events > 0)
            broker.forget()
            broker.acknowledges = true
            if isLadle {
                broker.kill(on: loop)
                try await bench.kill(on: loop)
            } else {
                broker.kill(on: loop)
            }
            try await bench.advance(3_000, on: loop)
            #expect(ids(broker).starts(with: lost))
            #expect(broker.events.first.flatMap { member($0, "prev") } == before.last)
        }
    }

    @Test func `what happens while the broker is away waits in the log`() async throws {
        try await withBroker { broker, bench, loop in
            let before = ids(broker)
            broker.isAway = true
            broker.kill(on: loop)
            for id in ["a", "b"] { try await run(id, bench, on: loop) }
            #expect(ids(broker) == before)
            let now = try condition(bench, on: loop)
            #expect(now.state == .offline && now.code == "MQTT_UNREACHABLE")
            #expect(now.lag.events > 0 && now.lag.seconds > 0)
            broker.isAway = false
            try await bench.advance(60_000, on: loop)
            #expect(ids(broker) == durable(bench))
            let seen3 = try condition(bench, on: loop)
            #expect(seen3.state == .online)
        }
    }

    @Test func `a window of one message loses nothing`() async throws {
        try await withBroker { broker, bench, loop in
            broker.limits.add(.receiveMaximum, .two(1))
            broker.kill(on: loop)
            try await bench.advance(2_000, on: loop)
            for id in ["a", "b", "c"] { try await run(id, bench, on: loop) }
            #expect(ids(broker) == durable(bench))
        }
    }

    @Test func `a topic that the broker denies is left out, and the others go on`() async throws {
        try await withBroker { broker, bench, loop in
            let topic = "\(Self.root)/events/run.ended"
            broker.refusals[topic] = .notAuthorized
            try await run("a", bench, on: loop)
            try await run("b", bench, on: loop)
            #expect(broker.texts(topic).count == 1)
            #expect(broker.texts("\(Self.root)/events/run.started").count == 2)
            let now = try condition(bench, on: loop)
            #expect(now.state == .degraded && now.code == "MQTT_PUBLISH_DENIED")
            #expect(now.detail?.contains(topic) == true)
            #expect(now.lag.events == 0, "its place in the log moves on")
            broker.refusals = [:]
            try await bench.advance(600_000, on: loop)
            try await run("c", bench, on: loop)
            #expect(broker.texts(topic).count == 2)
            let seen4 = try condition(bench, on: loop)
            #expect(seen4.state == .online)
        }
    }

    @Test func `an event that the broker finds too large comes as a stub`() async throws {
        try await withBroker { broker, bench, loop in
            broker.largestPayload = 5_000
            try await bench.event("agent", Frame.start("a"), on: loop)
            try await bench.event("chat", Frame.final("a", 2, String(repeating: "x", count: 8_000)), on: loop)
            try await bench.advance(2_000, on: loop)
            let ends = broker.published.filter { $0.topic == "\(Self.root)/events/run.ended" }
            #expect(ends.count == 2)
            let stub = try #require(ends.last)
            #expect(String(decoding: stub.payload, as: UTF8.self).contains(#""tooLarge":true"#))
            #expect(member(stub, "id") == ends.first.flatMap { member($0, "id") })
        }
    }

    @Test func `a broker without room gets the event again later`() async throws {
        try await withBroker { broker, bench, loop in
            let topic = "\(Self.root)/events/run.ended"
            broker.refusals[topic] = .quotaExceeded
            try await run("a", bench, on: loop)
            #expect(broker.connects.count > 1)
            broker.refusals = [:]
            broker.forget()
            try await bench.advance(60_000, on: loop)
            #expect(broker.texts(topic).count == 1)
        }
    }

    @Test func `a wrong password is tried again after minutes, or when told to`() async throws {
        let broker = MemoryBroker()
        broker.connack = 0x87
        try await withServices(try Self.settings(broker)) { bench, loop in
            try await bench.advance(200_000, on: loop)
            #expect(broker.connects.count == 1)
            let now = try condition(bench, on: loop)
            #expect(now.state == .refused && now.code == "MQTT_NOT_AUTHORIZED")
            #expect(now.hint?.contains("mqtt.passwordFile") == true)
            try await bench.advance(101_000, on: loop)
            #expect(broker.connects.count == 2)
            broker.connack = 0
            bench.services.broker?.retryNow(on: loop)
            try await bench.settle(on: loop)
            let seen5 = try condition(bench, on: loop)
            #expect(seen5.state == .online)
        }
    }

    @Test func `a broker without MQTT 5 is spoken to in 3_1_1`() async throws {
        let broker = MemoryBroker()
        broker.connack = 0x84
        try await withServices(try Self.settings(broker)) { bench, loop in
            try await bench.settle(on: loop)
            #expect(broker.connects.map(\.version) == [.v5, .v311])
        }
    }

    @Test func `a broker that closes every connection is not taken for one of 3_1_1`() async throws {
        let broker = MemoryBroker()
        broker.isMute = true
        try await withServices(try Self.settings(broker)) { bench, loop in
            for _ in 0..<4 {
                broker.kill(on: loop)
                try await bench.advance(8_000, on: loop)
            }
            let versions = broker.connects.map(\.version)
            #expect(versions.prefix(4) == [.v5, .v5, .v311, .v5], "\(versions)")
        }
    }

    @Test func `two Ladles with one id do not throw each other out for ever`() async throws {
        try await withBroker { broker, bench, loop in
            for _ in 0..<20 {
                broker.disconnect(.sessionTakenOver, on: loop)
                try await bench.advance(10_000, on: loop)
            }
            #expect(broker.connects.count < 6)
            let seen6 = try condition(bench, on: loop)
            #expect(seen6.code == "MQTT_TAKEN_OVER")
        }
    }

    /// RabbitMQ closes the connection where a right is missing.
    @Test func `a broker that closes at one point is not taken for another Ladle`() async throws {
        let broker = MemoryBroker()
        broker.closesAt = { if case .subscribe = $0 { true } else { false } }
        try await withServices(
            try Self.settings(broker) {
                $0.version = .v311
                $0.scopes = [.read, .send]
            }
        ) { bench, loop in
            try await bench.advance(20_000, on: loop)
            let seen8 = try condition(bench, on: loop)
            #expect(seen8.code == "MQTT_SUBSCRIBE_DENIED" && broker.connects.count > 3)
            let topic = "\(Self.root)/reply"
            broker.closesAt = { if case .publish(let publish) = $0 { publish.message.topic == topic } else { false } }
            broker.refusals[topic] = .success
            broker.acknowledges = false
            try await bench.advance(200_000, on: loop)
            let seen9 = try condition(bench, on: loop)
            #expect(seen9.code == "MQTT_CLOSED" && seen9.detail?.contains("message to") == true)
        }
    }

    @Test func `an orderly stop says offline itself`() async throws {
        try await withBroker { broker, bench, loop in
            bench.services.broker?.stop(on: loop)
            try await bench.settle(on: loop)
            #expect(broker.last("\(Self.root)/status")?.contains(#""state":"offline""#) == true)
            #expect(broker.hasFarewell)
            try await bench.advance(120_000, on: loop)
            #expect(broker.connects.count == 1)
        }
    }

    @Test func `Home Assistant's device comes with its moments, and goes when it is switched off`() async throws {
        let broker = MemoryBroker()
        let topic = "homeassistant/device/ladle_01234567/config"
        let settings = try Self.settings(broker) { $0.discovery = "Ladle" }
        try await withServices(settings) { bench, loop in
            try await bench.open(on: loop)
            #expect(broker.last(topic)?.contains(#""cmps":"#) == true)
            #expect(broker.subscriptions.map(\.filter) == ["homeassistant/status"])
            try await run("a", bench, on: loop)
            let moments = broker.texts("\(Self.root)/ha/run")
            #expect(moments.count == 2 && moments.last?.contains(#""event_type":"completed""#) == true)
            broker.forget()
            // Home Assistant was restarted.
            broker.deliver(MQTTMessage(topic: "homeassistant/status", payload: Array("online".utf8)), on: loop)
            try await bench.advance(6_000, on: loop)
            #expect(broker.texts(topic).count == 1 && broker.texts("\(Self.root)/reply").count == 1)
            broker.forget()
            broker.kill(on: loop)
            try await bench.restart(without: { $0.broker?.discovery = nil }, on: loop)
            try await bench.advance(3_000, on: loop)
            #expect(broker.texts(topic) == [""])
        }
    }

    @Test func `sessions and types that were not chosen stay at home`() async throws {
        try await withBroker {
            $0.sessions = ["agent:main:other"]
            $0.events = try? EventFilter(types: "run.ended", session: nil, run: nil, known: ["run.ended"])
        } _: { broker, bench, loop in
            try await run("a", bench, on: loop)
            #expect(ids(broker).isEmpty)
            #expect(broker.last("\(Self.root)/reply")?.contains(#""short":"None""#) == true)
            let other = "agent:main:other"
            try await bench.event("agent", Frame.start("b", session: other), on: loop)
            try await bench.event("chat", Frame.final("b", 2, "Other.", session: other), on: loop)
            try await bench.advance(2_000, on: loop)
            #expect(broker.events.map(\.topic) == ["\(Self.root)/events/run.ended"])
            #expect(broker.last("\(Self.root)/reply")?.contains(#""short":"Other.""#) == true)
        }
    }

    // MARK: What the gateway is asked for

    private static let den = "agent:main:den"
    private static let topic = "ladle/den/sessions/agent:main:den"
    private static let device = "homeassistant/device/ladle_01234567/config"
    private static let models = ok(#"{"models":[{"id":"m-1","provider":"p"},{"id":"m-2","provider":"p"}]}"#)

    private static func list(_ rows: String) -> CallOutcome { ok("{\"sessions\":[\(rows)]}") }

    private static let row =
        #"{"key":"agent:main:den","sessionId":"s","modelProvider":"p","model":"m-1","thinkingLevel":"low","thinkingLevels":["off","low"]}"#

    private static func choosing(_ broker: MemoryBroker) throws -> ServiceSettings {
        try settings(broker) {
            $0.discovery = "Ladle"
            $0.scopes = [.read, .control]
            $0.shownSessions = [den]
        }
    }

    @Test func `a session's model and thinking level can be chosen once the gateway has told of them`() async throws {
        let broker = MemoryBroker()
        try await withServices(try Self.choosing(broker)) { bench, loop in
            try await bench.advance(6_000, on: loop)
            #expect(broker.last(Self.topic) == nil, "nothing is known of the session")
            bench.gateway.next("models.list", Self.models, Self.models, Self.models)
            bench.gateway.next("sessions.list", Self.list(Self.row), Self.list(Self.row), Self.list(Self.row))
            try await bench.open(methods: ["models.list"], on: loop)
            bench.gateway.status.scopes = ["operator.admin"]
            try await bench.advance(70_000, on: loop)
            let payload = try #require(broker.last(Self.device))
            #expect(payload.contains(#""ops":["p/m-1","p/m-2"]"#) && payload.contains(#""ops":["off","low"]"#))
            #expect(broker.last(Self.topic)?.contains(#""model":"p/m-1","thinking":"low""#) == true)
            // A Ladle that does not know yet takes no entity away.
            broker.forget()
            broker.kill(on: loop)
            try await bench.restart(on: loop)
            try await bench.advance(3_000, on: loop)
            let again = try #require(broker.last(Self.device))
            #expect(!again.contains("session_"), "\(again)")
        }
    }

    @Test func `no choice is offered that the gateway refuses`() async throws {
        let broker = MemoryBroker()
        try await withServices(try Self.choosing(broker)) { bench, loop in
            bench.gateway.next("models.list", Self.models)
            bench.gateway.next("sessions.list", Self.list(Self.row))
            try await bench.open(methods: ["models.list"], on: loop)
            bench.gateway.status.scopes = ["operator.read", "operator.write"]
            try await bench.advance(12_000, on: loop)
            #expect(broker.last(Self.topic)?.contains(#""key""#) == true)
            #expect(broker.last(Self.device)?.contains("session_") == false)
        }
    }

    @Test func `a gateway that refuses its lists is left alone for a minute`() async throws {
        let broker = MemoryBroker()
        try await withServices(try Self.choosing(broker)) { bench, loop in
            try await bench.open(methods: ["models.list"], on: loop)
            bench.gateway.status.scopes = ["operator.admin"]
            try await bench.advance(59_000, on: loop)
            #expect(bench.gateway.requests("models.list").count <= 1)
        }
    }

    @Test func `a deleted session's topic is emptied, and its entities go`() async throws {
        let broker = MemoryBroker()
        try await withServices(try Self.choosing(broker)) { bench, loop in
            bench.gateway.next("models.list", Self.models)
            bench.gateway.next("sessions.list", Self.list(Self.row), Self.list(""), Self.list(""), Self.list(""))
            try await bench.open(methods: ["models.list"], on: loop)
            bench.gateway.status.scopes = ["operator.admin"]
            try await bench.advance(70_000, on: loop)
            #expect(broker.last(Self.topic)?.isEmpty == false)
            broker.forget()
            bench.services.sessionModel.read(refresh: true, on: loop) { _ in }
            try await bench.advance(12_000, on: loop)
            #expect(broker.texts(Self.topic) == [""])
            #expect(broker.last(Self.device)?.contains(#"_model":{"p":"select"}"#) == true)
            let order = broker.published.map(\.topic).filter { [Self.topic, Self.device].contains($0) }
            #expect(order.first == Self.device, "Home Assistant is told first: \(order)")
        }
    }

    @Test func `usage is published in numbers, as far as it is known`() async throws {
        let broker = MemoryBroker()
        let settings = try Self.settings(broker) {
            $0.discovery = "Ladle"
            $0.showsUsage = true
        }
        try await withServices(settings) { bench, loop in
            try await bench.advance(1_000, on: loop)
            #expect(broker.last("\(Self.root)/usage")?.contains(#""tokens":null"#) == true)
            #expect(broker.last(Self.device)?.contains("quota_used") == true)
            bench.gateway.next(
                "usage.status",
                ok(
                    #"{"providers":[{"provider":"a","windows":[{"label":"Week","usedPercent":63.4},{"label":"5h","usedPercent":71.6}]}]}"#
                )
            )
            try await bench.open(methods: ["usage.status"], on: loop)
            try await bench.advance(70_000, on: loop)
            #expect(broker.last("\(Self.root)/usage")?.contains(#""usedPercent":71.6"#) == true)
        }
    }

    @Test func `another name is told to Home Assistant before the old topics are emptied`() async throws {
        let broker = MemoryBroker()
        try await withServices(try Self.settings(broker) { $0.discovery = "Ladle" }) { bench, loop in
            try await bench.open(on: loop)
            broker.forget()
            broker.kill(on: loop)
            let topics = try BrokerTopics(prefix: "ladle", name: "attic")
            try await bench.restart(without: { $0.broker?.topics = topics }, on: loop)
            #expect(broker.texts("\(Self.root)/reply").isEmpty)
            #expect(broker.last(Self.device)?.contains("ladle/attic/") == true)
            try await bench.advance(3_000, on: loop)
            #expect(broker.texts("\(Self.root)/reply") == [""])
            #expect(broker.last("ladle/attic/reply")?.isEmpty == false)
        }
    }

    @Test func `over 3_1_1 a message that is too large ends the session, and not every connection`() async throws {
        let broker = MemoryBroker()
        try await withServices(
            try Self.settings(broker) {
                $0.version = .v311
                $0.scopes = [.read, .send]
            }
        ) { bench, loop in
            try await bench.settle(on: loop)
            let large = MQTTMessage(topic: "\(Self.root)/send", payload: [UInt8](repeating: 0x61, count: 2 << 20))
            broker.deliver(large, on: loop)
            try await bench.advance(2_000, on: loop)
            #expect(broker.connects.map(\.isCleanStart) == [false, true])
            broker.kill(on: loop)
            try await bench.advance(3_000, on: loop)
            #expect(broker.connects.last?.isCleanStart == false)
        }
    }
}
