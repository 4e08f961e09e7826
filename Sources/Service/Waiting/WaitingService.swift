package import Basics
package import EventLoops
import Gateway
import JSONBytes
import Ledger
package import Runs

/// How many of the items that wait at the gateway Ladle can see.
package enum WaitingSight: Equatable {
    /// The gateway was asked and listed all of them.
    case whole
    /// This release has no list: only the items requested while Ladle was connected are known.
    case unlisted
    case unanswered
    /// The lists have been requested.
    case asking
    case scopeMissing
    case offline

    /// Whether the items shown as pending still are.
    package var isLive: Bool {
        switch self {
        case .whole, .unlisted, .unanswered: true
        case .asking, .scopeMissing, .offline: false
        }
    }
}

/// The end of a choice.
package enum WaitingOutcome<Item: WaitingItem>: Sendable {
    /// The item ended with this choice, sent now or earlier.
    case decided(Item)
    /// The item ended with another choice.
    case ended(Item)
    case tooLate(Item)
    case notFound
    /// The item is not the one that was shown.
    case changed(Item)
    case notOffered(Item)
    /// The connected gateway lacks the method.
    case unsupported
    /// The lists have been requested, and nothing is decided before they come.
    case notReady
    case failed(GatewayFault)

    /// The outcome of an item that has ended.
    /// - Parameter choice: nil if it does not fit the item.
    package init(_ item: Item, _ choice: Item.Choice?) {
        if let choice, item.hasEnded(by: choice) {
            self = .decided(item)
        } else {
            self = item.state == .expired ? .tooLate(item) : .ended(item)
        }
    }
}

