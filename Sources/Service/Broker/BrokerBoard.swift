import Basics
import Broker
import EventLoops
import EventStream
import Gateway
import Observability
import Outbox
import Runs

/// The state that the broker keeps for whoever comes: link, activity, last reply, last failure, outbox, approvals, and the sessions that
/// the configuration names. Each is one topic with the newest value alone. It is built from memory.
final class BrokerBoard {
    private let settings: BrokerSettings
    private unowned let gateway: any GatewayCalls
    private let runs: RunService
    private let outbox: OutboxService
    private let approvals: ApprovalService
    private let model: SessionModel
    private let models: ModelService
    private let usage: UsageService

    private var activity: BrokerActivity?
    private var reply: BrokerReply?
    private var failure: BrokerFailure?
    private var repliedAt: [String: Timestamp] = [:]
    /// Runs that have ended and whose event is still on its way to the disk.
    private var ended: [String: Run] = [:]
    private static let mostEnded = 64
    private var spent: (figures: BrokerUsage, at: UInt64)?
    /// The names of the models that a session can have; nil before the gateway has told.
    private var modelNames: [String]?
    private static let usageNs: UInt64 = 60_000_000_000
    /// When the gateway was last asked; a gateway that refuses is left alone for a minute.
    private var askedAt: UInt64?
    private static let askNs: UInt64 = 60_000_000_000
    /// An older answer about subscriptions says little about now.
    private static let longestUsageAgeMs: UInt64 = 3_600_000
    /// For as long as there is no link to the gateway.
    var sawApprovals = false
    /// Approvals that were seen to wait.
    private var waiting: [String: Approval] = [:]

    init(
        _ settings: BrokerSettings,
        gateway: any GatewayCalls,
        runs: RunService,
        outbox: OutboxService,
        approvals: ApprovalService,
        model: SessionModel,
        models: ModelService,
        usage: UsageService
    ) {
        (self.settings, self.gateway, self.runs, self.outbox) = (settings, gateway, runs, outbox)
        (self.approvals, self.model, self.models, self.usage) = (approvals, model, models, usage)
    }

    private func mayShow(_ session: String?) -> Bool {
        guard let sessions = settings.sessions else { return true }
        return session.map { sessions.contains($0) } ?? false
    }

    // MARK: The topics

    /// All topics with their values of now.
    func topics(on loop: isolated EventLoop) -> [(topic: String, payload: [UInt8])] {
        let names = settings.topics
        var list = [
            (names.link, link.payload),
            (names.activity, newestActivity(on: loop).payload),
            (names.reply, reply?.payload(settings.text) ?? BrokerReply.nothing),
            (names.error, failure?.payload ?? BrokerFailure.nothing),
            (names.outbox, entries(on: loop).payload),
        ]
        if seesApprovals { list.append((names.approvals, pendingApprovals)) }
        if settings.showsUsage { list.append((names.usage, newestUsage(on: loop).payload)) }
        // Before the first list nothing is known of a session, and the broker keeps what it has.
        for session in settings.shownSessions where model.wasListed || model[session] != nil {
            list.append((names.session(session), isGone(session) ? BrokerSession.deleted : shown(session).payload))
        }
        return list
    }

    /// Whether the gateway tells of approvals, as far as the last connection showed.
    var seesApprovals: Bool {
        if gateway.status.state.isConnected { sawApprovals = Scopes.covers(gateway.status.scopes, Scopes.approvals) }
        return sawApprovals
    }

    private var link: BrokerLink {
        let status = gateway.status
        return BrokerLink(
            state: BrokerLink.State(rawValue: status.state.rawValue) ?? .offline,
            code: status.code,
            detail: status.detail,
            hint: status.hint,
            since: status.since,
            protocolVersion: status.protocolVersion,
            gatewayVersion: status.gatewayVersion,
            scopes: status.scopes,
            features: status.features,
            until: status.until,
            requestID: status.requestId
        )
    }

    /// The time is that of the last change, so that equal states are equal messages.
    private func newestActivity(on loop: isolated EventLoop) -> BrokerActivity {
        let view = ActivityView(runs.runs(activeOnly: true).filter { mayShow($0.session.text) })
        let shown = view.runs.map { BrokerActivity.Run(id: $0.id, session: $0.session.text, label: $0.currentLabel) }
        if let activity, activity.active == shown.count, activity.headline == view.headline, activity.runs == shown {
            return activity
        }
        let new = BrokerActivity(at: loop.wallClock, active: shown.count, headline: view.headline, runs: shown)
        activity = new
        return new
    }

