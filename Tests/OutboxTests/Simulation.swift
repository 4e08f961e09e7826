import Basics
import Ledger
import Outbox

/// The dispatcher between a disk, a link and a gateway that all take time and may all fail between any two steps. One
/// seed decides everything, so that every failure can be replayed.
struct Simulation {
    enum Step {
        case load
        case connect
        case commit
        case frame(connection: Int, DispatchOrder)
        case answer(connection: Int, AttemptID, AttemptOutcome)
        case timeout(AttemptID)
        case runBegins(process: Int64, session: String)
        case runEnds(session: String, run: String)
        case resume(process: Int64, session: String)
        case hear(connection: Int, DispatcherInput)
        case looked(connection: Int, SearchOrder)
        case act, drop, crash, kill, other, diskFails(Bool)
    }

    enum Operation {
        case enqueue(OutboxEntry)
        case change(PersistID, OutboxChange)
    }

    var random: `Random operations`.Random
    var gateway: SimulatedGateway
    var dispatcher: Dispatcher
    let policy: OutboxPolicy
    var nowMs: Int64 = 1_000_000
    var steps: [(atMs: Int64, number: Int, step: Step)] = []
    var disk: [String: OutboxEntry] = [:]
    var texts: [String: String] = [:]
    var accepted: Set<String> = []
    /// Entries that a person retried or force-dismissed: the promises do not cover them.
    var touched: Set<String> = []
    var takenBack: Set<String> = []
    var violations: [String] = []
    var isPeace = false
    private var operations: [Operation] = []
    private var isCommitting = false
    private var isDiskFull = false
    /// Nil without a link.
    private var connection: Int?
    private var lastConnection = 0
    private var outstanding: [AttemptID: String] = [:]
    private var proven: Set<String> = []
    /// Events of the current gateway process that no connection delivered. The history shows them to the next one.
    private var missed: [DispatcherInput] = []
    private var lastNumber = 0
    private var tickAtMs: Int64?

    init(seed: UInt64) {
        random = .init(state: seed)
        let releases = SimulatedGateway.Release.allCases
        gateway = SimulatedGateway(releases[Int(seed % UInt64(releases.count))])
        var policy = OutboxPolicy()
        policy.offline = seed % 4 == 0 ? .count : .hold
        self.policy = policy
        dispatcher = Dispatcher(policy: policy)
        at(5, .load)
        at(20, .connect)
        at(100, .act)
        at(3_000, .other)
        at(15_000, .drop)
        at(40_000, .crash)
        at(30_000, .kill)
        at(60_000, .diskFails(true))
    }

    // MARK: Time

    mutating func at(_ delay: Int64, _ step: Step) {
        lastNumber += 1
        steps.append((nowMs + delay, lastNumber, step))
    }

