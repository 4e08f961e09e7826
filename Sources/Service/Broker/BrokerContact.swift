import Basics
import Broker
import EventLoops
import MQTT
import Observability
import Outbound

/// The part of Ladle behind the connection to the broker.
protocol BrokerContactOwner: AnyObject {
    func linked(on loop: isolated EventLoop)
    /// - Returns: the topic of the oldest message that the broker has not acknowledged.
    @discardableResult
    func unlinked(on loop: isolated EventLoop) -> String?
    func acknowledged(_ token: UInt64, _ reason: MQTTReason, on loop: isolated EventLoop)
    func received(_ delivery: MQTTDelivery, on loop: isolated EventLoop)
    /// More may be published.
    func roomMade(on loop: isolated EventLoop)
}

/// Keeps the connection to the broker open: when to try again, with which version of MQTT, and what people are told.
final class BrokerContact: BrokerConnectionHandler {
    private static let firstRetryMs: Int64 = 1_000
    private static let longestRetryMs: Int64 = 60_000
    private static let lateMs: Int64 = 300_000
    private static let takenOverMs: Int64 = 60_000
    private static let longestTakenOverMs: Int64 = 960_000
    /// A connection that lasted so long was a good one.
    private static let goodNs: UInt64 = 60_000_000_000
    /// A close so soon after it was let in may be a takeover of which the broker does not tell.
    private static let briefNs: UInt64 = 5_000_000_000
    private static let mostBrief = 3
    /// So long a broker is taken for one that knows no MQTT 5.
    private static let version311Ns: UInt64 = 86_400_000_000_000
    private static let mostSilentCloses = 2
    private static let stalledCode = "MQTT_STALLED"
    private static let willDelaySeconds: UInt32 = 5
    private static let commandExpirySeconds: UInt32 = 3_600
    private static let ordinaryExpirySeconds: UInt32 = 30
    /// Header, topic and properties of an event.
    private static let headBytes = 512

    private let settings: BrokerSettings
    private let log: Log
    private let farewell: MQTTMessage
    weak var owner: (any BrokerContactOwner)?

    private var connection: (any BrokerLine)?
    private var number: UInt64 = 0
    private var isStopped = false
    var condition: BrokerCondition
    private var retryMs = firstRetryMs
    private var takenOverMs = BrokerContact.takenOverMs
    private var timer: TimerID?
    private var isOpening = false
    private var linkedAt: UInt64?
    /// The broker's closes soon after it had let Ladle in, one after the other at the same point.
    private var briefCloses: (point: BrokerFault.Point, count: Int) = (.quiet, 0)
    private var isSubscribing = false
    private var silentCloses = 0
    private var version311Until: UInt64 = 0
    private var version = MQTTVersion.v5
    /// The broker's session begins with a message that ends each connection.
    private var dropsSession = false
    private(set) var connections: UInt64 = 0

    /// - Parameter farewell: what the broker publishes when Ladle is gone.
    init(_ settings: BrokerSettings, farewell: MQTTMessage, log: Log) {
        (self.settings, self.farewell, self.log) = (settings, farewell, log)
        condition = BrokerCondition(
            since: Timestamp(milliseconds: 0),
            broker: settings.address.description,
            scopes: settings.scopes.names
        )
    }

    var isLinked: Bool { linkedAt != nil }
    /// The most bytes of a payload that fit into a packet beside topic and properties.
    var largestPayload: Int { max((connection?.limits?.maximumPacket ?? 0) - Self.headBytes, 0) }
    /// Whether the broker keeps the last message of a topic.
    var keepsMessages: Bool { connection?.limits?.isRetainAvailable ?? false }
    var hasRoom: Bool { isLinked && connection?.hasRoom == true }

    // MARK: Commands

    func open(on loop: isolated EventLoop) {
        guard !isStopped, connection == nil, !isOpening else { return }
        if let timer { loop.cancel(timer) }
        timer = nil
        isOpening = true
        let bound = LoopBound(self, on: loop)
        settings.secrets { [weak loop] result in
            loop?.post { loop in bound.value(on: loop)?.open(with: result, on: loop) }
        }
    }

    /// The configuration's files may have changed, or the broker's.
    func retryNow(on loop: isolated EventLoop) {
        (retryMs, takenOverMs) = (Self.firstRetryMs, Self.takenOverMs)
        open(on: loop)
    }

    func stop(on loop: isolated EventLoop) {
        isStopped = true
        if let timer { loop.cancel(timer) }
        timer = nil
        linkedAt = nil
        connection?.close(final: farewell, on: loop)
        connection = nil
    }

