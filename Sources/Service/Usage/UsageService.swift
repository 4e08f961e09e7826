import Basics
package import EventLoops
import Gateway
package import JSONBytes
import Ledger
import Notifications

/// The used share of the subscriptions and today's cost. Earlier gateways query every provider for each answer, so
/// Ladle asks seldom, answers from memory, and asks unprompted only while a client follows the event.
package final class UsageService {
    /// The answer at one moment.
    package struct Snapshot {
        let providers: [ProviderUsage]
        /// The time of the gateway's answer; nil before the first.
        let asOf: Timestamp?
        /// The age of the answer.
        let ageMs: UInt64?
        let isStale: Bool
        /// The gateway still asks the providers; a provider that is not here need not be missing.
        let isRefreshing: Bool
        let today: (date: CivilDate, figures: UsageFigures, isComplete: Bool)?
        /// The time on the gateway's clock.
        let now: Timestamp

        /// - Parameter showsTimeLeft: false leaves out values that change constantly.
        package func write(to writer: inout JSONWriter, showsTimeLeft: Bool) {
            writer.object { object in
                object.member("asOf", asOf)
                object.member("stale", isStale)
                if isRefreshing { object.member("refreshing", true) }
                object.array("providers") { list in
                    for provider in providers { provider.write(to: &list, now: now, showsTimeLeft: showsTimeLeft) }
                }
                guard let today else { return }
                object.object("today") { day in
                    day.member("date", today.date.iso)
                    day.member("tokens", today.figures.tokens)
                    today.figures.writeCost(to: &day)
                    day.member("complete", today.isComplete)
                }
            }
        }
    }

    package enum Fault: Error {
        /// The connected gateway has no usage report.
        case unsupported
        case gateway(GatewayFault)
    }

    private struct Known {
        let providers: [ProviderUsage]
        let at: Timestamp
        /// On the monotonic clock, in nanoseconds.
        let since: UInt64
    }

    /// The shortest time between two calls: providers limit how often they are asked.
    private static let shortestBetweenMs: Int64 = 60_000
    private static let staleAfterMs: Int64 = 300_000
    /// The time between two questions while the gateway still asks the providers, and the most of them in a row.
    private static let betweenRefreshesMs: Int64 = 1_000
    private static let mostRefreshes = 30
    /// The longest wait for the first answer; later reads are answered at once.
    private static let longestWaitMs: Int64 = 5_000
    /// The time between two looks while a client follows the event.
    private static let betweenLooksMs: Int64 = 300_000
    /// The time for which a glance counts as followed: paper displays refresh every half hour.
    private static let glancedMs: Int64 = 3_600_000
    /// The step in percent at which an event is published.
    private static let percentStep = 5.0

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let reports: UsageReports
    private let audience: Audience
    private let utcOffset: @Sendable (Int64) -> Int
    private var known: Known?
    /// The failure of the last call, if nothing was known before it.
    private var fault: GatewayFault?
    private var isAsking = false
    /// The answers in a row that were not final; 0 after one that is.
    private var refreshes = 0
    private var isCounting = false
    private var lastAsked: UInt64?
    private var lastCounted: (at: UInt64, period: UsagePeriod)?
    private var waiters: [Int: () -> Void] = [:]
    private var nextWaiter = 0
    /// The number of used steps when last seen, by provider and window.
    private var levels: [String: Int] = [:]
    private var isLooking = false
    private var glancedAt: UInt64?

    init(
        gateway: any GatewayCalls,
        feed: EventFeed,
        reports: UsageReports,
        audience: Audience,
        utcOffset: @escaping @Sendable (Int64) -> Int
    ) {
        self.gateway = gateway
        self.feed = feed
        self.reports = reports
        self.audience = audience
        self.utcOffset = utcOffset
    }

    // MARK: Reading

    /// Answers at once if anything is known, otherwise within seconds.
    package func read(
        on loop: isolated EventLoop,
        completion: @escaping (Result<Snapshot, Fault>) -> Void
    ) {
        if gateway.isOnline, gateway.profile?.offers(.usageLimits) == false {
            return completion(.failure(.unsupported))
        }
        refresh(on: loop)
        guard known == nil, isAsking || isCounting else { return completion(answer(on: loop)) }
        let waiter = nextWaiter
        nextWaiter += 1
        let timer = loop.after(milliseconds: Self.longestWaitMs) { [weak self] in self?.waiters[waiter]?() }
        waiters[waiter] = { [weak self] in
            loop.cancel(timer)
            guard let self, self.waiters.removeValue(forKey: waiter) != nil else { return }
            completion(self.answer(on: loop))
        }
    }

    private func answer(on loop: isolated EventLoop) -> Result<Snapshot, Fault> {
        if known == nil, let fault { return .failure(.gateway(fault)) }
        return .success(snapshot(on: loop))
    }

    private var isFollowed: Bool { audience.names("usage") || audience.isTold(of: .usageThreshold) }

    /// The known usage, without asking.
    func latest(on loop: isolated EventLoop) -> Snapshot { snapshot(on: loop) }

    private func snapshot(on loop: isolated EventLoop) -> Snapshot {
        let period = today(on: loop)
        let cost = reports.latestCost(period)
        let age = known.map { (loop.now &- $0.since) / 1_000_000 }
        return Snapshot(
            providers: known?.providers ?? [],
            asOf: known?.at,
            ageMs: age,
            isStale: age.map { $0 > UInt64(Self.staleAfterMs) } ?? true,
            isRefreshing: refreshes > 0,
            today: cost.map { (period.to, $0.totals, $0.isComplete) },
            now: gateway.gatewayTime(on: loop)
        )
    }

    private func today(on loop: isolated EventLoop) -> UsagePeriod {
        UsagePeriod(today: loop.wallClock, offset: utcOffset)
    }

    // MARK: Asking

    private func refresh(on loop: isolated EventLoop) {
        guard gateway.isOnline else { return }
        count(on: loop)
        guard !isAsking, !isEarly(lastAsked, on: loop) else { return }
        isAsking = true
        lastAsked = loop.now
        gateway.call(UsageStatus(), on: loop) { [weak self] in self?.answered($0, on: loop) }
    }

    private func isEarly(_ last: UInt64?, on loop: isolated EventLoop) -> Bool {
        last.map { (loop.now &- $0) / 1_000_000 < UInt64(Self.shortestBetweenMs) } ?? false
    }

    private func count(on loop: isolated EventLoop) {
        let period = today(on: loop)
        guard !isCounting else { return }
        // An unfinished count is kept for seconds only, so it is asked for again.
        let isUnfinished = reports.latestCost(period)?.isComplete == false
        if let lastCounted, lastCounted.period == period, !isUnfinished, isEarly(lastCounted.at, on: loop) { return }
        isCounting = true
        lastCounted = (loop.now, period)
        loop.start { [weak self, reports] in
            _ = try? await reports.cost(period, agent: nil, on: loop)
            self?.isCounting = false
            self?.settle()
        }
    }

    /// While the gateway still asks the providers, a reader who knows nothing waits on, and what is known from before stays: an answer
    /// that is not final proves nothing of a provider that is not in it.
    private func answered(_ result: Result<UsageStatus.Output, CallFailure>, on loop: isolated EventLoop) {
        if case .success(let output) = result, output.isRefreshing, refreshes < Self.mostRefreshes {
            refreshes += 1
            if known == nil, !output.providers.isEmpty { know(output.providers, on: loop) }
            loop.after(milliseconds: Self.betweenRefreshesMs) { [weak self] in
                guard let self else { return }
                self.gateway.call(UsageStatus(), on: loop) { [weak self] in self?.answered($0, on: loop) }
            }
            if known != nil { settle() }
            return
        }
        isAsking = false
        refreshes = 0
        switch result {
        case .success(let output):
            fault = nil
            // Even after the last question, an empty answer that is not final tells nothing.
            guard !output.isRefreshing || !output.providers.isEmpty else { break }
            know(output.providers, on: loop)
            publish(on: loop)
        case .failure(.gateway(let error, let payload)):
            fault = GatewayFault(.gateway(error, payload: payload), over: gateway)
        case .failure(.unreadable(let error)): fault = GatewayFault(.unreadable(error), over: gateway)
        case .failure: break
        }
        settle()
    }

    private func know(_ providers: [UsageStatus.Provider], on loop: isolated EventLoop) {
        known = Known(providers: providers.map { ProviderUsage($0) }, at: loop.wallClock, since: loop.now)
    }

    private func settle() {
        guard !isAsking || known != nil, !isCounting else { return }
        for waiter in waiters.sorted(by: { $0.key < $1.key }) { waiter.value() }
    }

    /// Expires the answer, since another gateway may have other subscriptions.
    func linkOpened() {
        lastAsked = nil
        lastCounted = nil
        fault = nil
    }

    // MARK: The event

    /// Follows the usage, because a stream names the event or a caller waits for it.
    package func follow(on loop: isolated EventLoop) {
        refresh(on: loop)
        lookLater(on: loop)
    }

    /// Follows the usage as long as a small display shows it.
    func glanced(on loop: isolated EventLoop) {
        guard gateway.profile?.offers(.usageLimits) ?? false else { return }
        glancedAt = loop.now
        if !isLooking { follow(on: loop) }
    }

    private func isGlanced(on loop: isolated EventLoop) -> Bool {
        glancedAt.map { (loop.now &- $0) / 1_000_000 < UInt64(Self.glancedMs) } ?? false
    }

    private func lookLater(on loop: isolated EventLoop) {
        guard !isLooking else { return }
        isLooking = true
        loop.after(milliseconds: Self.betweenLooksMs) { [weak self] in
            guard let self else { return }
            self.isLooking = false
            guard self.isFollowed || self.isGlanced(on: loop) else { return }
            self.follow(on: loop)
        }
    }

    struct Crossing: JSONWritable, Sendable {
        let provider: String
        let window: String
        let usedPercent: Double
        let resetsAt: Timestamp?

        func write(to writer: inout JSONWriter) {
            writer.object { object in
                object.member("provider", provider)
                object.member("window", window)
                object.member("usedPercent", usedPercent)
                object.member("resetsAt", resetsAt)
            }
        }
    }

    /// Publishes one event for all changed windows of an answer, except windows seen for the first time.
    private func publish(on loop: isolated EventLoop) {
        let snapshot = snapshot(on: loop)
        var seen: [String: Int] = [:]
        var crossed: [Crossing] = []
        for provider in snapshot.providers {
            for window in provider.windows {
                let key = "\(provider.id) \(window.name)"
                let last = levels[key]
                guard let percent = window.percent(now: snapshot.now) else {
                    seen[key] = last
                    continue
                }
                let level = Int(percent / Self.percentStep)
                seen[key] = level
                guard let last, last != level else { continue }
                crossed.append(
                    Crossing(
                        provider: provider.id,
                        window: window.name,
                        usedPercent: percent,
                        resetsAt: window.resetsAt
                    )
                )
            }
        }
        levels = seen
        guard !crossed.isEmpty else { return }
        let event = StreamEvent(transient: "usage", of: UsageNews(crossed: crossed), at: loop.wallClock) { object in
            object.array("crossed", of: crossed)
            object.key("usage")
            snapshot.write(to: &object, showsTimeLeft: true)
        }
        feed.pass(event, on: loop)
    }
}
