import Basics
package import EventLoops
import Gateway
import JSONBytes
import Ledger
import Runs
import Store

/// The time at which the agent gets a wake-up line.
package enum WakeMode: String, Sendable, CaseIterable {
    case now
    case nextHeartbeat = "next-heartbeat"
}

/// The jobs that the gateway runs on schedules. The gateway's events, which every release sends, keep the list current;
/// a read that finds it fresh sends no call. The list is also stored in the database, without the jobs' texts.
package final class AutomationService {
    enum Reason: String, Sendable {
        case started, finished, added, updated, removed
    }

    /// The jobs, sorted by name.
    package typealias List = ShownList<Automation>

    package enum Refusal: Error {
        case gateway(GatewayFault)
        case notFound
        /// The job is not the version that the caller means.
        case moved
        case running
    }

    package struct Started {
        /// The gateway's id of the run; earlier releases have none.
        package let runID: String?
        /// The run, if it was waited for and has ended.
        package var ended: AutomationRun? = nil

        fileprivate static var withoutID: Started { Started(runID: nil) }
    }

    /// The maximum age of details that events leave out.
    private static let lifeMs: UInt64 = 60_000
    /// One page each: 10,000 jobs. A job beyond them would be answered as missing.
    private static let mostPages = 50
    /// Jobs that start and end without pause make every list outdated; after so many tries the reader gets one anyway.
    private static let mostOvertaken = 3
    /// The most events that wait for a list, so that a list that never comes does not fill memory.
    private static let mostPending = 256

    private unowned let gateway: any GatewayCalls
    private let feed: EventFeed
    private let events: ServiceEvents
    private let runs: RunService
    private var rows: [String: Automation] = [:]
    private let list: KeptList<Automation>
    /// The number of lists in a row that an event made outdated.
    private var overtaken = 0
    /// Events for which the gateway sent only the job's id.
    private var pending: [(id: String, event: CronEvent)] = []
    /// Calls whose run has not been seen to start, by job.
    private var starting: [String: [FirstAnswer<Result<Started, Refusal>>]] = [:]

    init(gateway: any GatewayCalls, feed: EventFeed, events: ServiceEvents, runs: RunService) {
        self.gateway = gateway
        self.feed = feed
        list = KeptList("automations", feed: feed)
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
        if list.restart() || list.wasListed || !pending.isEmpty { ask(on: loop) }
    }

    // MARK: Events

    func received(_ event: GatewayEvent, on loop: isolated EventLoop) {
        guard case .cron(let event) = event.payload, let id = event.jobId, let action = event.action,
            let reason = Reason(rawValue: action)
        else { return }
        if reason == .started {
            for answer in starting.removeValue(forKey: id) ?? [] { answer.give(.success(.withoutID), on: loop) }
        }
        list.isOutdated = true
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
        if !list.isAsking { ask(on: loop) }
    }

    private func publishPending(_ before: [String: Automation], on loop: isolated EventLoop) {
        let waiting = pending
        pending = []
        for (id, event) in waiting {
            guard let reason = event.action.flatMap(Reason.init), var row = rows[id] ?? before[id] else { continue }
            // The list may have been made before the job's end, which arrived first.
            if reason == .finished, !row.knows(event) {
                row.note(event, now: loop.wallClock)
                if rows[id] != nil { rows[id] = row }
            }
            publish(reason, row, on: loop)
        }
    }

    private func publish(_ reason: Reason, _ row: Automation, on loop: isolated EventLoop) {
        feed.publish("automation", of: AutomationNews(reason: reason, automation: row), on: loop) { object in
            object.member("reason", reason.rawValue)
            object.key("automation")
            row.write(to: &object)
        }
    }

    /// Publishes the changes whose events were lost while the link was down.
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
        list.read(
            sorted,
            forMs: Self.lifeMs,
            refresh: refresh,
            over: gateway,
            needing: .automations,
            on: loop,
            ask: { ask(on: loop) },
            completion: completion
        )
    }

    private var sorted: [Automation] { rows.values.sorted { ($0.name, $0.id) < ($1.name, $1.id) } }

    private func ask(on loop: isolated EventLoop) { askPage([], 0, 1, list.ask(), on: loop) }

    private func askPage(
        _ jobs: [CronJob],
        _ offset: Int,
        _ page: Int,
        _ number: Int,
        on loop: isolated EventLoop
    ) {
        gateway.control(CronList(offset: offset), needing: .automations, on: loop) { [weak self] result in
            guard let self, self.list.isLast(number) else { return }
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
        // An event arrived meanwhile, so the list may be outdated.
        if list.isOutdated, overtaken < Self.mostOvertaken {
            overtaken += 1
            return ask(on: loop)
        }
        overtaken = 0
        let before = rows
        rows = Dictionary(jobs.map { ($0.id, automation($0)) }) { first, _ in first }
        let hasGap = list.listed(on: loop)
        events.changed()
        list.keep(sorted, now: loop.wallClock)
        if hasGap { compare(before, on: loop) }
        publishPending(before, on: loop)
        list.answer(sorted)
    }

    private func failed(_ fault: GatewayFault, on loop: isolated EventLoop) {
        overtaken = 0
        publishPending(rows, on: loop)
        list.failed(fault, on: loop)
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
        on loop: isolated EventLoop
    ) async throws(Refusal) -> RunPage {
        let page: CronRuns.Page
        do throws(GatewayFault) {
            let call = CronRuns(id: id, limit: limit, offset: offset)
            page = try await gateway.control(call, needing: .automations, on: loop)
        } catch {
            throw Refusal(error)
        }
        // Gateways keep runs of deleted jobs, and answer even for jobs that never existed.
        if page.runs.isEmpty, offset == 0, rows[id] == nil { _ = try await find(id, on: loop) }
        return runPage(page)
    }

    private func runPage(_ page: CronRuns.Page) -> RunPage {
        RunPage(runs: page.runs.map { automationRun($0) }, hasMore: page.hasMore)
    }

    private func automationRun(_ run: CronJobRun) -> AutomationRun {
        AutomationRun(run, session: run.sessionKey.map { runs.canonical($0).text })
    }

    // MARK: Changes

    private func find(
        _ id: String,
        refresh: Bool = false,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> Automation {
        switch await loop.wait(for: { read(refresh: refresh, on: loop, completion: $0) }) {
        case .failure(.gateway(let fault)): throw .gateway(fault)
        case .failure(.store): throw .gateway(.notConnected)
        case .success(let list) where !list.isLive: throw .gateway(.notConnected)
        case .success:
            // Not from the list: an event may have changed the job since.
            guard let row = rows[id] else { throw .notFound }
            return row
        }
    }

    /// Runs a job now, regardless of its schedule. The flow ends when the run has begun, or is about to; or when it has ended, if that is
    /// waited for.
    package func run(
        _ id: String,
        waitMs: Int64? = nil,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> Started {
        let capability = waitMs == nil ? Capability.automationsRun : .automationsWait
        if let fault = gateway.obstacle(to: capability) { throw .gateway(fault) }
        _ = try await find(id, on: loop)
        if let waitMs { return try await run(id, waiting: waitMs, on: loop) }
        let started = await loop.wait { (end: @escaping (Result<Started, Refusal>) -> Void) in
            // Releases of protocol 3 answer only when the run has ended: the caller is told before, by the event or after a while.
            let answersLate = gateway.profile?.answersJobsAtOnce == false
            let answer = FirstAnswer(
                on: loop,
                kept: { give in give(answersLate ? .success(.withoutID) : nil) },
                completion: end
            )
            if answersLate { starting[id, default: []].append(answer) }
            gateway.control(CronRun(id: id), needing: .automationsRun, on: loop) { [weak self] result in
                guard let self else { return }
                self.starting[id] = nil
                answer.give(self.started(result), on: loop)
            }
        }
        return try started.get()
    }

    /// The gateway answers when the run has ended, or the time is over; then the run goes on.
    private func run(
        _ id: String,
        waiting waitMs: Int64,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> Started {
        let call = CronRun(id: id, waitMs: waitMs)
        let result: Result<CronRun.Answer, GatewayFault>
        do throws(GatewayFault) {
            result = .success(try await gateway.control(call, needing: .automationsWait, on: loop))
        } catch {
            result = .failure(error)
        }
        return try started(result).get()
    }

    private func started(_ result: Result<CronRun.Answer, GatewayFault>) -> Result<Started, Refusal> {
        switch result {
        case .failure(let fault): .failure(Refusal(fault))
        case .success(let answer):
            switch answer.refusal {
            case nil:
                .success(Started(runID: answer.runId ?? answer.end?.runId, ended: answer.end.map { automationRun($0) }))
            case "already-running": .failure(.running)
            case let reason?: .failure(.gateway(.declined(reason)))
            }
        }
    }

    package func enable(
        _ id: String,
        _ isEnabled: Bool,
        if isMeant: (Automation) -> Bool,
        on loop: isolated EventLoop
    ) async throws(Refusal) -> Automation {
        if let fault = gateway.obstacle(to: .automationsRun) { throw .gateway(fault) }
        let row = try await find(id, refresh: true, on: loop)
        guard isMeant(row) else { throw .moved }
        guard row.isEnabled != isEnabled else { return row }
        switch await loop.wait(for: { set(id, isEnabled, on: loop, completion: $0) }) {
        case .failure(let fault): throw Refusal(fault)
        case .success(let row?): return row
        case .success(nil): return try await find(id, refresh: true, on: loop)
        }
    }

    /// Takes the changed job when the answer comes: events that follow it are newer.
    private func set(
        _ id: String,
        _ isEnabled: Bool,
        on loop: isolated EventLoop,
        completion: @escaping (Result<Automation?, GatewayFault>) -> Void
    ) {
        let call = CronEnable(id: id, isEnabled: isEnabled)
        gateway.control(call, needing: .automationsRun, on: loop) { [self] (result: Result<CronJob?, GatewayFault>) in
            if case .success(.some) = result { events.changed() }
            completion(result.map { job in job.map { take(automation($0)) } })
        }
    }

    /// - Parameter session: the canonical session key.
    package func wake(
        _ text: String,
        mode: WakeMode,
        session: String,
        on loop: isolated EventLoop
    ) async throws(GatewayFault) {
        let isMain = session.isSameText(as: runs.defaults.mainSession.text)
        let call = Wake(mode: mode.rawValue, text: text, sessionKey: isMain ? nil : session)
        try await gateway.control(call, needing: isMain ? .wake : .wakeSession, on: loop)
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
    /// A refusal by an answer that says why nothing was done.
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