    func publish(_ message: MQTTMessage, token: UInt64, on loop: isolated EventLoop) throws(MQTTRefusal) -> MQTTQoS {
        guard let connection, isLinked else { throw .notConnected }
        return try connection.publish(message, token: token, on: loop)
    }

    func acknowledge(_ delivery: MQTTDelivery.ID, _ reason: MQTTReason, on loop: isolated EventLoop) {
        connection?.acknowledge(delivery, reason, on: loop)
    }

    /// The broker lets Ladle in and does not take everything.
    func degrade(_ code: String, _ detail: String, hint: String?, on loop: isolated EventLoop) {
        guard isLinked, condition.code != code || condition.detail != detail else { return }
        show(.degraded, code, detail, hint, on: loop)
    }

    /// The broker takes everything again, as far as it is known.
    func recover(on loop: isolated EventLoop) {
        if isLinked { show(.online, nil, nil, nil, on: loop) }
    }

    /// Ends this connection for a while.
    func giveUp(_ fault: BrokerFault, on loop: isolated EventLoop) {
        guard isLinked else { return }
        linkedAt = nil
        let last = connection
        connection = nil
        last?.close(final: nil, on: loop)
        owner?.unlinked(on: loop)
        failed(fault, on: loop)
    }

    // MARK: Opening

    private func open(
        with secrets: Result<BrokerSettings.Secrets, BrokerSettings.SecretsFault>,
        on loop: isolated EventLoop
    ) {
        isOpening = false
        guard !isStopped, connection == nil else { return }
        switch secrets {
        case .failure(let fault): failed(BrokerFault(secrets: fault.text), on: loop)
        case .success(let secrets):
            number += 1
            version = settings.version ?? (loop.now < version311Until ? .v311 : .v5)
            let client = MQTTClient(clientSettings(secrets), connection: number)
            let connection = settings.connect(settings.target(secrets), client, self)
            self.connection = connection
            connection.open(on: loop)
        }
    }

    private func clientSettings(_ secrets: BrokerSettings.Secrets) -> MQTTClientSettings {
        var client = MQTTClientSettings(clientID: settings.clientID)
        let takesCommands = settings.scopes.takesCommands
        client.version = version
        client.username = settings.username
        client.password = secrets.password
        client.keepAliveSeconds = settings.keepAliveSeconds
        client.sessionExpirySeconds =
            settings.sessionExpirySeconds
            ?? (takesCommands ? Self.commandExpirySeconds : Self.ordinaryExpirySeconds)
        client.isCleanStart = (version == .v311 && !takesCommands) || dropsSession
        client.will = MQTTWill(farewell, delaySeconds: Self.willDelaySeconds)
        client.window = settings.window
        client.userProperties = [MQTTUserProperty("ladle", settings.release)]
        let isDiscovering = settings.discovery != nil
        client.unwantedFilters = settings.topics.unwantedFilters(settings.scopes, isDiscovering: isDiscovering)
        client.subscriptions = settings.topics.filters(settings.scopes, isDiscovering: isDiscovering).map {
            MQTTSubscription(
                $0,
                noLocal: $0 != settings.topics.discoveryStatus,
                retainAsPublished: true,
                retainHandling: .none
            )
        }
        return client
    }

    // MARK: Reports

    func brokerReported(_ event: MQTTEvent, on loop: isolated EventLoop) {
        switch event {
        case .connected:
            connections += 1
            linkedAt = loop.now
            (silentCloses, dropsSession) = (0, false)
            isSubscribing = connection?.isSubscribing ?? false
            condition.version = version == .v5 ? "5" : "3.1.1"
            show(.online, nil, nil, nil, on: loop)
            if let limits = connection?.limits { tell(limits, on: loop) }
            owner?.linked(on: loop)
        case .subscribed(let grants):
            isSubscribing = false
            let refused = grants.filter { !$0.isGranted }
            guard let first = refused.first else { return }
            degrade(
                "MQTT_SUBSCRIBE_DENIED",
                "The broker does not let Ladle read \(Printable.line(first.filter)) (\(first.reason.words)), so "
                    + "commands there do not come.",
                hint: "give Ladle's user the right to read below \(settings.topics.root)/ at the broker",
                on: loop
            )
        case .acknowledged(let token, let reason):
            if condition.code == Self.stalledCode { recover(on: loop) }
            owner?.acknowledged(token, reason, on: loop)
            owner?.roomMade(on: loop)
        case .received(let delivery): owner?.received(delivery, on: loop)
        case .stalled:
            degrade(
                Self.stalledCode,
                "The broker answers and has acknowledged nothing for a minute.",
                hint: "look into the broker's log",
                on: loop
            )
        case .ended(let end): ended(end, on: loop)
        }
    }