    mutating func soon(_ range: ClosedRange<Int64>, _ step: Step) {
        at(Int64.random(in: range, using: &random), step)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// Does the next step; false if there is none before the given time.
    mutating func advance(until endMs: Int64) -> Bool {
        let index = steps.indices.min { (steps[$0].atMs, steps[$0].number) < (steps[$1].atMs, steps[$1].number) }
        if let tick = tickAtMs, tick <= index.map({ steps[$0].atMs }) ?? .max {
            guard tick <= endMs else { return false }
            nowMs = max(nowMs, tick)
            tickAtMs = nil
            tell(.tick)
            return true
        }
        guard let index, steps[index].atMs <= endMs else { return false }
        let next = steps.remove(at: index)
        nowMs = max(nowMs, next.atMs)
        perform(next.step)
        return true
    }

    private mutating func perform(_ step: Step) {
        switch step {
        case .load where chance(20):
            tell(.loadFailed(detail: "the disk"))
            soon(1...1_000, .load)
        case .load: tell(.loaded(disk.values.filter { !$0.state.hasEndedForGood }.sorted { $0.ordinal < $1.ordinal }))
        case .connect: connect()
        case .commit: commit()
        case .frame(let line, let order): if line == connection { arrive(order) }
        case .answer(let line, let attempt, let outcome):
            guard line == connection else { return }
            outstanding[attempt] = nil
            tell(.outcome(attempt, outcome))
        case .timeout(let attempt):
            guard outstanding[attempt] != nil else { return }
            outstanding[attempt] = nil
            tell(.outcome(attempt, .noAnswer(detail: "too late")))
        case .runBegins(let process, let session):
            guard process == gateway.startedMs else { return }
            publish(gateway.begin(in: session, at: nowMs))
        case .runEnds(let session, let run):
            guard gateway.isActive(session, run) else { return }
            publish(gateway.end(in: session, at: nowMs))
            publish(gateway.begin(in: session, at: nowMs))
        case .resume(let process, let session):
            if process == gateway.startedMs { publish(gateway.resume(session, at: nowMs)) }
        case .hear(let line, let input):
            guard line == connection else { return missed.append(input) }
            switch input {
            case .evidence(let key, _, _), .run(_, let key, .continued): proven.insert(OutboxEntry.bareKey(key))
            default: break
            }
            tell(input)
        case .looked(let line, let order): looked(line, order)
        case .act: act()
        case .drop, .crash, .kill, .other, .diskFails: fault(step)
        }
    }

    // MARK: The dispatcher's actions

    mutating func tell(_ input: DispatcherInput) {
        let now = Moment(wallMs: nowMs, monotonicMs: nowMs)
        for action in dispatcher.receive(input, now: now) {
            switch action {
            case .load: soon(1...20, .load)
            case .persist(let id, let change): write(.change(id, change))
            case .dispatch(let order): dispatch(order)
            case .search(let order): soon(2...200, .looked(connection: connection ?? -1, order))
            case .answer, .discard: break
            case .arm(let time): tickAtMs = time
            }
        }
    }

    private mutating func dispatch(_ order: DispatchOrder) {
        let row = disk[order.entry.id]
        if row?.state != .sending || row?.upstreamKey != order.attempt.key {
            violations.append("\(order.entry.id) goes out and is \(row?.state as Any) on disk")
        }
        guard let connection else {
            tell(.outcome(order.attempt, .notDispatched(detail: "no socket")))
            return
        }
        if !order.entry.kind.usesControlQueue {
            // An entry that is proven to have arrived counts as answered.
            let out = outstanding.filter { !proven.contains($0.key.key) }
            for other in out where other.value == order.entry.session {
                violations.append("\(order.entry.id) goes out while \(other.key.entry) is")
            }
            let isOverCap = out.count >= dispatcher.rules.policy.parallelSessions
            if isOverCap, !order.entry.isRepeatInDoubt { violations.append("too many are out") }
            outstanding[order.attempt] = order.entry.session
        }
        soon(1...80, .frame(connection: connection, order))
        at(30_000, .timeout(order.attempt))
    }

    /// A gateway that has just started refuses the search, or delays it.
    private mutating func looked(_ line: Int, _ order: SearchOrder) {
        let age = nowMs - gateway.startedMs
        if gateway.release == .april, age < 16_000 { return at(16_000 - age, .looked(connection: line, order)) }
        guard line == connection, gateway.release != .june || age >= 900 else {
            return tell(.searched(order.id, .failed))
        }
        let text = texts[order.entry.id] ?? ""
        var order = order
        order.others = others(besides: order.entry, since: order.since)
        let report = gateway.report(on: order, text: text)
        if report.proof != nil { proven.insert(order.entry.upstreamKey) }
        tell(.searched(order.id, report))
    }

    /// The same entries as the table's.
    private func others(besides entry: OutboxEntry, since: Timestamp) -> [OutboxEntry] {
        let earliest = since.adding(milliseconds: -ClockWindow.longestRunMs)
        let others = disk.values.filter { other in
            other.session == entry.session && other.id != entry.id
                && (other.updatedAt >= earliest || [.sending, .accepted, .unconfirmed].contains(other.state))
                && (other.firstDispatchAt != nil || other.runID != nil)
        }
        return others.map { other in
            var other = other
            other.text = texts[other.id]
            return other
        }
        .sorted { $0.ordinal < $1.ordinal }
    }

    // MARK: The disk

    mutating func write(_ operation: Operation) {
        operations.append(operation)
        guard !isCommitting else { return }
        isCommitting = true
        soon(1...20, .commit)
    }

    private mutating func commit() {
        isCommitting = false
        let batch = operations
        operations = []
        // Durable together, and reported one after the other.
        let results = batch.map { isDiskFull ? refusal($0) : apply($0) }
        for result in results { if let result { tell(result) } }
    }

    private func refusal(_ operation: Operation) -> DispatcherInput? {
        guard case .change(let id, _) = operation else { return nil }
        return .persistFailed(id, .storage(.storageFull))
    }

    private mutating func apply(_ operation: Operation) -> DispatcherInput? {
        switch operation {
        case .enqueue(var entry):
            entry.ordinal = Int64(disk.count + 1)
            disk[entry.id] = entry
            accepted.insert(entry.id)
            return .enqueued(entry)
        case .change(let id, let change):
            let entry = change.entry
            guard let row = disk[entry.id], row.version == change.expectedVersion else {
                violations.append("\(entry.id) is written from version \(change.expectedVersion)")
                return .persistFailed(id, .moved(current: disk[entry.id]))
            }
            check(row, becomes: entry)
            disk[entry.id] = entry
            return .persisted(id)
        }
    }

    private mutating func check(_ row: OutboxEntry, becomes entry: OutboxEntry) {
        if row.state != entry.state, `Random operations`.steps[row.state]?.contains(entry.state) != true {
            violations.append("\(entry.id): \(row.state) to \(entry.state)")
        }
        if entry.version != row.version + 1 || entry.updatedAt < row.updatedAt {
            violations.append("\(entry.id) goes back")
        }
        let isStored = gateway.stored[entry.id] != nil
        if entry.state == .delivered, entry.kind.startsRun, !isStored {
            violations.append("\(entry.id) is called delivered by \(entry.proof as Any) and the transcript lacks it")
        }
        if entry.state == .cancelled, row.state.isWaiting, entry.kind.startsRun {
            takenBack.insert(entry.id)
            if isStored, !touched.contains(entry.id) { violations.append("\(entry.id) is taken back and has run") }
        }
    }

    // MARK: Link and gateway

    private mutating func connect() {
        guard connection == nil else { return }
        lastConnection += 1
        connection = lastConnection
        for (session, run) in gateway.running { tell(.run(session: session, run: run, phase: .active)) }
        let process = GatewayProcess(
            ageMs: nowMs - gateway.startedMs,
            gatewayTime: Timestamp(milliseconds: nowMs),
            monotonicMs: nowMs
        )
        tell(.link(.online(gateway.release.profile, process)))
        let events = missed
        missed = []
        for input in events { at(300, .hear(connection: lastConnection, input)) }
    }

    private mutating func arrive(_ order: DispatchOrder) {
        guard let connection else { return }
        if order.entry.kind.usesControlQueue {
            return soon(1...50, .answer(connection: connection, order.attempt, .acknowledged(.init(status: .finished))))
        }
        if !isPeace, chance(3) {
            let code = ["UNAVAILABLE", "RATE_LIMITED", "NOT_FOUND"].randomElement(using: &random) ?? ""
            let rejection = GatewayRejection(code: code, message: "no", retryAfterMs: chance(50) ? 9_000 : nil)
            return soon(1...50, .answer(connection: connection, order.attempt, .rejected(rejection)))
        }
        let status = take(order)
        // Sometimes the answer takes longer than the longest wait.
        let delay: ClosedRange<Int64> = !isPeace && chance(2) ? 31_000...400_000 : 1...300
        soon(delay, .answer(connection: connection, order.attempt, .acknowledged(.init(status: status))))
    }

    private mutating func take(_ order: DispatchOrder) -> AttemptOutcome.Acknowledgement.Status {
        let id = order.entry.id
        let message = SimulatedGateway.Message(entry: id, key: order.attempt.key, text: texts[id] ?? "")
        return take(message, in: order.entry.session)
    }

    private mutating func take(
        _ message: SimulatedGateway.Message,
        in session: String
    ) -> AttemptOutcome.Acknowledgement.Status {
        let (status, events, startsRun) = gateway.take(message, in: session, at: nowMs)
        publish(events)
        if startsRun {
            let isLate = !events.isEmpty
            let delay = isLate ? 8_000...9_000 : gateway.release.startMs
            soon(delay, .runBegins(process: gateway.startedMs, session: session))
        }
        return status
    }

    private mutating func publish(_ events: [SimulatedGateway.Event]) {
        for event in events {
            switch event {
            case .began(let session, let run, let key):
                soon(50...30_000, .runEnds(session: session, run: run))
                if run == key {
                    hear(.taken(key: key))
                } else {
                    hear(.run(session: session, run: key, phase: .continued(as: run)))
                }
                hear(.run(session: session, run: run, phase: .active))
            case .stored(_, let key):
                if gateway.release.showsKeys { hear(.evidence(key: key + ":user", .messageEvent)) }
            case .ended(let session, let run, let key):
                if run == key { hear(.evidence(key: key, .runEnd)) }
                hear(.run(session: session, run: run, phase: .ended))
            case .deferred(let session, let key): hear(.run(session: session, run: key, phase: .deferred))
            }
        }
    }

    /// In the order of the frames, which all take the same time.
    private mutating func hear(_ input: DispatcherInput) {
        guard let connection else { return missed.append(input) }
        at(15, .hear(connection: connection, input))
    }

    // MARK: What goes wrong

    private mutating func fault(_ step: Step) {
        switch step {
        case .drop:
            if !isPeace { soon(500...40_000, .drop) }
            drop()
        case .crash:
            if !isPeace { soon(5_000...120_000, .crash) }
            drop()
            // The gateway is older than the possible difference of two reported ages.
            if nowMs - gateway.startedMs > 3_000 { crash() }
        case .kill:
            if !isPeace { soon(500...90_000, .kill) }
            kill()
        case .other:
            if !isPeace { soon(1_000...30_000, .other) }
            let message = SimulatedGateway.Message(entry: nil, key: "other-\(nowMs)", text: "from elsewhere")
            _ = take(message, in: "s\(Int.random(in: 0..<6, using: &random))")
        case .diskFails(let isFull):
            isDiskFull = isFull && !isPeace
            soon(isFull ? 100...20_000 : 5_000...200_000, .diskFails(!isFull))
        default: break
        }
    }

    /// Events of the old process's runs that were not received are never sent.
    private mutating func crash() {
        missed = []
        for session in gateway.crash(at: nowMs) {
            at(6_000, .resume(process: gateway.startedMs, session: session))
        }
    }

    /// Ends the connection. A frame on its way may arrive; its answer does not.
    private mutating func drop() {
        guard connection != nil else { return }
        loseFrames()
        connection = nil
        let lost = outstanding.keys.sorted { ($0.number, $0.entry) < ($1.number, $1.entry) }
        outstanding = [:]
        for attempt in lost { tell(.outcome(attempt, .noAnswer(detail: "closed"))) }
        tell(.link(.offline(detail: "closed")))
        soon(10...9_000, .connect)
    }

    private mutating func loseFrames() {
        let frames = steps.filter { if case .frame = $0.step { true } else { false } }.sorted { $0.number < $1.number }
        steps.removeAll { if case .frame = $0.step { true } else { false } }
        for case (_, _, .frame(let line, let order)) in frames
        where line == connection && !order.entry.kind.usesControlQueue {
            if chance(50) { _ = take(order) }
        }
    }

    /// Some of the pending writes are durable, without a report.
    private mutating func kill() {
        let durable = operations.prefix(Int.random(in: 0...operations.count, using: &random))
        if !isDiskFull { for operation in durable { _ = apply(operation) } }
        operations = []
        isCommitting = false
        loseFrames()
        connection = nil
        outstanding = [:]
        tickAtMs = nil
        steps.removeAll { entry in
            switch entry.step {
            case .commit, .load, .connect, .looked, .timeout: true
            default: false
            }
        }
        dispatcher = Dispatcher(policy: policy)
        soon(1...300, .load)
        soon(1...400, .connect)
    }
}
