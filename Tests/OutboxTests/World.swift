import Basics
import Ledger
import Testing

@testable import Outbox

/// A dispatcher with a clock that stands still until moved, a disk that is a dictionary, and a link that records its
/// orders. It checks the promises that hold in every scenario.
struct World {
    var dispatcher: Dispatcher
    var now = Moment(wallMs: 1_000_000, monotonicMs: 50_000)
    /// The durable rows.
    var disk: [String: OutboxEntry] = [:]
    var attempts: [String: [OutboxAttempt]] = [:]
    /// The states of each entry on disk, in order.
    var history: [String: [OutboxState]] = [:]
    var dispatches: [DispatchOrder] = []
    /// The time of each dispatch, on the monotonic clock.
    var dispatchTimes: [Int64] = []
    var searches: [SearchOrder] = []
    /// Searches that were answered.
    var reported = 0
    var answers: [CommandToken: Result<OutboxEntry, OutboxRefusal>] = [:]
    var armedAt: Int64?
    var arms = 0
    /// The number of requests to load the file.
    var loads = 0
    var violations: [String] = []
    var nextOrdinal: Int64 = 1
    /// Writes held back, to be released one by one.
    var holdsWrites = false
    var heldWrites: [(PersistID, OutboxChange)] = []
    var storageProblem: StoreError?
    var policy: OutboxPolicy

    init(_ policy: OutboxPolicy = OutboxPolicy()) {
        self.policy = policy
        dispatcher = Dispatcher(policy: policy, seed: 1)
        send(.loaded([]))
    }

    /// A world in which attempts count even while the gateway is away.
    static func counting() -> World {
        var policy = OutboxPolicy()
        policy.offline = .count
        return World(policy)
    }

    /// An entry whose dispatch got no answer, with another one behind it.
    static func unanswered(_ policy: OutboxPolicy = OutboxPolicy(), text: String = "hello") -> World {
        var world = World(policy)
        world.online(uptimeMs: 1_000_000)
        world.enqueue("a", text: text)
        world.enqueue("b")
        world.answer(.noAnswer(detail: "connection closed"), to: "a")
        return world
    }

    mutating func send(_ input: DispatcherInput) {
        var inputs = [input]
        while !inputs.isEmpty {
            let actions = dispatcher.receive(inputs.removeFirst(), now: now)
            for action in actions { inputs += perform(action) }
        }
    }

    private mutating func perform(_ action: DispatcherAction) -> [DispatcherInput] {
        switch action {
        case .load:
            loads += 1
            return [.loaded(open)]
        case .persist(let id, let change):
            if holdsWrites {
                heldWrites.append((id, change))
                return []
            }
            return [write(id, change)]
        case .dispatch(let order):
            // Durable before it is sent: the row on disk must be `sending` now.
            if disk[order.entry.id]?.state != .sending {
                violations.append(
                    "dispatched \(order.entry.id) while the disk has \(disk[order.entry.id]?.state as Any)"
                )
            }
            dispatches.append(order)
            dispatchTimes.append(now.monotonicMs)
            return []
        case .search(let order):
            searches.append(order)
            return []
        case .discard: return []
        case .answer(let token, let result):
            answers[token] = result
            return []
        case .arm(let at):
            armedAt = at
            arms += 1
            return []
        }
    }

    mutating func write(_ id: PersistID, _ change: OutboxChange) -> DispatcherInput {
        if let storageProblem { return .persistFailed(id, .storage(storageProblem)) }
        let current = disk[change.entry.id]
        guard current?.version == change.expectedVersion else {
            return .persistFailed(id, .moved(current: current))
        }
        if let before = current?.state, before.hasEndedForGood, before != change.entry.state {
            violations.append("\(change.entry.id) left \(before)")
        }
        check(change.entry)
        disk[change.entry.id] = change.entry
        history[change.entry.id, default: []].append(change.entry.state)
        if let attempt = change.attempt { attempts[change.entry.id, default: []].append(attempt) }
        return .persisted(id)
    }