    private func tell(_ limits: MQTTBrokerLimits, on loop: isolated EventLoop) {
        let hint = "look for these limits in the broker's configuration"
        if limits.maximumQoS == .atMostOnce {
            let detail = "The broker knows no QoS 1, so events reach it at most once, and some may be lost."
            degrade("MQTT_AT_MOST_ONCE", detail, hint: hint, on: loop)
        } else if !limits.isRetainAvailable, settings.retains {
            let detail = "The broker keeps no messages, so whoever comes later sees no state before it changes."
            degrade("MQTT_NOT_RETAINED", detail, hint: hint, on: loop)
        }
    }

    func brokerUnreachable(_ failure: BrokerConnection.Failure, on loop: isolated EventLoop) {
        connection = nil
        if linkedAt != nil {
            linkedAt = nil
            owner?.unlinked(on: loop)
        }
        failed(BrokerFault(failure), on: loop)
    }

    func brokerHasRoom(on loop: isolated EventLoop) { owner?.roomMade(on: loop) }

    private func ended(_ end: MQTTEnd, on loop: isolated EventLoop) {
        connection = nil
        let lasted = linkedAt.map { loop.now - $0 }
        var unanswered: String?
        if linkedAt != nil {
            linkedAt = nil
            unanswered = owner?.unlinked(on: loop)
        }
        var fault = BrokerFault(end)
        if let lasted {
            if lasted >= Self.goodNs { (retryMs, takenOverMs) = (Self.firstRetryMs, Self.takenOverMs) }
            let point = isSubscribing ? .subscribing : unanswered.map(BrokerFault.Point.writing) ?? .quiet
            let isBrief = lasted < Self.briefNs && end.cause == .closed
            briefCloses = (point, isBrief ? (briefCloses.point == point ? briefCloses.count + 1 : 1) : 0)
            if briefCloses.count >= Self.mostBrief { fault = BrokerFault(closedAt: point, root: settings.topics.root) }
        }
        if settings.version == nil, version == .v5, knowsNo5(end) {
            version311Until = loop.now + Self.version311Ns
            retryMs = Self.firstRetryMs
            log.info("mqtt.version", ["broker": .string(condition.broker), "version": "3.1.1"])
            return open(on: loop)
        }
        // 3.1.1 cannot tell the broker how much Ladle takes, so the same message would come again and again.
        if version == .v311, case .broken(.packetTooLarge) = end.cause {
            dropsSession = true
            fault = .tooLargeForUs
        }
        // It closes connections of either version, so its silence says nothing about 5.
        if version == .v311, end.cause == .closed, !end.wasConnected { version311Until = 0 }
        failed(fault, on: loop)
    }

    /// Some brokers answer a version that they do not know with a close alone.
    private func knowsNo5(_ end: MQTTEnd) -> Bool {
        if end.isVersionRefused { return true }
        guard end.cause == .closed, !end.wasConnected else { return false }
        silentCloses += 1
        return silentCloses >= Self.mostSilentCloses
    }

    private func failed(_ fault: BrokerFault, on loop: isolated EventLoop) {
        guard !isStopped else { return }
        show(fault.state, fault.code, fault.detail, fault.hint, on: loop)
        let wait: Int64
        switch fault.retry {
        case .soon:
            wait = Int64.random(in: retryMs / 2...retryMs)
            retryMs = min(retryMs * 2, Self.longestRetryMs)
        case .late: wait = Self.lateMs
        case .afterTakeover:
            wait = takenOverMs
            takenOverMs = min(takenOverMs * 2, Self.longestTakenOverMs)
            briefCloses.count = 0
        }
        timer = loop.after(milliseconds: wait) { [weak self] in
            guard let self else { return }
            self.timer = nil
            self.open(on: loop)
        }
    }

    private func show(
        _ state: BrokerCondition.State,
        _ code: String?,
        _ detail: String?,
        _ hint: String?,
        on loop: isolated EventLoop
    ) {
        let isNews = condition.state != state || condition.code != code
        (condition.code, condition.detail, condition.hint) = (code, detail, hint)
        guard isNews else { return }
        (condition.state, condition.since) = (state, loop.wallClock)
        log.notice(
            "mqtt.\(state.rawValue)",
            [
                "broker": .string(condition.broker), "code": .string(code), "detail": .string(detail),
                "hint": .string(hint),
            ]
        )
    }
}
