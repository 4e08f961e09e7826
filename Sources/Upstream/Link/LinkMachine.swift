import Basics
package import Gateway
import WebSocket

/// The link as one state machine: events and the time go in, actions come out. It has no socket, clock or file, so that
/// a test can play any behaviour of a gateway.
///
/// After each input the owner performs the actions in order and arms one timer for `wakeAt`.
package struct LinkMachine {
    package enum Action: Sendable {
        /// Open a connection, with TLS if the URL says so; report `opened` or `failed`.
        case open(GatewayURL)
        case write([UInt8])
        /// Send the bytes that were written, then close. This connection reports nothing more.
        case close
        case status(LinkStatus)
        case hello(Hello)
        case event(GatewayEvent)
        /// Events were lost: reload the data they may have changed.
        case gap(expected: Int64, received: Int64)
        case outcome(CallID, CallOutcome)
        /// The final outcome of a request that was reported as ambiguous before.
        case late(CallID, CallOutcome)
        case keepDeviceToken(DeviceToken, DeviceTokenStore.Key)
        case forgetDeviceToken(DeviceTokenStore.Key)
        case logged(FrameLog.Entry)
    }

    enum Phase: Equatable {
        /// Not started, or stopped until the next call.
        case idle
        case waiting(until: Int64)
        case opening(deadline: Int64)
        case upgrading(deadline: Int64)
        case handshaking(deadline: Int64)
        case online
    }

    enum Limit {
        static let openMs: Int64 = 10_000
        static let upgradeMs: Int64 = 10_000
        /// As long as the slowest release waits before it gives up on us.
        static let handshakeMs: Int64 = 15_000
        /// The largest frame that an unauthenticated peer may send; a challenge is far smaller.
        static let beforeConnect = 65_536
        /// The hello contains a snapshot of the whole gateway, which grows with its sessions and presence.
        static let hello = 4 << 20
        /// A history alone can be 6 MiB; the reference client accepts 25 MiB.
        static let inbound = 26_214_400
        /// Above this many unsent bytes, requests wait in our queue, where they still count as not sent.
        static let highWater = 1 << 20
        static let queuedBytes = 64 << 20
        static let deviceTokenRetryMs: Int64 = 250
    }

    var phase = Phase.idle
    var target: LinkTarget
    var signer: any DeviceSigner
    var tokens: DeviceTokenStore
    var random: any RandomNumberGenerator
    var backoff = Backoff()
    var upgrade: ClientHandshake?
    var session: WebSocketSession?
    var handshake: HandshakeState?
    var watchdog: TickWatchdog?
    var sequence: SequenceTracker?
    var calls = RPCTable()
    var queue: [QueuedFrame] = []
    /// The wire ID of our own `sessions.subscribe`, whose answer is ignored.
    var subscribeId: String?
    var queuedBytes = 0
    var onlineSince: Int64 = 0
    /// The gateway announced a shutdown, so a request sent now would be lost.
    var isShuttingDown = false
    var sendsDeviceTokenToo = false
    var triedDeviceToken = false
    var droppedDeviceToken = false
    var sentDeviceToken = false
    /// Measured at the last challenge.
    package internal(set) var clockSkewMs: Int64 = 0
    let idPrefix: String
    var nextWireId: UInt64 = 1

    struct QueuedFrame {
        var wireId: String
        var bytes: [UInt8]
    }

    package internal(set) var status: LinkStatus
    /// The last hello. It stays while the gateway is away, because it lists the methods that the gateway supports.
    package internal(set) var hello: Hello?
    package internal(set) var counters = LinkCounters()
    /// Nil while frame logging is off.
    package var log: FrameLog?
    /// Bytes that the kernel has not taken yet; the owner updates the number after each write and drain.
    package var unsentBytes = 0

    package init(
        target: LinkTarget,
        signer: any DeviceSigner,
        tokens: DeviceTokenStore = DeviceTokenStore(),
        random: any RandomNumberGenerator = SystemRandomNumberGenerator(),
        log: FrameLog? = nil,
        now: LinkTime
    ) {
        self.target = target
        self.signer = signer
        self.tokens = tokens
        var random = random
        idPrefix = String(random.next() as UInt64, radix: 36)
        self.random = random
        self.log = log
        status = LinkStatus(state: .connecting, detail: "About to begin.", since: now.wall, url: nil)
        protectSecrets()
    }

    package var isOnline: Bool { phase == .online && !isShuttingDown }

    /// The time of the next `wake`, on the monotonic clock.
    package var wakeAt: Int64? {
        switch phase {
        case .idle: nil
        case .waiting(let time), .opening(let time), .upgrading(let time), .handshaking(let time): time
        case .online: [watchdog?.deadline, calls.nextDeadline].compactMap(\.self).min()
        }
    }

    // MARK: Commands

    package mutating func start(now: LinkTime) -> [Action] {
        guard phase == .idle else { return [] }
        return begin(now)
    }

    /// Changes the gateway, the credentials, or the reason why there is no gateway.
    package mutating func configure(_ target: LinkTarget, now: LinkTime) -> [Action] {
        var actions = hangUp(WebSocketClose(WebSocketClose.normal, "configuration changed"), failing: .offline)
        self.target = target
        protectSecrets()
        backoff.reset()
        triedDeviceToken = false
        droppedDeviceToken = false
        sendsDeviceTokenToo = false
        return actions.append(begin(now))
    }

    /// Tries now, without waiting for the backoff; for a user who has just changed something at the gateway.
    package mutating func retryNow(now: LinkTime) -> [Action] {
        switch phase {
        case .idle, .waiting: begin(now)
        default: []
        }
    }

    /// Pauses or resumes reading from the connection.
    package mutating func holdInput(_ isHeld: Bool, now: LinkTime) {
        if isHeld, watchdog?.isHeld == false { counters.holds += 1 }
        watchdog?.hold(isHeld, now: now.milliseconds)
    }

    package mutating func stop(now: LinkTime) -> [Action] {
        var actions = hangUp(WebSocketClose(WebSocketClose.goingAway, "shutting down"), failing: .stopped)
        phase = .idle
        let detail = "Ladle is shutting down."
        return actions.append(
            show(LinkStatus(state: .offline, code: "STOPPED", detail: detail, since: now.wall, url: urlText))
        )
    }

    // MARK: Events

    /// The time `wakeAt` has come.
    package mutating func wake(now: LinkTime) -> [Action] {
        let time = now.milliseconds
        switch phase {
        case .waiting(let until) where until <= time:
            return begin(now)
        case .opening(let deadline) where deadline <= time, .upgrading(let deadline) where deadline <= time,
            .handshaking(let deadline) where deadline <= time:
            return transportFailed(.timedOut, now: now)
        case .online:
            var actions = calls.expire(now: time).map { Action.outcome($0, $1) }
            if let deadline = watchdog?.deadline, deadline <= time {
                counters.silences += 1
                actions += hangUp(WebSocketClose(4000, "tick timeout"), failing: .offline)
                let detail = "The gateway fell silent."
                actions += retry(Rejection(.offline, "TICK_TIMEOUT", detail, next: .retry), now)
            }
            return actions
        default:
            return []
        }
    }

    package mutating func opened(now: LinkTime) -> [Action] {
        guard case .opening = phase, let url = configuration?.url, let agent = configuration?.clientVersion else {
            return []
        }
        let nonce = (0..<16).map { _ in UInt8(truncatingIfNeeded: random.next() as UInt64) }
        let handshake = ClientHandshake(host: url.hostField, path: url.path, userAgent: "ladle/\(agent)", nonce: nonce)
        upgrade = handshake
        phase = .upgrading(deadline: now.milliseconds + Limit.upgradeMs)
        return write(handshake.request)
    }

    /// The connection could not be opened, or ended without a close frame.
    package mutating func transportFailed(_ failure: Rejection.TransportFailure, now: LinkTime) -> [Action] {
        switch phase {
        case .idle, .waiting: return []
        case .online:
            let detail = "The connection to the gateway was lost."
            return hangUp(nil, failing: .offline) + retry(Rejection(.offline, "LINK_LOST", detail, next: .retry), now)
        case .opening, .upgrading, .handshaking:
            guard let url = configuration?.url else { return [] }
            return hangUp(nil, failing: .offline) + retry(Rejection(failure, url: url), now)
        }
    }

    package mutating func received(_ bytes: Span<UInt8>, now: LinkTime) -> [Action] {
        counters.bytesIn += UInt64(bytes.count)
        switch phase {
        case .idle, .waiting, .opening:
            return []
        case .upgrading:
            return upgraded(bytes, now)
        case .handshaking, .online:
            watchdog?.heard(now: now.milliseconds)
            guard let found = session?.receive(bytes) else { return [] }
            var actions: [Action] = []
            for item in found {
                guard session != nil else { break }
                actions += perform(item, now)
            }
            return actions
        }
    }

    /// The kernel has taken all waiting bytes.
    package mutating func drained(now: LinkTime) -> [Action] {
        unsentBytes = 0
        return sendQueued(at: now)
    }
}

extension [LinkMachine.Action] {
    mutating func append(_ more: [LinkMachine.Action]) -> [LinkMachine.Action] {
        append(contentsOf: more)
        return self
    }
}
