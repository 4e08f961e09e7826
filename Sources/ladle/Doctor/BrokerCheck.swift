import Basics
import Broker
import Commands
import Configuration
import EventLoops
import JSONBytes
import MQTT
import Outbound
import Service
import TLS

/// Checks the connection to the MQTT broker.
enum BrokerCheck {
    /// The state of the server's connection and, where that is good, the way of a message.
    static func findings(_ broker: JSONValue?, _ settings: Settings, _ places: SettingsPlaces) async -> [Finding] {
        let state = findings(broker)
        guard !state.isEmpty, state.allSatisfy(\.isFine) else { return state }
        return state + (await roundTrip(settings, places))
    }

    private static func findings(_ broker: JSONValue?) -> [Finding] {
        guard let broker else { return [] }
        let name = broker["broker"]?.string ?? ""
        let state = broker["state"]?.string ?? "unknown"
        guard state != "online" else {
            let waiting = broker["lag"]?["events"]?.int ?? 0
            let more = waiting > 0 ? ", and \(waiting) events are on their way" : ""
            return [.fine("mqtt", "\(name) is connected\(more)")]
        }
        let detail = broker["detail"]?.string ?? state
        let exit: ExitCode = state == "refused" || state == "degraded" ? .noPermission : .unavailable
        return [.wrong("mqtt", "\(detail) (\(broker["code"]?.string ?? state))", broker["hint"]?.string, exit)]
    }

    /// Sends a message through the broker and reads it back: some brokers say nothing when rights are missing.
    static func roundTrip(_ settings: Settings, _ places: SettingsPlaces) async -> [Finding] {
        guard let configuration = try? BrokerConfiguration(settings, places) else { return [] }
        let broker = configuration.settings(for: [])
        guard let loop = try? EventLoop(label: "ladle.doctor") else { return [] }
        loop.start()
        let result = await loop.probe(broker)
        await loop.stop()
        let topic = BrokerProbe.topic(broker)
        switch result {
        case .heard: return [.fine("mqtt", "a message to \(topic) came back from \(broker.address)")]
        case .silent:
            let text =
                "a message to \(topic) did not come back: Ladle's user may not write or read there, and the broker does not say so"
            let hint = "give it the right to write and read \(broker.topics.root)/# at the broker"
            return [.wrong("mqtt", text, hint, .noPermission)]
        case .failed(let text): return [.wrong("mqtt", text, "ladle status", .unavailable)]
        }
    }
}

extension EventLoop {
    fileprivate func probe(_ broker: BrokerSettings) async -> BrokerProbe.Result {
        let secrets = await withCheckedContinuation { done in broker.secrets { done.resume(returning: $0) } }
        switch secrets {
        case .failure(let fault): return .failed(fault.text)
        case .success(let secrets):
            let probe = BrokerProbe(broker)
            return await withCheckedContinuation { done in probe.begin(secrets, done, on: self) }
        }
    }
}

/// One message to a topic of Ladle's own and back, as another client of the same user.
private final class BrokerProbe: BrokerConnectionHandler {
    enum Result: Sendable {
        case heard
        case silent
        case failed(String)
    }

    /// The connection, and the way of the message.
    private static let patienceMs: Int64 = 6_000

    private let broker: BrokerSettings
    private let mark = Hex.encode(SecureRandom.bytes(8))
    private var connection: BrokerConnection?
    private var done: CheckedContinuation<Result, Never>?
    private var wasSent = false

    static func topic(_ broker: BrokerSettings) -> String { "\(broker.topics.root)/doctor" }

    init(_ broker: BrokerSettings) { self.broker = broker }

    func begin(
        _ secrets: BrokerSettings.Secrets,
        _ done: CheckedContinuation<Result, Never>,
        on loop: isolated EventLoop
    ) {
        self.done = done
        var client = MQTTClientSettings(clientID: "ladledoctor\(mark)")
        client.version = broker.version ?? .v5
        client.username = broker.username
        client.password = secrets.password
        client.isCleanStart = true
        client.subscriptions = [MQTTSubscription(Self.topic(broker))]
        let connection = BrokerConnection(broker.target(secrets), MQTTClient(client, connection: 1), self)
        self.connection = connection
        connection.open(on: loop)
        loop.after(milliseconds: Self.patienceMs) {
            self.end(self.wasSent ? .silent : .failed("the broker did not answer in time"), on: loop)
        }
    }

    func brokerReported(_ event: MQTTEvent, on loop: isolated EventLoop) {
        switch event {
        case .subscribed(let grants):
            if let first = grants.first, !first.isGranted {
                return end(
                    .failed("the broker does not let Ladle read \(first.filter): \(first.reason.words)"),
                    on: loop
                )
            }
            wasSent = true
            let message = MQTTMessage(topic: Self.topic(broker), payload: Array(mark.utf8))
            _ = try? connection?.publish(message, token: 1, on: loop)
        case .acknowledged(_, let reason) where reason.isFailure:
            end(.failed("the broker does not let Ladle write to \(Self.topic(broker)): \(reason.words)"), on: loop)
        case .received(let delivery) where delivery.message.payload == Array(mark.utf8): end(.heard, on: loop)
        case .ended(let reason):
            let words = reason.reason.map { ": \($0.words)" } ?? ""
            end(.failed("the broker ended the connection\(words)"), on: loop)
        default: break
        }
    }

    func brokerUnreachable(_ failure: BrokerConnection.Failure, on loop: isolated EventLoop) {
        switch failure {
        case .network(let reason): end(.failed("the broker cannot be reached: \(reason)"), on: loop)
        case .tls(let reason): end(.failed("there is no TLS with the broker: \(reason)"), on: loop)
        case .webSocket(let reason): end(.failed("there is no WebSocket with the broker: \(reason)"), on: loop)
        }
    }

    func brokerHasRoom(on loop: isolated EventLoop) {}

    private func end(_ result: Result, on loop: isolated EventLoop) {
        connection?.close(final: nil, on: loop)
        connection = nil
        done?.resume(returning: result)
        done = nil
    }
}