/// The approvals or questions that wait at the gateway for a person, and our clients' choices about them. The register
/// holds each item's state; this class asks the gateway, writes rows and events, and answers the callers who chose.
/// `WaitingKind` says in what approvals and questions differ.
///
/// The gateway's answers are taken at once, in the order of its frames: a later event may be about the same item.
package final class WaitingService<Kind: WaitingKind> {
    package typealias Item = Kind.Item
    package typealias Outcome = WaitingOutcome<Item>
    package typealias Register = WaitingRegister<Item>

    private struct Waiter {
        let choice: Item.Choice
        let completion: (Outcome) -> Void
    }

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let runs: RunService
    private let clientName: String
    let kind: Kind
    private var register = Register()
    private var waiters: [Register.Identity: [Waiter]] = [:]
    private var timer: TimerID?
    package private(set) var sight = WaitingSight.offline
    /// Reports of items about which the gateway is asked more, by id. Such an item is taken when the answer has come, so that people
    /// are asked about all of it.
    private var parts: [String: Item.Report] = [:]
    /// The number of the last request for the lists; answers to earlier requests are ignored.
    private var request = 0
    /// How many lists of this request have not come.
    private var listsDue = 0
    private var wasListAnswered = true
    private var retryMs = WaitingLimits.firstRetryMs
    /// The time of the last connection; nil before the first.
    package private(set) var asOf: Timestamp?
    /// Counts since the start, by final state.
    package private(set) var endings: [Item.State: UInt64] = [:]

    init(_ kind: Kind, gateway: any GatewayCalls, feed: EventFeed, runs: RunService, clientName: String) {
        self.kind = kind
        self.gateway = gateway
        self.feed = feed
        self.runs = runs
        self.clientName = clientName
    }

    // MARK: Reading

    /// False if the connected gateway does not have the kind.
    package var isSupported: Bool { sight == .offline || gateway.profile.map(kind.isOffered) ?? true }

    /// The gateway has more pending items than Ladle keeps.
    package var isOverfull: Bool { register.isOverfull }

    /// The current time on the gateway's clock.
    package func gatewayTime(on loop: isolated EventLoop) -> Timestamp { gateway.gatewayTime(on: loop) }

    /// Pending items, newest first; without a link they may already have ended.
    package func waiting(on loop: isolated EventLoop) -> [Item] {
        tick(on: loop)
        return register.pending.reversed().map(shown)
    }

    /// Pending and recently ended items, newest first.
    package func all(on loop: isolated EventLoop) -> [Item] {
        tick(on: loop)
        return register.all.reversed().map(shown)
    }

    /// An item that waits or has ended a short time ago.
    package func item(_ id: String, on loop: isolated EventLoop) -> Item? {
        tick(on: loop)
        return register[id].map(shown)
    }

    /// Items that ended a short time ago; their rows may still be on their way to the disk.
    package var recent: [Item] { register.recent }

    /// Pending items, oldest first, without a check of the clock; nil if they may already have ended.
    var pending: [Item]? { sight.isLive ? register.pending : nil }

    /// The number of pending items.
    /// - Parameter sessions: nil for all of them.
    package func pendingCount(of sessions: SessionSet? = nil) -> Int {
        guard let pending, let sessions else { return pending?.count ?? 0 }
        return pending.count { $0.session.map { sessions.contains($0) } ?? false }
    }

    /// Without a link nobody knows whether an item still waits.
    private func shown(_ item: Item) -> Item {
        guard item.isPending, !sight.isLive else { return item }
        var copy = item
        copy.state = .unknown
        return copy
    }

    // MARK: Deciding

    /// Sends a choice at once. `completion` comes when the item's end is known and durable, or the choice failed.
    /// - Parameters:
    ///   - sender: the name of the person or device that decides.
    ///   - kind: the kind that sends the choice, where a sender wishes more than a choice.
    ///   - choose: makes a choice that fits the item, or throws.
    package func decide<Misfit: Error>(
        _ id: String,
        by sender: String,
        as kind: Kind? = nil,
        on loop: isolated EventLoop,
        _ choose: (Item) throws(Misfit) -> Item.Choice,
        completion: @escaping (Outcome) -> Void
    ) throws(Misfit) {
        let kind = kind ?? self.kind
        tick(on: loop)
        guard let item = register[id] else { return completion(.notFound) }
        guard item.isPending else { return completion(Outcome(item, try? choose(item))) }
        switch sight {
        case .whole, .unlisted, .unanswered: break
        case .asking: return completion(.notReady)
        case .offline: return completion(.failed(.notConnected))
        case .scopeMissing:
            let hint = gateway.hint(toGain: Kind.scope)
            return completion(.failed(.missingScope(Kind.scope, required: [Kind.scope], hint: hint)))
        }
        guard kind.takesChoice(of: item) else { return completion(.unsupported) }
        let choice = try choose(item)
        switch register.start(choice, of: id, by: sender, now: gatewayTime(on: loop)) {
        case .notFound: completion(.notFound)
        case .ended(let item): completion(Outcome(item, choice))
        case .tooLate(let item): completion(.tooLate(item))
        case .notOffered(let item): completion(.notOffered(item))
        case .underWay: waiters[item.identity, default: []].append(Waiter(choice: choice, completion: completion))
        case .send(_, let attempt):
            waiters[item.identity, default: []].append(Waiter(choice: choice, completion: completion))
            kind.send(choice, of: item, on: loop) { [weak self] in self?.answered(item, attempt, $0, on: loop) }
        }
    }

    private func answered(
        _ item: Item,
        _ attempt: Int,
        _ result: Result<Register.Answer, CallFailure>,
        on loop: isolated EventLoop
    ) {
        let answer: Register.Answer
        var fault: GatewayFault?
        switch result {
        case .success(let given): answer = given
        case .failure(.unreadable): answer = .accepted
        case .failure(let failure):
            if case .gateway(let error, _) = failure, let refusal = kind.refusal(error) {
                answer = .refused(refusal)
            } else {
                fault = GatewayFault(failure, over: gateway)
                if case .ambiguous = failure { answer = .lost } else { answer = .nothing }
            }
        }
        let isOver = answer == .refused(.gone) || answer == .refused(.resolved)
        recall(isOver ? [item.id] : [], on: loop) { [weak self, fault] in
            guard let self else { return }
            publish(register.answered(item.id, attempt: attempt, answer, now: gatewayTime(on: loop)), on: loop)
            guard let known = register[item.id], known.isPending, known.identity == item.identity else {
                return arm(on: loop)
            }
            // It still waits: the choice had no effect, or its effect is unknown.
            for waiter in waiters.removeValue(forKey: item.identity) ?? [] {
                let outcome = known.offers(waiter.choice) ? Outcome.notReady : .notOffered(known)
                waiter.completion(fault.map { .failed($0) } ?? outcome)
            }
            // Its time may be over meanwhile.
            tick(on: loop)
        }
    }

    /// Asks the gateway how these items ended, if its release remembers.
    private func recall(_ ids: [String], on loop: isolated EventLoop, completion: @escaping () -> Void) {
        guard !ids.isEmpty, sight != .offline else { return completion() }
        var left = ids.count
        for id in ids {
            kind.recall(id, on: loop) { [weak self] end in
                if let self, let end { publish(register.end(id, end), on: loop) }
                left -= 1
                if left == 0 { completion() }
            }
        }
    }

    // MARK: The link

    func linkLost(on loop: isolated EventLoop) {
        guard sight != .offline else { return }
        for id in parts.keys.sorted() { takePart(id, on: loop) }
        sight = .offline
        request += 1
        asOf = loop.wallClock
        register.mayHaveMissed()
    }

    func linkOpened(on loop: isolated EventLoop) {
        sight = .asking
        retryMs = WaitingLimits.firstRetryMs
        let hasList = lists.contains(where: \.isMain)
        let news = register.linkOpened(process: runs.continuity, hasList: hasList, now: gatewayTime(on: loop))
        publish(news, on: loop)
        readLists(on: loop)
        tick(on: loop)
    }

    /// Frames of the open connection were lost, perhaps with an item's end.
    func framesLost(on loop: isolated EventLoop) {
        register.mayHaveMissed()
        readLists(on: loop)
    }

    /// Some releases drop what an aborted run waits for without an event, so the lists are read again.
    func runEnded(_ run: Run, on loop: isolated EventLoop) {
        if register.runEnded(run.id) { readLists(on: loop) }
    }

    // MARK: Lists

    private var lists: [WaitingList<Item>] { gateway.profile.map(kind.lists) ?? [] }

    private func readLists(on loop: isolated EventLoop) {
        guard sight != .offline, let hello = gateway.hello, let profile = gateway.profile else { return }
        guard kind.isOffered(by: profile) else {
            settle(as: .whole)
            return publish(register.endAll(now: gatewayTime(on: loop)), on: loop)
        }
        request += 1
        // Gateways of earlier releases do not report the granted scopes.
        guard hello.scopes.isEmpty || Scopes.covers(hello.scopes, Kind.scope) else {
            sight = .scopeMissing
            return
        }
        let lists = lists
        guard !lists.isEmpty else {
            sight = .unlisted
            return
        }
        if !sight.isLive { sight = .asking }
        listsDue = lists.count
        wasListAnswered = true
        let (request, number) = (request, register.askList())
        for list in lists {
            list.ask(gateway, loop) { [weak self] in self?.listed($0, list, number, request, on: loop) }
        }
    }

    private func listed(
        _ result: Result<[Item.Report], CallFailure>,
        _ list: WaitingList<Item>,
        _ number: Int,
        _ request: Int,
        on loop: isolated EventLoop
    ) {
        guard request == self.request else { return }
        listsDue -= 1
        switch result {
        case .success(let rows): take(rows, of: list, number, request, on: loop)
        case .failure(.gateway(let error, _)) where error.missingScope != nil:
            if list.isMain { settle(as: .scopeMissing) }
        case .failure: wasListAnswered = false
        }
        guard request == self.request, listsDue == 0, sight != .scopeMissing else { return }
        guard wasListAnswered else { return readLater(on: loop) }
        settle(as: lists.contains(where: \.isMain) ? .whole : .unlisted)
    }

    private func take(
        _ rows: [Item.Report],
        of list: WaitingList<Item>,
        _ number: Int,
        _ request: Int,
        on loop: isolated EventLoop
    ) {
        let now = gatewayTime(on: loop)
        var unread: Set<String> = []
        let items = rows.compactMap { row -> Item? in
            if let id = row.id, !register.knows(id) { kind.missed(row, on: loop) }
            if let id = row.id, kind.isPart(row) {
                unread.insert(id)
                if register[id]?.isPending != true { complete(id, row, on: loop) }
                return nil
            }
            if let item = kind.item(row, now: now) { return item }
            if let id = row.id { unread.insert(id) }
            return nil
        }
        let missing = register.missing(from: unread.union(items.map(\.id)), asked: number, where: list.has)
        recall(missing, on: loop) { [weak self] in
            guard let self, request == self.request else { return }
            publish(register.listed(items, unread: unread, asked: number, now: now, where: list.has), on: loop)
            arm(on: loop)
        }
    }

    private func settle(as sight: WaitingSight) {
        self.sight = sight
        retryMs = WaitingLimits.firstRetryMs
    }

    /// The gateway did not answer: asks again later, unless another request begins first.
    private func readLater(on loop: isolated EventLoop) {
        sight = .unanswered
        let (request, wait) = (request, retryMs)
        retryMs = min(2 * wait, WaitingLimits.longestRetryMs)
        loop.after(milliseconds: wait) { [weak self] in
            if self?.request == request { self?.readLists(on: loop) }
        }
    }

    // MARK: Events

    /// Called after the runs have had the event: they know which run asked.
    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        if case .shutdown = event.payload, Kind.isCancelledByStop { register.gatewayStops() }
        guard let report = kind.report(in: event) else { return }
        let now = gatewayTime(on: loop)
        if let id = report.id, kind.isPart(report) { return complete(id, report, on: loop) }
        if report.isResolved {
            if let id = report.id { takePart(id, on: loop) }
            publish(register.resolved(report, own: clientName, now: now), on: loop)
        } else if let item = kind.item(report, now: now) {
            publish(register.requested(item, now: now), on: loop)
        }
    }

    private func complete(_ id: String, _ report: Item.Report, on loop: isolated EventLoop) {
        let isAsked = parts.updateValue(report, forKey: id) != nil
        guard !isAsked else { return }
        kind.complete(id, report, on: loop) { [weak self] whole in
            guard let self, parts[id] != nil else { return }
            takePart(id, as: whole, on: loop)
        }
    }

    /// Takes an item as far as it is known.
    private func takePart(_ id: String, as whole: Item.Report? = nil, on loop: isolated EventLoop) {
        guard let part = parts.removeValue(forKey: id) else { return }
        let now = gatewayTime(on: loop)
        guard let item = kind.item(whole ?? part, now: now) else { return }
        publish(register.requested(item, now: now), on: loop)
    }

    // MARK: Time

    private var toleranceMs: Int64 { gateway.hello == nil ? WaitingLimits.clockToleranceMs : 0 }

    private func tick(on loop: isolated EventLoop) {
        let isListed = sight != .offline && sight != .scopeMissing
        let lists = isListed ? lists : []
        let now = gatewayTime(on: loop).adding(milliseconds: -toleranceMs)
        publish(register.tick(now: now) { item in lists.contains { $0.has(item) } }, on: loop)
        if register.takeListRequest() { readLists(on: loop) }
        arm(on: loop)
    }

    private func arm(on loop: isolated EventLoop) {
        if let timer { loop.cancel(timer) }
        timer = nil
        guard let end = register.nextEnd else { return }
        let left = end.milliseconds + toleranceMs - gatewayTime(on: loop).milliseconds
        timer = loop.after(milliseconds: min(max(left, 1), WaitingLimits.longestWaitMs)) { [weak self] in
            self?.timer = nil
            self?.tick(on: loop)
        }
    }

    // MARK: Rows and events

    /// Publishes each item: row and event become durable together, then callers waiting for the end are answered.
    private func publish(_ news: [Item], on loop: isolated EventLoop) {
        guard !news.isEmpty else { return }
        let now = gatewayTime(on: loop)
        for item in news {
            if !item.isPending { endings[item.state, default: 0] += 1 }
            var writer = JSONWriter(capacity: 1024)
            item.write(to: &writer, now: now)
            let body = writer.bytes
            feed.publish(
                Kind.name,
                of: item,
                session: item.session,
                run: item.runID,
                on: loop,
                { $0.member(Kind.name, raw: body) },
                also: kind.row(of: item, now: loop.wallClock)
            ) { [weak self] in
                guard let self, !item.isPending else { return }
                for waiter in waiters.removeValue(forKey: item.identity) ?? [] {
                    waiter.completion(Outcome(item, waiter.choice))
                }
            }
            // The run of an old item is not released while a new one with the same id is pending.
            if !item.isPending, register[item.id]?.isPending != true { kind.ended(item, on: loop) }
        }
        // There is room now for pending items that were left out.
        if register.isOverfull, news.contains(where: { !$0.isPending }) { readLists(on: loop) }
        arm(on: loop)
    }

    /// Loads what was pending in an earlier process.
    func load(on loop: isolated EventLoop) {
        feed.readSaved("\(Kind.name)s", on: loop, Kind.rows) { _ in
        } completion: { [weak self] waiting, ended in
            self?.register.restore(waiting, ended: ended)
            self?.arm(on: loop)
        }
    }
}
