package import Basics
package import EventLoops
import Gateway
package import JSONBytes
import Runs
import Store

/// When the agent hears of what it is told.
package enum WakeMode: String, Sendable, CaseIterable {
    case now
    case nextHeartbeat = "next-heartbeat"
}

/// The jobs that the gateway runs by their schedules. A list is kept true by the gateway's events, which every release sends; a read that
/// finds it fresh asks nobody. It is kept in the database too, without what the jobs say.
package final class AutomationService {
    enum Reason: String {
        case started, finished, added, updated, removed
    }

    /// A job as one list shows it: of the gateway, or as it was last written to the database.
    package struct Shown {
        package let id: String
        package let name: String
        package let isEnabled: Bool
        package let agent: String?
        package let automation: Automation?
        private let kept: [UInt8]

        init(_ automation: Automation) {
            id = automation.id
            name = automation.name
            isEnabled = automation.isEnabled
            agent = automation.agent
            self.automation = automation
            kept = []
        }

        init(id: String, name: String, isEnabled: Bool, agent: String?, kept: [UInt8]) {
            self.id = id
            self.name = name
            self.isEnabled = isEnabled
            self.agent = agent
            automation = nil
            self.kept = kept
        }

        package func write(to writer: inout JSONWriter, showsWork: Bool) {
            guard let automation else { return writer.raw(kept) }
            automation.write(to: &writer, showsWork: showsWork)
        }
    }

    package struct List {
        /// By name.
        package let rows: [Shown]
        /// False: an earlier answer, because the gateway is away.
        package let isLive: Bool
        /// When it was the gateway's answer; nil where it never gave one.
        package let asOf: Timestamp?
    }

    package enum Refusal: Error {
        case gateway(GatewayFault)
        case notFound
        /// Another one than the version that was meant.
        case moved
        case running
    }

    package struct Started {
        /// The gateway's name of the run; earlier releases have none.
        package let runID: String?
    }

    package typealias Completion<Value> = (Result<Value, Refusal>) -> Void

    /// What events leave out is at most this old.
    private static let lifeMs: UInt64 = 60_000
    /// Releases of protocol 3 answer when the run has ended; a caller is told that it began.
    private static let startWaitMs: Int64 = 2_000
    /// A page each: 10,000 jobs. A job that is left out would be answered as one that is not there.
    private static let mostPages = 50
    /// Jobs that begin and end without pause make each list outdated; a reader gets one all the same.
    private static let mostOvertaken = 3
    /// Events that wait for a list; one that never comes must not grow memory.
    private static let mostPending = 256

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let runs: RunService
    private var rows: [String: Automation] = [:]
    /// On the loop's clock; nil where the next read has to ask.
    private var readAt: UInt64?
    private var waiters: [(Result<List, ServiceFault>) -> Void] = []
    /// The lists asked for so far; answers of earlier ones count no more.
    private var asked = 0
    private var isAsking = false
    /// An event came that the list on its way may not know of.
    private var isOutdated = false
    /// Lists in a row that an event overtook.
    private var overtaken = 0
    /// Events of jobs of which the gateway told only the id.
    private var pending: [(id: String, event: CronEvent)] = []
    /// The link was broken since the last list: its events are lost.
    private var hasGap = false
    private var wasListed = false
    private let kept: KeptList
    /// Calls whose run has not been seen to begin, by job.
    private var starting: [String: [() -> Void]] = [:]

    init(gateway: any GatewayCalls, feed: EventFeed, events: ServiceEvents, runs: RunService) {
        self.gateway = gateway
        self.feed = feed
        kept = KeptList("automations", feed: feed)
        self.events = events
        self.runs = runs
    }

    private func automation(_ job: CronJob) -> Automation {
        Automation(job, session: job.sessionKey.map { runs.canonical($0).text })
    }

    // MARK: The link

    func linkOpened(_ hello: Hello, on loop: isolated EventLoop) {
        mayHaveMissed(on: loop)
    }

    func framesLost(on loop: isolated EventLoop) { mayHaveMissed(on: loop) }

    private func mayHaveMissed(on loop: isolated EventLoop) {
        readAt = nil
        isAsking = false
        asked += 1
        hasGap = wasListed
        if hasGap || !waiters.isEmpty || !pending.isEmpty { ask(on: loop) }
    }

    // MARK: Events

    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        guard case .cron(let event) = event.payload, let id = event.jobId, let action = event.action,
            let reason = Reason(rawValue: action)
        else { return }
        if reason == .started { for answer in starting.removeValue(forKey: id) ?? [] { answer() } }
        if isAsking { isOutdated = true }
        events.changed()
        guard pending.isEmpty else { return wait(id, event, on: loop) }
        if let job = event.job {
            publish(reason, take(automation(job), isRemoved: reason == .removed), on: loop)
        } else if reason == .removed {
            if let row = rows.removeValue(forKey: id) { publish(reason, row, on: loop) }
        } else if var row = rows[id], reason == .started || reason == .finished {
            row.note(event, now: loop.wallClock)
            publish(reason, take(row), on: loop)
        } else {
            wait(id, event, on: loop)
        }
    }

    private func take(_ row: Automation, isRemoved: Bool = false) -> Automation {
        rows[row.id] = isRemoved ? nil : row
        return row
    }

    private func wait(_ id: String, _ event: CronEvent, on loop: isolated EventLoop) {
        if pending.count >= Self.mostPending { pending.removeFirst() }
        pending.append((id, event))
        if isAsking { isOutdated = true } else { ask(on: loop) }
    }

    private func publishPending(_ before: [String: Automation], on loop: isolated EventLoop) {
        let waiting = pending
        pending = []
        for (id, event) in waiting {
            guard let reason = event.action.flatMap(Reason.init), var row = rows[id] ?? before[id] else { continue }
            // A list may be of the time before the end that came first.
            if reason == .finished, !row.knows(event) {
                row.note(event, now: loop.wallClock)
                if rows[id] != nil { rows[id] = row }
            }
            publish(reason, row, on: loop)
        }
    }

    private func publish(_ reason: Reason, _ row: Automation, on loop: isolated EventLoop) {
        feed.publish("automation", on: loop) { object in
            object.member("reason", reason.rawValue)
            object.key("automation")
            row.write(to: &object)
        }
    }

    /// After a break of the link: what its events would have told.
    private func compare(_ before: [String: Automation], on loop: isolated EventLoop) {
        let told = Set(pending.map(\.id))
        for row in rows.values.sorted(by: { $0.id < $1.id }) where !told.contains(row.id) {
            guard let last = before[row.id] else {
                publish(.added, row, on: loop)
                continue
            }
            if !row.isDefined(as: last) { publish(.updated, row, on: loop) }
            if row.last?.at != last.last?.at { publish(.finished, row, on: loop) }
            if row.runningSince != nil, row.runningSince != last.runningSince { publish(.started, row, on: loop) }
        }
        for (id, row) in before.sorted(by: { $0.key < $1.key }) where rows[id] == nil {
            publish(.removed, row, on: loop)
        }
    }

    // MARK: Reading

    package func read(
        refresh: Bool = false,
        on loop: isolated EventLoop,
        completion: @escaping (Result<List, ServiceFault>) -> Void
    ) {
        guard gateway.isOnline else { return readKept(on: loop, completion: completion) }
        if let fault = gateway.obstacle(to: .automations) { return completion(.failure(.gateway(fault))) }
        if !refresh, let readAt, loop.now < readAt + Self.lifeMs * 1_000_000 { return completion(.success(current)) }
        waiters.append(completion)
        if !isAsking { ask(on: loop) }
    }

    private var current: List {
        let sorted = rows.values.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
        return List(rows: sorted.map { Shown($0) }, isLive: true, asOf: nil)
    }

    private func ask(on loop: isolated EventLoop) {
        isAsking = true
        isOutdated = false
        asked += 1
        askPage([], 0, 1, asked, on: loop)
    }

    private func askPage(
        _ jobs: [CronJob],
        _ offset: Int,
        _ page: Int,
        _ number: Int,
        on loop: isolated EventLoop
    ) {
        gateway.control(CronList(offset: offset), needing: .automations, on: loop) { [weak self] result in
            guard let self, number == self.asked else { return }
            switch result {
            case .failure(let fault): self.failed(fault, on: loop)
            case .success(let answer):
                let all = jobs + answer.jobs
                guard let next = answer.nextOffset, next > offset, page < Self.mostPages else {
                    return self.listed(all, on: loop)
                }
                self.askPage(all, next, page + 1, number, on: loop)
            }
        }
    }

    private func listed(_ jobs: [CronJob], on loop: isolated EventLoop) {
        // An event came meanwhile, so the list may be of the time before it.
        if isOutdated, overtaken < Self.mostOvertaken {
            overtaken += 1
            return ask(on: loop)
        }
        overtaken = 0
        isAsking = false
        let before = rows
        rows = Dictionary(jobs.map { ($0.id, automation($0)) }) { first, _ in first }
        readAt = isOutdated ? nil : loop.now
        events.changed()
        keep(now: loop.wallClock)
        if hasGap { compare(before, on: loop) }
        hasGap = false
        wasListed = true
        publishPending(before, on: loop)
        let (list, waiting) = (current, waiters)
        waiters = []
        for waiter in waiting { waiter(.success(list)) }
    }

    private func failed(_ fault: GatewayFault, on loop: isolated EventLoop) {
        isAsking = false
        overtaken = 0
        publishPending(rows, on: loop)
        let waiting = waiters
        waiters = []
        for waiter in waiting {
            switch fault {
            case .notConnected, .unanswered: readKept(on: loop, completion: waiter)
            default: waiter(.failure(.gateway(fault)))
            }
        }
    }

    private func keep(now: Timestamp) {
        let sorted = rows.values.sorted { ($0.name, $0.id) < ($1.name, $1.id) }
        kept.keep(now: now) { list in for row in sorted { row.write(to: &list) } }
    }

    private func readKept(on loop: isolated EventLoop, completion: @escaping (Result<List, ServiceFault>) -> Void) {
        kept.read(on: loop, Shown.init(kept:)) { result in
            completion(result.map { List(rows: $0.rows, isLive: false, asOf: $0.asOf) })
        }
    }

    // MARK: Runs

    package struct RunPage {
        package let runs: [AutomationRun]
        package let hasMore: Bool
    }

    package func runs(
        of id: String,
        limit: Int,
        offset: Int,
        on loop: isolated EventLoop,
        completion: @escaping Completion<RunPage>
    ) {
        let call = CronRuns(id: id, limit: limit, offset: offset)
        gateway.control(call, needing: .automations, on: loop) { (result: Result<CronRuns.Page, GatewayFault>) in
            switch result {
            case .failure(let fault): completion(.failure(Refusal(fault)))
            case .success(let page):
                // Gateways keep the runs of a job that is gone, and answer for one that never was.
                guard page.runs.isEmpty, offset == 0, self.rows[id] == nil else {
                    return completion(.success(self.runPage(page)))
                }
                self.find(id, on: loop) { found in completion(found.map { _ in self.runPage(page) }) }
            }
        }
    }

    private func runPage(_ page: CronRuns.Page) -> RunPage {
        let shown = page.runs.map { AutomationRun($0, session: $0.sessionKey.map { runs.canonical($0).text }) }
        return RunPage(runs: shown, hasMore: page.hasMore)
    }

    // MARK: Changes

    private func find(
        _ id: String,
        refresh: Bool = false,
        on loop: isolated EventLoop,
        completion: @escaping Completion<Automation>
    ) {
        read(refresh: refresh, on: loop) { result in
            switch result {
            case .failure(.gateway(let fault)): completion(.failure(.gateway(fault)))
            case .failure(.store): completion(.failure(.gateway(.notConnected)))
            case .success(let list) where !list.isLive: completion(.failure(.gateway(.notConnected)))
            case .success(let list):
                let found = list.rows.first { $0.id == id }?.automation
                completion(found.map { .success($0) } ?? .failure(.notFound))
            }
        }
    }

    /// Runs a job now, whatever its schedule says. `completion` comes when it has begun, or is about to.
    package func run(_ id: String, on loop: isolated EventLoop, completion: @escaping Completion<Started>) {
        if let fault = gateway.obstacle(to: .automationsRun) { return completion(.failure(.gateway(fault))) }
        find(id, on: loop) { found in
            switch found {
            case .failure(let refusal): completion(.failure(refusal))
            case .success: self.start(id, on: loop, completion)
            }
        }
    }

    private func start(_ id: String, on loop: isolated EventLoop, _ completion: @escaping Completion<Started>) {
        var isOpen = true
        var timer: TimerID?
        let settle = { (result: Result<Started, Refusal>) in
            guard isOpen else { return }
            isOpen = false
            if let timer { loop.cancel(timer) }
            completion(result)
        }
        if gateway.hello.map({ $0.protocolVersion < 4 }) ?? false {
            starting[id, default: []].append { settle(.success(Started(runID: nil))) }
            timer = loop.after(milliseconds: Self.startWaitMs) { [weak self] in
                self?.starting[id] = nil
                settle(.success(Started(runID: nil)))
            }
        }
        gateway.control(CronRun(id: id), needing: .automationsRun, on: loop) { [weak self] result in
            self?.starting[id] = nil
            settle(Self.started(result))
        }
    }

    private static func started(_ result: Result<CronRun.Answer, GatewayFault>) -> Result<Started, Refusal> {
        switch result {
        case .failure(let fault): .failure(Refusal(fault))
        case .success(let answer):
            switch answer.refusal {
            case nil: .success(Started(runID: answer.runId))
            case "already-running": .failure(.running)
            case let reason?: .failure(.gateway(.declined(reason)))
            }
        }
    }

    package func enable(
        _ id: String,
        _ isEnabled: Bool,
        if isMeant: @escaping (Automation) -> Bool,
        on loop: isolated EventLoop,
        completion: @escaping Completion<Automation>
    ) {
        if let fault = gateway.obstacle(to: .automationsRun) { return completion(.failure(.gateway(fault))) }
        find(id, refresh: true, on: loop) { found in
            switch found {
            case .failure(let refusal): completion(.failure(refusal))
            case .success(let row) where !isMeant(row): completion(.failure(.moved))
            case .success(let row) where row.isEnabled == isEnabled: completion(.success(row))
            case .success: self.set(id, isEnabled, on: loop, completion)
            }
        }
    }

    private func set(
        _ id: String,
        _ isEnabled: Bool,
        on loop: isolated EventLoop,
        _ completion: @escaping Completion<Automation>
    ) {
        let call = CronEnable(id: id, isEnabled: isEnabled)
        gateway.control(call, needing: .automationsRun, on: loop) { (result: Result<CronJob?, GatewayFault>) in
            switch result {
            case .failure(let fault): completion(.failure(Refusal(fault)))
            case .success(let job?):
                self.events.changed()
                completion(.success(self.take(self.automation(job))))
            case .success(nil): self.find(id, refresh: true, on: loop, completion: completion)
            }
        }
    }

    /// - Parameter session: its canonical key.
    package func wake(
        _ text: String,
        mode: WakeMode,
        session: String,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Void, GatewayFault>) -> Void
    ) {
        let isMain = session == runs.defaults.mainSession.text
        let call = Wake(mode: mode.rawValue, text: text, sessionKey: isMain ? nil : session)
        gateway.control(call, needing: isMain ? .wake : .wakeSession, on: loop, completion: completion)
    }
}

extension AutomationService.Refusal {
    fileprivate init(_ fault: GatewayFault) {
        guard case .refused(let refusal) = fault, let reason = refusal.automation else {
            self = .gateway(fault)
            return
        }
        self =
            switch reason {
            case .unknown: .notFound
            case .running: .running
            }
    }
}

extension GatewayFault {
    /// An answer that says why nothing was done.
    fileprivate static func declined(_ reason: String) -> GatewayFault {
        .refused(
            Refusal(
                code: "DECLINED",
                message: reason,
                retryable: false,
                retryAfterMs: nil,
                isInvalid: true,
                isUnknownAgent: false,
                session: nil,
                automation: nil
            )
        )
    }
}