    private func entries(on loop: isolated EventLoop) -> BrokerOutbox {
        let now = loop.wallClock
        let summary = outbox.summary(of: settings.sessions, now: now)
        return BrokerOutbox(
            pending: summary.counts.pending,
            unconfirmed: summary.counts.unconfirmed,
            failed: summary.counts.failed,
            oldestAt: summary.oldestAgeMilliseconds.map { now.adding(milliseconds: -$0) }
        )
    }

    private var pendingApprovals: [UInt8] {
        guard let pending = approvals.pending?.filter({ mayShow($0.session) }) else { return BrokerApprovals.unknown }
        return BrokerApprovals(
            pending: pending.count,
            list: pending.map { BrokerApprovals.Item(id: $0.id, title: $0.title, expiresAt: $0.expiresAt) }
        ).payload
    }

    private func shown(_ session: String) -> BrokerSession {
        let active = runs.runs(activeOnly: true, session: session)
        let info = model[session]
        return BrokerSession(
            key: session,
            label: model.title(of: session),
            active: !active.isEmpty,
            headline: active.isEmpty ? nil : ActivityView(active).headline,
            lastReplyAt: repliedAt[session],
            model: info.flatMap(modelName),
            thinking: info?.thinking
        )
    }

    /// The name that lists of models have.
    private func modelName(_ info: SessionInfo) -> String? {
        guard let model = info.model, let provider = info.provider, !model.hasPrefix(provider + "/") else {
            return info.model
        }
        return "\(provider)/\(model)"
    }

    /// Whether the gateway's whole list does not have the session.
    private func isGone(_ session: String) -> Bool {
        model.wasListed && model[session] == nil && model.sessions.count < SessionModel.mostSessions
    }

    // MARK: What the gateway is asked for

    /// Asks for what comes without an event. The services answer from memory most of the time.
    func ask(on loop: isolated EventLoop) {
        guard gateway.isOnline, askedAt.map({ loop.now - $0 >= Self.askNs }) ?? true else { return }
        askedAt = loop.now
        if settings.showsUsage { usage.glanced(on: loop) }
        if !settings.shownSessions.isEmpty, !model.wasListed { model.read(on: loop) { _ in } }
        guard offersChoices, models.isSupported else { return }
        loop.start { [weak self, models] in
            guard let answer = try? await models.read(nil, on: loop) else { return }
            self?.modelNames = answer.value.filter { $0.isAvailable != false }.map(\.id)
        }
    }

    /// A gateway lets only administrators change a session.
    private var offersChoices: Bool {
        let status = gateway.status
        guard !status.state.isConnected || Scopes.covers(status.scopes, Scopes.admin) else { return false }
        return settings.discovery != nil && settings.scopes.contains(.control) && !settings.shownSessions.isEmpty
    }

    /// The sessions whose model and thinking level can be chosen, and those of which that is not known yet.
    var choices: (known: [BrokerDiscovery.Session], unknown: [String]) {
        guard offersChoices else { return ([], []) }
        var (known, unknown): ([BrokerDiscovery.Session], [String]) = ([], [])
        for session in settings.shownSessions where !isGone(session) {
            guard let info = model[session], let modelNames else {
                unknown.append(session)
                continue
            }
            let choice = BrokerDiscovery.Session(
                key: session,
                label: model.title(of: session) ?? session,
                models: Self.options(modelNames, modelName(info)),
                thinkingLevels: Self.options(info.thinkingLevels, info.thinking)
            )
            known.append(choice)
        }
        return (known, unknown)
    }

    /// Home Assistant shows only a state that is among the options.
    private static func options(_ offered: [String], _ current: String?) -> [String] {
        guard let current, !offered.isEmpty, !offered.contains(current) else { return offered }
        return [current] + offered
    }

    /// At most once a minute, unless nothing was known.
    private func newestUsage(on loop: isolated EventLoop) -> BrokerUsage {
        if let spent, loop.now - spent.at < Self.usageNs, spent.figures.date != nil { return spent.figures }
        let answer = usage.latest(on: loop)
        let isRecent = answer.ageMs.map { $0 < Self.longestUsageAgeMs } ?? false
        let figures = BrokerUsage(
            date: answer.today?.date.iso,
            tokens: answer.today?.figures.tokens,
            costUSD: answer.today.flatMap { $0.figures.knownCost },
            costIsLowerBound: answer.today.map { $0.figures.unpriced > 0 || !$0.isComplete } ?? false,
            windows: !isRecent
                ? []
                : answer.providers.flatMap { provider in
                    provider.windows.map { window in
                        BrokerUsage.Window(
                            provider: provider.name,
                            name: window.name,
                            usedPercent: window.percent(now: answer.now),
                            resetsAt: window.resetsAt
                        )
                    }
                }
        )
        spent = (figures, loop.now)
        return figures
    }