    /// A restart is a fold: the facts of each row that is written show the entry as the row does.
    private mutating func check(_ entry: OutboxEntry) {
        guard entry.kind == .message else { return }
        let place = Decision(Turn(entry.facts).verdict, GatewayProfile(.june).messages).place
        let isRight =
            switch entry.state {
            case .queued, .retrying: entry.firstDispatchAt != nil || place == .here
            case .sending: place == .onItsWay || entry.lastClass == .accepted
            case .accepted: place == .held
            case .unconfirmed: place == .inDoubt
            case .failed: !entry.wasRefused || place == .over
            case .delivered, .cancelled, .expired: true
            }
        if !isRight { Issue.record("\(entry.id) is \(entry.state) on disk, and its facts say \(place)") }
    }

    /// Lets the oldest held write reach the disk.
    mutating func releaseWrite() {
        guard !heldWrites.isEmpty else { return }
        let (id, change) = heldWrites.removeFirst()
        let result = write(id, change)
        send(result)
    }

    // MARK: Shorthand

    @discardableResult
    mutating func enqueue(_ entry: OutboxEntry) -> OutboxEntry {
        var entry = entry
        entry.ordinal = nextOrdinal
        nextOrdinal += 1
        disk[entry.id] = entry
        history[entry.id] = [entry.state]
        send(.enqueued(entry))
        return entry
    }

    mutating func enqueue(_ id: String, session: String = "main", text: String = "hello") {
        enqueue(.sample(id, session: session, text: text, at: now.wallMs))
    }

    mutating func online(
        _ generation: GatewayProfile.Generation = .june,
        version: String? = nil,
        uptimeMs: Int64? = 1_000_000,
        bootID: String? = nil,
        earlier: GatewayProcess? = nil
    ) {
        let process = GatewayProcess(
            bootID: bootID,
            ageMs: uptimeMs,
            gatewayTime: Timestamp(milliseconds: now.wallMs),
            monotonicMs: now.monotonicMs,
            openingMs: 20
        )
        send(.link(.online(GatewayProfile(generation, version: version), process, earlier: earlier)))
    }

    mutating func offline() { send(.link(.offline(detail: "connection refused"))) }

    /// Advances both clocks to each armed time up to the given span.
    mutating func pass(_ ms: Int64) {
        let end = now.monotonicMs + ms
        while let at = armedAt, at <= end {
            move(to: max(at, now.monotonicMs))
            armedAt = nil
            send(.tick)
        }
        move(to: end)
    }

    private mutating func move(to monotonicMs: Int64) {
        now.wallMs += monotonicMs - now.monotonicMs
        now.monotonicMs = monotonicMs
    }

    mutating func answer(_ outcome: AttemptOutcome, to id: String) {
        guard let order = dispatches.last(where: { $0.entry.id == id }) else {
            violations.append("no dispatch of \(id)")
            return
        }
        send(.outcome(order.attempt, outcome))
    }

    mutating func acknowledge(_ id: String) { answer(.acknowledged(.init(status: .started)), to: id) }

    /// The gateway takes the message, and its run ends.
    mutating func finish(_ id: String) {
        acknowledge(id)
        guard let order = dispatches.last(where: { $0.entry.id == id }) else { return }
        run(order.attempt.key, .ended, session: order.entry.session)
    }

    mutating func report(_ report: SearchReport) {
        guard let order = searches.last else {
            violations.append("no search asked for")
            return
        }
        reported = searches.count
        send(.searched(order.id, report))
    }

    mutating func run(_ run: String, _ phase: RunPhase, session: String = "main") {
        send(.run(session: session, run: run, phase: phase))
    }

    func state(_ id: String) -> OutboxState? { disk[id]?.state }
    var sent: [String] { dispatches.map(\.entry.id) }

    /// The entries read at a start.
    var open: [OutboxEntry] { disk.values.filter { !$0.state.hasEndedForGood }.sorted { $0.ordinal < $1.ordinal } }

    /// Ends this program and starts it again on the same disk; `early` happens before the saved entries are read.
    mutating func restart(early: (inout World) -> Void = { _ in }) {
        let entries = open
        dispatcher = Dispatcher(policy: policy, seed: 1)
        armedAt = nil
        heldWrites = []
        early(&self)
        send(.loaded(entries))
    }
}
