import Basics
import Gateway
import Ledger
import Observability

/// The status that users see. Each method returns the new status, or nil if a user sees no difference.
struct StatusTracker {
    /// The travel time of the challenge explains a smaller difference of the clocks, which does no harm.
    private static let smallestSkewMs: Int64 = 5_000
    /// 31 December 9999. The gateway's times are clamped, so that they cannot overflow the arithmetic.
    private static let lastTimeMs: Int64 = 253_402_300_799_999

    private(set) var current: LinkStatus
    private var requestedScopes: [String] = []
    private var deviceId = ""
    /// The gateway's clock at the last challenge, or at a tick since.
    private var gatewayClock: GatewayClock?

    init(now: LinkTime) {
        current = LinkStatus(state: .connecting, detail: "About to begin.", since: now.wall, url: nil)
    }

    mutating func measured(gatewayMs: Int64, now: LinkTime) {
        gatewayClock = Self.clock(gatewayMs, now)
    }

    /// Our monotonic clock stops while the machine sleeps, and a short sleep does not end the link: then the next tick is
    /// ahead of the expected time. A tick that is behind only came late.
    mutating func ticked(gatewayMs: Int64, now: LinkTime) {
        let clock = Self.clock(gatewayMs, now)
        if clock.skewMs(at: now) > clockSkewMs(at: now) { gatewayClock = clock }
    }

    private static func clock(_ gatewayMs: Int64, _ now: LinkTime) -> GatewayClock {
        GatewayClock(time: Timestamp(milliseconds: min(max(gatewayMs, 0), lastTimeMs)), arrivedAt: now.milliseconds)
    }

    /// How far the gateway's clock is ahead of ours; 0 before the first challenge.
    func clockSkewMs(at now: LinkTime) -> Int64 { gatewayClock?.skewMs(at: now) ?? 0 }

    /// Between attempts the last reason stays visible; only a fresh start shows `connecting`.
    mutating func connecting(to gateway: LinkConfiguration, deviceId: String, now: LinkTime) -> LinkStatus? {
        requestedScopes = gateway.scopes
        self.deviceId = deviceId
        current.retryAt = nil
        let url = gateway.url.description
        guard current.url != url || current.code == nil || current.code == LinkStatus.stoppedCode else { return nil }
        return show(LinkStatus(state: .connecting, detail: "Connecting to \(url).", since: now.wall, url: url))
    }

    /// There is no gateway to connect to. `url` is the one that was named, if any.
    mutating func unconfigured(_ rejection: Rejection, url: String?, now: LinkTime) -> LinkStatus? {
        show(LinkStatus(rejection, since: now.wall, url: url))
    }

    mutating func failed(_ rejection: Rejection, retryAt: Timestamp?, now: LinkTime) -> LinkStatus? {
        var next = LinkStatus(rejection, since: now.wall, url: current.url)
        next.clockSkewMs = notableSkewMs(at: now)
        next.retryAt = retryAt
        return show(next)
    }

    mutating func stopped(now: LinkTime) -> LinkStatus? {
        let detail = "Ladle is shutting down."
        return show(
            LinkStatus(state: .offline, code: LinkStatus.stoppedCode, detail: detail, since: now.wall, url: current.url)
        )
    }

    mutating func online(_ hello: Hello, _ profile: GatewayProfile, now: LinkTime) -> LinkStatus? {
        (isPauseAnnounced, pauseEndsMs) = (false, nil)
        var next = LinkStatus(state: .online, detail: "Connected.", since: now.wall, url: current.url)
        next.protocolVersion = hello.protocolVersion
        next.gatewayVersion = hello.serverVersion
        next.scopes = hello.scopes
        next.features = profile.features
        next.clockSkewMs = notableSkewMs(at: now)
        nameMissingScopes(in: &next)
        return show(next)
    }

    /// A hello may list scopes that are not in effect; the first call refused for a missing scope shows it.
    mutating func lacks(_ scope: String) -> LinkStatus? {
        guard current.state == .online, Scopes.covers(current.scopes, scope) else { return nil }
        var next = current
        next.scopes.removeAll { Scopes.covers([$0], scope) }
        nameMissingScopes(in: &next)
        return show(next)
    }

    var lacksScopes: Bool { requestedScopes.contains { !Scopes.covers(current.scopes, $0) } }

    /// The gateway's owner was asked for the scopes that are missing.
    mutating func awaitsScopes(request: String) -> LinkStatus? {
        guard current.code == Self.reducedCode else { return nil }
        var next = current
        next.requestId = Rejection.shellSafe(request)
        next.hint = next.requestId.map { "openclaw devices approve \($0)" } ?? "openclaw devices list"
        return show(next)
    }

    private static let reducedCode = "SCOPES_REDUCED"

    private func nameMissingScopes(in status: inout LinkStatus) {
        let missing = requestedScopes.filter { !Scopes.covers(status.scopes, $0) }
        guard let first = missing.first else { return }
        status.code = Self.reducedCode
        status.detail = "Connected, but without \(missing.joined(separator: ", "))."
        status.hint = Scopes.hint(toGain: first, requested: requestedScopes, deviceId: deviceId)
    }

