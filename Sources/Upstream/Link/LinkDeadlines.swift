import WebSocket

/// The deadlines of a working link: each state that only the gateway can end ends by itself after a while.
struct LinkDeadlines: Sendable {
    enum Fault: Sendable {
        /// Gateways send ticks, so two missed intervals mean that the peer is gone.
        case silence
        /// Bytes still come, but no whole message.
        case unfinishedMessage
        /// The kernel cannot pass on the bytes that we wrote.
        case unreadRequests
        /// The gateway announced a shutdown, and its close never came.
        case shutdown

        var close: WebSocketClose? {
            switch self {
            case .silence: WebSocketClose(4000, "tick timeout")
            case .unfinishedMessage: WebSocketClose(4000, "message timeout")
            case .unreadRequests: nil
            case .shutdown: WebSocketClose(WebSocketClose.normal)
            }
        }

        var rejection: Rejection {
            switch self {
            case .silence: .silent
            case .unfinishedMessage: .unfinishedMessage
            case .unreadRequests: .unreadRequests
            case .shutdown: .restarting
            }
        }
    }

    /// The largest message, 25 MiB, takes seven minutes on a line of 64 kB/s.
    private static let messageMs: Int64 = 600_000
    /// Gateways that restart name 1.5 seconds. A longer wait than the largest of the backoff serves nobody.
    private static let longestShutdownMs: Int64 = 30_000
    /// Gateways that stop for good name no time. Known releases close within a second.
    private static let unnamedShutdownMs: Int64 = 5_000

    /// The time after which people are told that nothing comes from the gateway, long before the connection is given up. A ping before
    /// tells a gateway that stalls from one that works on an answer.
    private static let stallMs: Int64 = 10_000
    private static let pingMs: Int64 = 5_000

    private let silenceMs: Int64
    private var lastInbound: Int64
    private var lastMessage: Int64
    /// The last progress of the output; nil while nothing waits.
    private var lastOutput: Int64?
    private var takenBytes: UInt64 = 0
    private var shutdownEnd: Int64?
    /// When the first request was written after which no byte came.
    private var askedAt: Int64?
    private var isStallTold = false
    private var isPinged = false
    private(set) var isHeld = false
    private var isParsing = false

    init(tickIntervalMs: Int64, now: Int64) {
        silenceMs = 2 * tickIntervalMs
        lastInbound = now
        lastMessage = now
    }

    var isShuttingDown: Bool { shutdownEnd != nil }

    /// Any byte counts, not only ticks: a large answer on a slow line can take minutes before its frame ends.
    mutating func heard(now: Int64) {
        lastInbound = now
        (askedAt, isStallTold, isPinged) = (nil, false, false)
    }

    mutating func asked(now: Int64) { askedAt = askedAt ?? now }

    /// Whether the gateway has answered nothing for so long that people are told; true once a stall.
    mutating func beginsToStall(now: Int64) -> Bool {
        guard let stallAt, stallAt <= now else { return false }
        isStallTold = true
        return true
    }

    /// Whether it is time to ping; true once a stall.
    mutating func wantsPing(now: Int64) -> Bool {
        guard let pingAt, pingAt <= now else { return false }
        isPinged = true
        return true
    }

    private var unheardSince: Int64? { isHeld || isParsing ? nil : askedAt }
    private var pingAt: Int64? { isPinged ? nil : unheardSince.map { $0 + Self.pingMs } }
    private var stallAt: Int64? { isStallTold ? nil : unheardSince.map { $0 + Self.stallMs } }

    mutating func readMessage(now: Int64) {
        lastMessage = now
    }

    /// While reading is paused, silence says nothing about the peer.
    mutating func hold(_ isHeld: Bool, now: Int64) {
        restart(now, if: self.isHeld && !isHeld)
        self.isHeld = isHeld
    }

    /// Reading is paused too while a large message is parsed.
    mutating func parsing(_ isParsing: Bool, now: Int64) {
        restart(now, if: self.isParsing && !isParsing)
        self.isParsing = isParsing
    }

    /// - Parameters:
    ///   - unsent: the bytes that still wait for the kernel.
    ///   - taken: all bytes that the kernel has taken so far.
    mutating func output(unsent: Int, taken: UInt64, now: Int64) {
        if unsent == 0 {
            lastOutput = nil
        } else if lastOutput == nil || taken != takenBytes {
            lastOutput = now
        }
        takenBytes = taken
    }

    /// The gateway is about to close the connection. Returns the time that it gets for that.
    mutating func shutDown(expectedMs: Int64?, now: Int64) -> Int64 {
        let given = min(max(expectedMs ?? Self.unnamedShutdownMs, 0), Self.longestShutdownMs)
        let end = min(shutdownEnd ?? .max, now + given)
        shutdownEnd = end
        return end - now
    }

    /// Nil if no state waits for the gateway.
    var next: Int64? { [pingAt, stallAt, all.map(\.time).min()].compactMap(\.self).min() }

    func fault(now: Int64) -> Fault? { all.first { $0.time <= now }?.fault }

    private var all: [(fault: Fault, time: Int64)] {
        var all: [(Fault, Int64)] = []
        if let shutdownEnd { all.append((.shutdown, shutdownEnd)) }
        if !isHeld, !isParsing {
            all.append((.silence, lastInbound + silenceMs))
            all.append((.unfinishedMessage, lastMessage + max(Self.messageMs, silenceMs)))
        }
        if let lastOutput { all.append((.unreadRequests, lastOutput + silenceMs)) }
        return all
    }

    private mutating func restart(_ now: Int64, if isResumed: Bool) {
        guard isResumed else { return }
        lastInbound = now
        lastMessage = now
        if askedAt != nil { askedAt = now }
    }
}
