import Basics
package import Gateway
import WebSocket

/// The link as one state machine: what happened goes in with the time, what is to be done comes out. It has no socket,
/// clock or file, so that every way a gateway can behave is a test.
///
/// After each input the owner performs the actions in order and arms one timer for `wakeAt`.
package struct LinkMachine {
    package enum Action: Sendable {
        /// Open a connection, with TLS where the URL says so; report `opened` or `failed`.
        case open(GatewayURL)
        case write([UInt8])
        /// Let what was written go out, then close. Nothing of this connection is reported any more.
        case close
        case status(LinkStatus)
        case hello(Hello)
        case event(GatewayEvent)
        /// Events are lost: reload what they could have told.
        case gap(expected: Int64, received: Int64)
        case outcome(CallID, CallOutcome)
        /// What became of a request whose outcome was given as ambiguous.
        case late(CallID, CallOutcome)
        case keepDeviceToken(DeviceToken, DeviceTokenStore.Key)
        case forgetDeviceToken(DeviceTokenStore.Key)
        case logged(FrameLog.Entry)
    }

    enum Phase: Equatable {
        /// Nothing to do until told.
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
        /// As long as the slowest release takes to give up on us.
        static let handshakeMs: Int64 = 15_000
        /// What an unauthenticated peer may send in one frame: a challenge is far smaller.
        static let beforeConnect = 65_536
        /// The hello carries a snapshot of the whole gateway, which grows with its sessions and presence.
        static let hello = 4 << 20
        /// A history alone can be 6 MiB; the reference client takes 25.
        static let inbound = 26_214_400
        /// Above it requests wait here, where they still count as not sent.
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
    /// The answer to our own `sessions.subscribe`: read by nobody.
    var subscribeId: String?
    var queuedBytes = 0
    var onlineSince: Int64 = 0
    /// The gateway said that it goes down: what is sent now would be lost.
    var isShuttingDown = false
    var sendsDeviceTokenToo = false
    var triedDeviceToken = false
    var droppedDeviceToken = false
    var sentDeviceToken = false
    /// As the last challenge showed it.
    package internal(set) var clockSkewMs: Int64 = 0
    let idPrefix: String
    var nextWireId: UInt64 = 1

    struct QueuedFrame {
        var wireId: String
        var bytes: [UInt8]
    }

    package internal(set) var status: LinkStatus
    /// The last one: what the gateway takes is known of it also while it is away.
    package internal(set) var hello: Hello?
    package internal(set) var counters = LinkCounters()
    /// Nil while the log is switched off.
    package var log: FrameLog?
    /// Bytes handed over that the kernel has not taken; the owner corrects it after each write and drain.
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

    /// When to call `wake`, on the monotonic clock.
    package var wakeAt: Int64? {
        switch phase {
        case .idle: nil
        case .waiting(let time), .opening(let time), .upgrading(let time), .handshaking(let time): time
        case .online: [watchdog?.deadline, calls.nextDeadline].compactMap(\.self).min()
        }
    }

    // MARK: Orders

    package mutating func start(now: LinkTime) -> [Action] {
        guard phase == .idle else { return [] }
        return begin(now)
    }

    /// Another gateway, other credentials, or the reason why there is none.
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

    /// Tries now, whatever the rhythm; for a person who has just changed something on the other side.
    package mutating func retryNow(now: LinkTime) -> [Action] {
        switch phase {
        case .idle, .waiting: begin(now)
        default: []
        }
    }

    /// Nothing more is read until this is called with `false`.
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

    // MARK: What happened

    /// Something is due by `wakeAt`.
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

    /// The connection could not be made, or ended without a close frame.
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

    /// What waited has been taken by the kernel.
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