    var isStalled: Bool { current.state == .online && current.code == Self.stalledCode }
    private static let stalledCode = "GATEWAY_STALLED"

    /// The gateway answers nothing, and the connection stands.
    mutating func stalled() -> LinkStatus? {
        guard current.state == .online else { return nil }
        var next = current
        next.code = Self.stalledCode
        next.detail = "Connected, but the gateway has not answered for ten seconds."
        next.hint = "ladle status shows when it answers again; if it does not, look at the gateway's host"
        return show(next)
    }

    /// Something came from a gateway that had stalled.
    mutating func answers() -> LinkStatus? {
        guard isStalled else { return nil }
        var next = current
        (next.code, next.detail, next.hint) = (nil, "Connected.", nil)
        nameMissingScopes(in: &next)
        return show(next)
    }

    // MARK: Pauses

    private static let pausedCode = "GATEWAY_PAUSED"
    /// The gateway said that it pauses, and will say when it goes on. Otherwise its next good answer shows that it does.
    private var isPauseAnnounced = false
    /// When a pause that was not announced counts as over, by the monotonic clock: nobody may ask anything meanwhile.
    private(set) var pauseEndsMs: Int64?

    /// - Parameter phase: the gateway's word for what it does.
    mutating func suspension(_ phase: String, now: LinkTime) -> LinkStatus? {
        isPauseAnnounced = phase != "accepting"
        pauseEndsMs = nil
        guard isPauseAnnounced else { return goesOn() }
        let doing =
            switch phase {
            case "preparing": "prepares to be suspended"
            case "draining": "ends its work before it is suspended"
            case "prepared": "may be suspended at any moment"
            default: "is paused"
            }
        return paused("Connected, but the gateway \(doing) and takes nothing new.", until: nil, now: now)
    }

    /// The gateway refused a call because it takes nothing for a while.
    mutating func refused(_ error: GatewayError, now: LinkTime) -> LinkStatus? {
        guard error.isPause, error.isSuspending || error.isStartingUp, !isPauseAnnounced else { return nil }
        let doing = error.isStartingUp ? "is still starting" : "ends its work and takes nothing new"
        let until = error.retryAfterMs.map { now.wall.adding(milliseconds: $0) }
        pauseEndsMs = now.milliseconds + (error.retryAfterMs ?? 0)
        return paused("Connected, but the gateway \(doing).", until: until, now: now)
    }

    private mutating func paused(_ detail: String, until: Timestamp?, now: LinkTime) -> LinkStatus? {
        guard current.state.isConnected else { return nil }
        var next = current
        if next.state != .paused { next.since = now.wall }
        next.state = .paused
        (next.code, next.detail, next.until) = (Self.pausedCode, detail, until)
        next.hint = "messages wait and go when the gateway takes them; openclaw gateway status shows what it does"
        return show(next)
    }

    /// A call was carried out.
    mutating func carriedOut() -> LinkStatus? { isPauseAnnounced ? nil : goesOn() }

    /// The word that the gateway goes on may have been lost, so the next good answer counts as well.
    mutating func eventsLost() { isPauseAnnounced = false }

    /// The time after which the gateway asked to come again has passed. The next refusal says if it still pauses.
    mutating func pauseExpired(now: LinkTime) -> LinkStatus? {
        guard let end = pauseEndsMs, end <= now.milliseconds else { return nil }
        return goesOn()
    }

    private mutating func goesOn() -> LinkStatus? {
        pauseEndsMs = nil
        guard current.state == .paused else { return nil }
        var next = current
        next.state = .online
        (next.code, next.detail, next.hint, next.until) = (nil, "Connected.", nil, nil)
        nameMissingScopes(in: &next)
        return show(next)
    }

    private func notableSkewMs(at now: LinkTime) -> Int64? {
        let clockSkewMs = clockSkewMs(at: now)
        let half: Int64 = clockSkewMs > 0 ? 500 : -500
        return abs(clockSkewMs) < Self.smallestSkewMs ? nil : (clockSkewMs + half) / 1000 * 1000
    }

    /// Keeps `since` while the state stays the same.
    private mutating func show(_ new: LinkStatus) -> LinkStatus? {
        var next = new
        if next.state == current.state, next.code == current.code { next.since = current.since }
        var old = current
        current = next
        // A new time of the next attempt and the drift of the clocks are shown with the next change.
        old.retryAt = next.retryAt
        old.until = next.until
        old.clockSkewMs = next.clockSkewMs
        return old == next ? nil : next
    }
}

extension LinkStatus {
    fileprivate init(_ rejection: Rejection, since: Timestamp, url: String?) {
        self.init(state: rejection.state, code: rejection.code, detail: rejection.detail, since: since, url: url)
        hint = rejection.hint
        requestId = rejection.requestId
    }
}
