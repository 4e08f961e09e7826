package import Basics
package import EventLoops
import Gateway
import JSONBytes
import Ledger
package import Runs
import Store
import TLS

/// The gateway's approvals: pending ones, and our clients' decisions. The register holds each one's state; this class
/// asks the gateway, writes rows and events, and answers the callers who decided.
package final class ApprovalService {
    package enum Outcome {
        /// The approval ended with this decision, sent now or earlier.
        case decided(Approval)
        /// The approval ended with another decision.
        case ended(Approval)
        case tooLate(Approval)
        case notFound
        /// The question is not the one that was shown.
        case changed(Approval)
        case notOffered([Approval.Decision])
        /// The connected gateway lacks the method.
        case unsupported
        /// The pending approvals are still being requested.
        case notReady
        case failed(GatewayFault)
    }

    private struct Waiter {
        let decision: Approval.Decision
        let completion: (Outcome) -> Void
    }

    /// Allowed clock difference while the gateway's clock is unknown, before the first connection; clocks are seldom
    /// further apart.
    private static let clockToleranceMs: Int64 = 3_600_000
    /// The wall clock may be set, so long waits are checked in between.
    private static let longestWaitMs: Int64 = 60_000

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let runs: RunService
    private let clientName: String
    private let lists: PendingLists
    private var register = ApprovalRegister()
    private var waiters: [ApprovalRegister.Identity: [Waiter]] = [:]
    private var timer: TimerID?
    /// The number of requested lists whose answers are missing.
    private var listsDue = 0
    private var wasListAnswered = true
    /// The time of the last connection; nil before the first.
    package private(set) var asOf: Timestamp?
    /// Counts since the start, by final state.
    package private(set) var endings: [Approval.State: UInt64] = [:]

    init(gateway: any GatewayCalls, feed: EventFeed, runs: RunService, clientName: String) {
        self.gateway = gateway
        self.feed = feed
        self.runs = runs
        self.clientName = clientName
        lists = PendingLists(gateway: gateway, scope: Scopes.approvals)
    }

    package var sight: PendingLists.Sight { lists.sight }

    /// The current time on the gateway's clock.
    package func gatewayTime(on loop: isolated EventLoop) -> Timestamp { gateway.gatewayTime(on: loop) }

    /// The gateway has more pending approvals than Ladle keeps.
    package var isOverfull: Bool { register.isOverfull }

    // MARK: Reading

    /// Pending approvals, newest first; without a link they may already have ended.
    package func waiting(on loop: isolated EventLoop) -> [Approval] {
        tick(on: loop)
        return register.pending.reversed().map(shown)
    }

    /// An approval that waits or has ended a short time ago.
    package func approval(_ id: String, on loop: isolated EventLoop) -> Approval? {
        tick(on: loop)
        return register[id].map(shown)
    }

    /// Approvals that ended a short time ago; their rows may still be on their way to the disk.
    package var recent: [Approval] { register.recent }

    /// Pending approvals, oldest first, without a check of the clock; nil if they may already have ended.
    var pending: [Approval]? { sight.isLive ? register.pending : nil }

    /// The number of pending approvals.
    /// - Parameter sessions: nil for all of them.
    package func pendingCount(of sessions: SessionSet? = nil) -> Int {
        guard sight.isLive else { return 0 }
        guard let sessions else { return register.pending.count }
        return register.pending.count { $0.session.map { sessions.contains($0) } ?? false }
    }

    private func shown(_ approval: Approval) -> Approval {
        guard approval.isPending, !sight.isLive else { return approval }
        var copy = approval
        copy.state = .unknown
        return copy
    }

    // MARK: Deciding

    /// Sends a decision at once. `completion` comes when the approval's end is known and durable, or the decision
    /// failed.
    /// - Parameters:
    ///   - question: the hash of the question that was shown; nil if the sender gave none.
    ///   - sender: the name of the person or device that decides.
    package func decide(
        _ id: String,
        _ decision: Approval.Decision,
        of question: String? = nil,
        by sender: String,
        on loop: isolated EventLoop,
        completion: @escaping (Outcome) -> Void
    ) {
        tick(on: loop)
        if let question, let known = register[id], known.commandSHA256 != question {
            return completion(.changed(known))
        }
        if let approval = register[id], approval.isPending {
            switch sight {
            case .whole, .unlisted, .unanswered: break
            case .asking: return completion(.notReady)
            case .offline: return completion(.failed(.notConnected))
            case .scopeMissing: return completion(.failed(lists.missingScope))
            }
            guard resolves(approval.kind) || gateway.profile?.resolvesAnyApproval ?? true else {
                return completion(.unsupported)
            }
        }
        switch register.start(decision, of: id, by: sender, now: gatewayTime(on: loop)) {
        case .notFound: completion(.notFound)
        case .ended(let approval): completion(Outcome(approval, decision))
        case .tooLate(let approval): completion(.tooLate(approval))
        case .notOffered(let approval): completion(.notOffered(approval.decisions))
        case .underWay(let approval):
            waiters[approval.identity, default: []].append(Waiter(decision: decision, completion: completion))
        case .send(let approval, let attempt):
            waiters[approval.identity, default: []].append(Waiter(decision: decision, completion: completion))
            send(approval, decision, attempt, on: loop)
        }
    }

    private func send(
        _ approval: Approval,
        _ decision: Approval.Decision,
        _ attempt: Int,
        on loop: isolated EventLoop
    ) {
        let id = approval.id
        let completion = { [weak self] (result: Result<Void, CallFailure>) in
            guard let self else { return }
            self.answered(approval.identity, id, attempt, result, on: loop)
        }
        let text = decision.rawValue
        switch approval.kind {
        case .exec where resolves(.exec):
            gateway.call(ExecApprovalResolve(id: id, decision: text), on: loop, completion: completion)
        case .plugin where resolves(.plugin):
            gateway.call(PluginApprovalResolve(id: id, decision: text), on: loop, completion: completion)
        case .exec, .plugin:
            let kind = approval.kind == .plugin ? ApprovalEvent.Kind.plugin : .exec
            gateway.call(ApprovalResolve(id: id, kind: kind, decision: text), on: loop) { [weak self] result in
                guard case .success(let earlier?) = result else { return completion(result.map { _ in }) }
                self?.settle(id, earlier, on: loop)
                completion(.failure(.gateway(.approvalResolved, payload: nil)))
            }
        }
    }

    /// Whether the gateway lists the call for this kind of approval, or is not known yet.
    private func resolves(_ kind: Approval.Kind) -> Bool {
        guard let profile = gateway.profile else { return true }
        return kind == .exec ? profile.resolvesCommandApprovals : profile.resolvesPluginApprovals
    }

    /// Asks the gateway how these approvals ended, if its release remembers.
    private func remember(_ ids: [String], on loop: isolated EventLoop, completion: @escaping () -> Void) {
        guard !ids.isEmpty, lists.isConnected, gateway.profile?.tellsEndedApprovals == true else {
            return completion()
        }
        var left = ids.count
        for id in ids {
            gateway.call(ApprovalGet(id: id), on: loop) { [weak self] result in
                if case .success(let snapshot) = result { self?.settle(id, snapshot, on: loop) }
                left -= 1
                if left == 0 { completion() }
            }
        }
    }

    private func settle(_ id: String, _ snapshot: ApprovalSnapshot, on loop: isolated EventLoop) {
        publish(register.settled(id, snapshot, now: gatewayTime(on: loop)), on: loop)
    }

    private func answered(
        _ identity: ApprovalRegister.Identity,
        _ id: String,
        _ attempt: Int,
        _ result: Result<Void, CallFailure>,
        on loop: isolated EventLoop
    ) {
        var answer = ApprovalRegister.Answer.accepted
        var fault: GatewayFault?
        switch result {
        case .success, .failure(.unreadable): break
        case .failure(.gateway(let error, _)) where error.approvalRefusal != nil:
            answer = error.approvalRefusal.map { .refused($0) } ?? .nothing
        case .failure(let failure):
            fault = GatewayFault(failure, over: gateway)
            if case .ambiguous = failure { answer = .lost } else { answer = .nothing }
        }
        let isOver = answer == .refused(.gone) || answer == .refused(.resolved)
        remember(isOver ? [id] : [], on: loop) { [weak self] in
            self?.take(answer, fault, of: identity, id, attempt, on: loop)
        }
    }

    private func take(
        _ answer: ApprovalRegister.Answer,
        _ fault: GatewayFault?,
        of identity: ApprovalRegister.Identity,
        _ id: String,
        _ attempt: Int,
        on loop: isolated EventLoop
    ) {
        publish(register.answered(id, attempt: attempt, answer, now: gatewayTime(on: loop)), on: loop)
        guard let approval = register[id], approval.isPending, approval.identity == identity else {
            return arm(on: loop)
        }
        // The approval is still pending: the decision had no effect, or its effect is unknown.
        let left = waiters.removeValue(forKey: identity) ?? []
        for waiter in left {
            let isOffered = approval.decisions.contains(waiter.decision)
            waiter.completion(fault.map { .failed($0) } ?? (isOffered ? .notReady : .notOffered(approval.decisions)))
        }
        // The approval may have expired meanwhile.
        tick(on: loop)
    }

    // MARK: The link

    func linkLost(on loop: isolated EventLoop) {
        guard lists.isConnected else { return }
        lists.linkLost()
        asOf = loop.wallClock
        register.mayHaveMissed()
    }

    func linkOpened(on loop: isolated EventLoop) {
        lists.linkOpened()
        let hasList = gateway.profile?.listsCommandApprovals ?? false
        let now = gatewayTime(on: loop)
        publish(register.linkOpened(process: runs.continuity, hasList: hasList, now: now), on: loop)
        readLists(on: loop)
        tick(on: loop)
    }

    /// Frames of the open connection were lost, perhaps with an approval's end.
    func framesLost(on loop: isolated EventLoop) {
        register.mayHaveMissed()
        readLists(on: loop)
    }

    private func readLists(on loop: isolated EventLoop) {
        guard let profile = gateway.profile else { return }
        let (hasExec, hasPlugin) = (profile.listsCommandApprovals, profile.listsPluginApprovals)
        guard let current = lists.begin(lists: hasExec || hasPlugin) else { return }
        listsDue = (hasExec ? 1 : 0) + (hasPlugin ? 1 : 0)
        wasListAnswered = true
        let number = register.askList()
        if hasExec {
            gateway.call(ExecApprovalList(), on: loop) { [weak self] in
                self?.listed($0, of: .exec, number, current, on: loop)
            }
        }
        if hasPlugin {
            gateway.call(PluginApprovalList(), on: loop) { [weak self] in
                self?.listed($0, of: .plugin, number, current, on: loop)
            }
        }
    }

    private func listed(
        _ result: Result<[ApprovalEvent], CallFailure>,
        of kind: Approval.Kind,
        _ number: Int,
        _ current: Int,
        on loop: isolated EventLoop
    ) {
        guard lists.isCurrent(current) else { return }
        listsDue -= 1
        switch result {
        case .success(let rows):
            let now = gatewayTime(on: loop)
            var unread: Set<String> = []
            let approvals = rows.compactMap { row -> Approval? in
                // A listed approval also marks its waiting run, in case the event was missed.
                if let id = row.id, !register.knows(id) { runs.listed(row, on: loop) }
                if let approval = approval(row, now: now) { return approval }
                if let id = row.id { unread.insert(id) }
                return nil
            }
            let missing = register.missing(from: unread.union(approvals.map(\.id)), asked: number) {
                $0.kind == kind
            }
            remember(missing, on: loop) { [weak self] in
                guard let self, self.lists.isCurrent(current) else { return }
                let news = self.register.listed(approvals, unread: unread, asked: number, now: now) {
                    $0.kind == kind
                }
                self.publish(news, on: loop)
                self.arm(on: loop)
            }
        case .failure(.gateway(let error, _)) where error.missingScope != nil:
            if kind == .exec { lists.settle(as: .scopeMissing) }
        case .failure: wasListAnswered = false
        }
        guard listsDue == 0, sight != .scopeMissing else { return }
        guard wasListAnswered else {
            return lists.unanswered(current, on: loop) { [weak self] in self?.readLists(on: loop) }
        }
        // Without the list method for commands, the gateway lists only plugin approvals.
        lists.settle(as: gateway.profile?.listsCommandApprovals == true ? .whole : .unlisted)
    }

    // MARK: Events

    /// Called after the runs have had the event: they know which run asked.
    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        switch event.payload {
        case .approval(let event):
            if event.isResolved { resolved(event, on: loop) } else { requested(event, on: loop) }
        case .shutdown: register.gatewayStops()
        default: break
        }
    }

    private func requested(_ event: ApprovalEvent, on loop: isolated EventLoop) {
        let now = gatewayTime(on: loop)
        guard let approval = approval(event, now: now) else { return }
        publish(register.requested(approval, now: now), on: loop)
    }

    private func resolved(_ event: ApprovalEvent, on loop: isolated EventLoop) {
        guard let id = event.id else { return }
        let time = event.time ?? gatewayTime(on: loop)
        let news = register.resolved(id, event.decisionText, by: event.resolvedBy, own: clientName, at: time)
        publish(news, on: loop)
    }

    private func approval(_ event: ApprovalEvent, now: Timestamp) -> Approval? {
        var approval = Approval(
            event,
            session: event.sessionKey.map { runs.canonical($0).text },
            commandSHA256: event.request.map { Hex.encode(Digest.sha256($0.fingerprint)) },
            now: now
        )
        let run = runs.reading { $0.run(asking: event) } ?? event.request?.runId.map { runs.resolved($0) }
        approval?.runID = run.map { Printable.escaped($0).text }
        return approval
    }

    /// Some releases drop the approvals of an aborted run without an event, so the lists are read again.
    func runEnded(_ run: Run, on loop: isolated EventLoop) {
        if register.runEnded(run.id) { readLists(on: loop) }
    }

    // MARK: Time

    private var toleranceMs: Int64 { gateway.hello == nil ? Self.clockToleranceMs : 0 }

    private func tick(on loop: isolated EventLoop) {
        let now = gatewayTime(on: loop).adding(milliseconds: -toleranceMs)
        publish(register.tick(now: now, listed: listedKinds), on: loop)
        if register.takeListRequest() { readLists(on: loop) }
        arm(on: loop)
    }

    /// The kinds of approval that the gateway can list now.
    private var listedKinds: Set<Approval.Kind> {
        guard sight != .scopeMissing, lists.isConnected, let profile = gateway.profile else { return [] }
        var kinds: Set<Approval.Kind> = []
        if profile.listsCommandApprovals { kinds.insert(.exec) }
        if profile.listsPluginApprovals { kinds.insert(.plugin) }
        return kinds
    }

    private func arm(on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard let end = register.nextEnd else { return }
        let left = end.milliseconds + toleranceMs - gatewayTime(on: loop).milliseconds
        timer = loop.after(milliseconds: min(max(left, 1), Self.longestWaitMs)) { [weak self] in
            self?.timer = nil
            self?.tick(on: loop)
        }
    }

    // MARK: Rows and events

    /// Publishes each approval: row and event become durable together, then callers waiting for the end are answered.
    private func publish(_ news: [Approval], on loop: isolated EventLoop) {
        guard !news.isEmpty else { return }
        let now = gatewayTime(on: loop)
        for approval in news {
            if !approval.isPending { endings[approval.state, default: 0] += 1 }
            var writer = JSONWriter(capacity: 1024)
            approval.write(to: &writer, now: now)
            let stored = StoredApproval(approval, now: loop.wallClock)
            let body = writer.bytes
            feed.publish("approval", session: approval.session, run: approval.runID, on: loop) { object in
                object.member("approval", raw: body)
            } also: { transaction in
                try transaction.approvals.save(stored)
            } completion: { [weak self] in
                guard !approval.isPending else { return }
                for waiter in self?.waiters.removeValue(forKey: approval.identity) ?? [] {
                    waiter.completion(Outcome(approval, waiter.decision))
                }
            }
            // The old approval's run is not released while a new question with the same id is pending.
            guard !approval.isPending, register[approval.id]?.isPending != true else { continue }
            runs.approvalEnded(approval.id, approval.outcome, on: loop)
        }
        // There is room now for pending approvals that were left out.
        if register.isOverfull, news.contains(where: { !$0.isPending }) { readLists(on: loop) }
        arm(on: loop)
    }

    /// Loads the approvals that were pending in an earlier process.
    func load(on loop: isolated EventLoop) {
        feed.readSaved("approvals", on: loop) { tables in
            let waiting = try tables.approvals.waiting(limit: ApprovalLimits.pending)
            let ended = try tables.approvals.lastEnded(limit: ApprovalLimits.past) { Approval(kept: $0.body)?.identity }
            return (waiting.compactMap { Approval(kept: $0.body) }, ended.reversed().compactMap(\.self))
        } failed: { _ in
        } completion: { [weak self] waiting, ended in
            self?.register.restore(waiting, ended: ended)
            self?.arm(on: loop)
        }
    }
}

extension ApprovalService.Outcome {
    /// The outcome of an approval that has ended.
    package init(_ approval: Approval, _ decision: Approval.Decision) {
        if approval.decision == decision {
            self = .decided(approval)
        } else {
            self = approval.state == .expired ? .tooLate(approval) : .ended(approval)
        }
    }
}

extension Approval {
    /// The decision shown on the step that waited.
    fileprivate var outcome: ApprovalEvent.Decision {
        switch state {
        case .allowed: .allow
        case .denied: .deny
        case .pending, .expired, .cancelled, .unknown: .unknown
        }
    }
}
