import Basics
import Gateway
import WebSocket

/// The start and end of connections, and the retries between them.
extension LinkMachine {
    var configuration: LinkConfiguration? {
        if case .gateway(let configuration) = target { configuration } else { nil }
    }

    var urlText: String? {
        switch target {
        case .gateway(let configuration): configuration.url.description
        case .none(_, let url): url
        }
    }

    var tokenKey: DeviceTokenStore.Key? {
        configuration.map {
            DeviceTokenStore.Key(gateway: $0.url.description, deviceId: signer.deviceId, role: ConnectRequest.role)
        }
    }

    var rejectionContext: Rejection.Context {
        let url = configuration?.url
        return Rejection.Context(
            hasSharedSecret: configuration?.token != nil || configuration?.password != nil,
            sentDeviceToken: sentDeviceToken,
            hasStoredDeviceToken: tokenKey.flatMap { tokens[$0] } != nil,
            triedDeviceToken: triedDeviceToken,
            isTrustedPath: url?.hostClass == .loopback || url?.pin != nil
        )
    }

    mutating func begin(_ now: LinkTime) -> [Action] {
        switch target {
        case .none(let rejection, let url):
            phase = .idle
            var status = LinkStatus(
                state: rejection.state,
                code: rejection.code,
                detail: rejection.detail,
                since: now.wall,
                url: url
            )
            status.hint = rejection.hint
            return show(status)
        case .gateway(let configuration):
            counters.attempts += 1
            phase = .opening(deadline: now.milliseconds + Limit.openMs)
            status.retryAt = nil
            // Between attempts the last reason stays visible; only a fresh start shows `connecting`.
            let isFresh = status.url != configuration.url.description || status.code == nil || status.code == "STOPPED"
            var actions: [Action] = []
            if isFresh {
                let detail = "Connecting to \(configuration.url)."
                actions += show(LinkStatus(state: .connecting, detail: detail, since: now.wall, url: urlText))
            }
            return actions.append([.open(configuration.url)])
        }
    }

    /// Ends the current connection, if any, and completes the requests sent on it.
    mutating func hangUp(_ close: WebSocketClose?, failing reason: CallOutcome.NotDispatched) -> [Action] {
        var actions: [Action] = []
        switch phase {
        case .idle, .waiting: return []
        case .online: counters.drops += 1
        case .opening, .upgrading, .handshaking: break
        }
        if let close, session != nil {
            var output: [UInt8] = []
            let key = UInt32(truncatingIfNeeded: random.next() as UInt64)
            _ = session?.close(close, maskKey: key, to: &output)
            if !output.isEmpty { actions += write(output) }
        }
        actions.append(.close)
        actions += calls.failAll(reason).map { .outcome($0, $1) }
        upgrade = nil
        session = nil
        handshake = nil
        watchdog = nil
        sequence = nil
        queue = []
        subscribeId = nil
        queuedBytes = 0
        unsentBytes = 0
        isShuttingDown = false
        phase = .idle
        return actions
    }

    /// Schedules the next step after a connection has ended.
    mutating func retry(_ rejection: Rejection, _ now: LinkTime) -> [Action] {
        switch rejection.next {
        case .retry:
            return wait(backoff.delay(random: random.next() as UInt64), rejection, now)
        case .retryAfter(let milliseconds):
            // Adds a little jitter, so that many bridges do not reconnect at the same instant.
            let jitter = Int64((random.next() as UInt64) % UInt64(max(milliseconds / 10, 1)))
            return wait(milliseconds + jitter, rejection, now)
        case .waitForApproval:
            return wait(backoff.approvalDelay(now: now.milliseconds), rejection, now)
        case .stop:
            phase = .idle
            return show(status(rejection, now))
        case .retryWithDeviceToken:
            triedDeviceToken = true
            sendsDeviceTokenToo = true
            phase = .waiting(until: now.milliseconds + Limit.deviceTokenRetryMs)
            return []
        case .dropDeviceToken:
            var actions: [Action] = []
            if let key = tokenKey, tokens[key] != nil {
                tokens[key] = nil
                actions.append(.forgetDeviceToken(key))
            }
            // Retries quickly once only: a gateway that keeps refusing must not be asked four times a second.
            let again = droppedDeviceToken
            droppedDeviceToken = true
            let delay = again ? backoff.delay(random: random.next() as UInt64) : Limit.deviceTokenRetryMs
            if rejection.state == .offline || again {
                var shown = rejection
                shown.state = .offline
                return actions.append(wait(delay, shown, now))
            }
            phase = .waiting(until: now.milliseconds + delay)
            return actions
        }
    }

    mutating func announceRestart(_ now: LinkTime, expectedMs: Int64? = nil) {
        backoff.announceRestart(onlineForMs: now.milliseconds - onlineSince, expectedMs: expectedMs)
    }

    private mutating func wait(_ delay: Int64, _ rejection: Rejection, _ now: LinkTime) -> [Action] {
        phase = .waiting(until: now.milliseconds + delay)
        var status = status(rejection, now)
        status.retryAt = now.wall.adding(milliseconds: delay)
        return show(status)
    }

    private func status(_ rejection: Rejection, _ now: LinkTime) -> LinkStatus {
        var status = LinkStatus(
            state: rejection.state,
            code: rejection.code,
            detail: rejection.detail,
            since: now.wall,
            url: urlText
        )
        status.hint = rejection.hint
        status.requestId = rejection.requestId
        status.clockSkewMs = notableSkewMs
        return status
    }

    /// Nil below five seconds: the challenge's travel time explains a small difference, which does no harm.
    private var notableSkewMs: Int64? {
        abs(clockSkewMs) < 5000 ? nil : (clockSkewMs + (clockSkewMs > 0 ? 500 : -500)) / 1000 * 1000
    }

    func onlineStatus(_ hello: Hello, _ now: LinkTime) -> LinkStatus {
        var status = LinkStatus(state: .online, detail: "Connected.", since: now.wall, url: urlText)
        status.protocolVersion = hello.protocolVersion
        status.gatewayVersion = hello.serverVersion
        status.scopes = hello.scopes
        status.clockSkewMs = notableSkewMs
        reduce(&status)
        return status
    }

    /// A hello may list scopes that are not in effect; the first call refused for a missing scope shows it.
    mutating func lacks(_ scope: String) -> [Action] {
        guard status.state == .online, Scopes.covers(status.scopes, scope) else { return [] }
        var next = status
        next.scopes.removeAll { Scopes.covers([$0], scope) }
        reduce(&next)
        return show(next)
    }

    /// Names the requested scopes that are missing.
    private func reduce(_ status: inout LinkStatus) {
        let asked = configuration?.scopes ?? []
        let missing = asked.filter { !Scopes.covers(status.scopes, $0) }
        guard let first = missing.first else { return }
        status.code = "SCOPES_REDUCED"
        status.detail = "Connected, but without \(missing.joined(separator: ", "))."
        status.hint = Scopes.hint(toGain: first, requested: asked, deviceId: signer.deviceId)
    }

    /// Keeps `since` while the state stays the same, and reports only changes that a user can see.
    mutating func show(_ new: LinkStatus) -> [Action] {
        var next = new
        if next.state == status.state, next.code == status.code { next.since = status.since }
        var old = status
        status = next
        old.retryAt = next.retryAt
        // Clock drift alone is not reported; it is shown with the next change.
        old.clockSkewMs = next.clockSkewMs
        return old == next ? [] : [.status(next)]
    }
}