    // MARK: Changes

    func runEnded(_ run: Run) {
        if ended.count >= Self.mostEnded, let some = ended.keys.first { ended[some] = nil }
        ended[run.id] = run
    }

    /// An entry that needs a person is a failure.
    func entryChanged(_ entry: OutboxEntry, on loop: isolated EventLoop) {
        guard [.failed, .expired].contains(entry.state), mayShow(entry.session), let fault = entry.fault else { return }
        failure = BrokerFailure(
            id: nil,
            at: loop.wallClock,
            code: fault.code,
            detail: fault.detail,
            session: entry.session,
            runID: entry.run
        )
    }

    func linkChanged(_ status: LinkStatus) {
        guard status.state == .refused else { return }
        failure = BrokerFailure(id: nil, at: status.since, code: status.code ?? "REFUSED", detail: status.detail)
    }

    /// The event of a run's beginning or end is on disk.
    /// - Returns: the message for Home Assistant's entity of runs.
    func published(_ event: StreamEvent, on loop: isolated EventLoop) -> HomeAssistantRun? {
        guard let id = event.id?.text, let runID = event.run, mayShow(event.session) else { return nil }
        switch event.type {
        case "run.started":
            guard let run = runs.run(runID) else { return nil }
            return HomeAssistantRun(.started, id: id, session: run.session.text, runID: runID, text: nil)
        case "run.ended":
            guard let run = ended.removeValue(forKey: runID) else { return nil }
            note(run, id, on: loop)
            let kind: HomeAssistantRun.Kind =
                run.state == .completed ? .completed : run.state == .aborted ? .aborted : .failed
            let text = kind == .completed ? run.text : run.error
            return HomeAssistantRun(kind, id: id, session: run.session.text, runID: runID, text: text)
        default: return nil
        }
    }

    private func note(_ run: Run, _ id: String, on loop: isolated EventLoop) {
        let at = run.endedAt ?? loop.wallClock
        switch run.state {
        case .completed:
            guard !run.text.isEmpty else { return }
            reply = BrokerReply(id: id, at: at, session: run.session.text, runID: run.id, text: run.text)
            if settings.shownSessions.contains(run.session.text) { repliedAt[run.session.text] = at }
        case .failed where run.continuedAs == nil:
            failure = BrokerFailure(
                id: id,
                at: at,
                code: run.code?.rawValue ?? "RUN_FAILED",
                detail: run.error ?? "The run failed; the gateway gave no reason.",
                session: run.session.text,
                runID: run.id
            )
        default: break
        }
    }

    /// Approvals that began or ceased to wait since the last look, for Home Assistant's entity of approvals.
    func approvalChanges(_ event: StreamEvent, on loop: isolated EventLoop) -> [HomeAssistantApproval] {
        guard let id = event.id?.text, let pending = approvals.pending else { return [] }
        let now = Dictionary(pending.filter { mayShow($0.session) }.map { ($0.id, $0) }) { $1 }
        let before = waiting
        waiting = now
        let over = before.values.filter { now[$0.id] == nil }.map { approvals.item($0.id, on: loop) ?? $0 }
        let begun = now.values.filter { before[$0.id] == nil }
        return (over + begun).sorted { $0.id < $1.id }.compactMap { approval in
            HomeAssistantApproval.Kind(state: approval.state.rawValue).map { kind in
                HomeAssistantApproval(
                    kind,
                    id: id,
                    approvalID: approval.id,
                    session: approval.session,
                    runID: approval.runID,
                    title: approval.title,
                    expiresAt: approval.expiresAt
                )
            }
        }
    }

    // MARK: An earlier process

    /// A new connection to the gateway, which may be another one.
    func linkOpened(on loop: isolated EventLoop) {
        askedAt = nil
        loadApprovals(on: loop)
        ask(on: loop)
    }

    /// The approvals that waited when the last process ended; it has told of them.
    private func loadApprovals(on loop: isolated EventLoop) {
        guard waiting.isEmpty else { return }
        let known = approvals.all(on: loop).filter { [.pending, .unknown].contains($0.state) && mayShow($0.session) }
        waiting = Dictionary(known.map { ($0.id, $0) }) { $1 }
    }

    /// The reply that the last process knew.
    func load(_ run: Run) {
        guard reply == nil, run.state == .completed, !run.text.isEmpty, mayShow(run.session.text) else { return }
        reply = BrokerReply(
            id: nil,
            at: run.endedAt ?? run.startedAt,
            session: run.session.text,
            runID: run.id,
            text: run.text
        )
    }
}
