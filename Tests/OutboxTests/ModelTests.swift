import Basics
import Outbox
import Testing

/// A gateway that honours keys as long as it remembers them, loses answers, restarts, and remembers its runs in its
/// transcript.
private struct HonestGateway {
    var transcript: [String: [String]] = [:]
    /// Runs per key: more than one is a duplicate.
    var runs: [String: Int] = [:]
    /// Keys with their times of acceptance: remembered for five minutes, and not past a restart.
    var memory: [String: Int64] = [:]

    /// True when this dispatch started a run.
    mutating func take(_ order: DispatchOrder, at now: Moment) -> Bool {
        let key = order.attempt.key
        if let taken = memory[key], now.monotonicMs - taken < 300_000 { return false }
        memory[key] = now.monotonicMs
        runs[order.entry.id, default: 0] += 1
        transcript[order.entry.session, default: []].append(key)
        return true
    }

    mutating func restart() { memory.removeAll() }

    func shows(_ entry: OutboxEntry) -> Bool {
        transcript[entry.session]?.contains { OutboxEntry.entryID(ofKey: $0) == entry.id } ?? false
    }
}

struct `Random operations` {
    struct Random: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }

    /// The reference: the allowed steps of each state. Any other step is a fault of the dispatcher.
    static let steps: [OutboxState: Set<OutboxState>] = [
        .queued: [.sending, .retrying, .accepted, .failed, .cancelled, .expired, .delivered],
        .sending: [.queued, .accepted, .delivered, .retrying, .failed, .unconfirmed],
        .retrying: [.queued, .sending, .retrying, .accepted, .failed, .cancelled, .expired, .delivered],
        .accepted: [.delivered, .unconfirmed, .retrying, .failed, .expired],
        .unconfirmed: [.queued, .sending, .accepted, .delivered, .retrying, .failed, .cancelled, .expired],
        .failed: [.queued, .accepted, .cancelled, .delivered],
        .expired: [.queued, .accepted, .cancelled, .delivered],
        .delivered: [],
        .cancelled: [],
    ]

    @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] as [UInt64])
    func `keep order, lose nothing and run nothing twice`(seed: UInt64) {
        var random = Random(state: seed)
        var world = World()
        var gateway = HonestGateway()
        var created = 0
        var pendingDispatches: [DispatchOrder] = []
        var handled = 0
        var handledSearches = 0
        var uptime: Int64 = 500_000
        var isOnline = false
        var retriedByHand: Set<String> = []

        for _ in 0..<600 {
            switch Int.random(in: 0..<14, using: &random) {
            case 0...3:
                created += 1
                world.enqueue("e\(created)", session: "s\(Int.random(in: 0..<3, using: &random))")
            case 4:
                isOnline = true
                world.online(uptimeMs: uptime)
            case 5:
                if isOnline {
                    isOnline = false
                    // Every command on the wire gets its one report.
                    for order in pendingDispatches {
                        let arrived = Bool.random(using: &random)
                        if arrived { _ = gateway.take(order, at: world.now) }
                        world.send(.outcome(order.attempt, .noAnswer(detail: "closed")))
                    }
                    pendingDispatches = []
                }
                world.offline()
                if Int.random(in: 0..<3, using: &random) == 0 {
                    gateway.restart()
                    uptime = 0
                }
            case 6...8:
                guard !pendingDispatches.isEmpty else { break }
                let order = pendingDispatches.removeFirst()
                switch Int.random(in: 0..<5, using: &random) {
                case 0:
                    world.send(.outcome(order.attempt, .notDispatched(detail: "no socket")))
                case 1:
                    let rejection = GatewayRejection(code: "UNAVAILABLE", message: "busy")
                    world.send(.outcome(order.attempt, .rejected(rejection)))
                default:
                    let isNew = gateway.take(order, at: world.now)
                    let status: AttemptOutcome.Acknowledgement.Status = isNew ? .started : .inFlight
                    world.send(.outcome(order.attempt, .acknowledged(.init(status: status))))
                }
            case 9:
                guard let entry = world.disk.values.filter({ $0.state == .accepted }).min(by: { $0.id < $1.id }) else {
                    break
                }
                world.send(.run(session: entry.session, run: entry.upstreamKey, phase: .active))
                world.send(.evidence(key: entry.upstreamKey, .runEnd))
                world.send(.run(session: entry.session, run: entry.upstreamKey, phase: .ended))
            case 10:
                let step = Int64.random(in: 1...400_000, using: &random)
                uptime += step
                world.pass(step)
            case 11:
                let id = "e\(Int.random(in: 1...max(1, created), using: &random))"
                world.send(.cancel(id: id, force: false, CommandToken(Int64(created))))
            case 12:
                let id = "e\(Int.random(in: 1...max(1, created), using: &random))"
                if world.state(id) == .failed || world.state(id) == .expired { retriedByHand.insert(id) }
                guard world.state(id) != .unconfirmed else { break }
                world.send(.retry(id: id, expectedVersion: nil, CommandToken(Int64(created))))
            default:
                // The program is killed: commands on the wire may have arrived.
                for order in pendingDispatches where Bool.random(using: &random) {
                    _ = gateway.take(order, at: world.now)
                }
                pendingDispatches = []
                isOnline = false
                world.restart()
            }
            pendingDispatches += world.dispatches[handled...]
            handled = world.dispatches.count
            while handledSearches < world.searches.count {
                let order = world.searches[handledSearches]
                handledSearches += 1
                let proof: OutboxProof? = gateway.shows(order.entry) ? .history : nil
                world.send(.searched(order.id, SearchReport(proof: proof, isComplete: true)))
                pendingDispatches += world.dispatches[handled...]
                handled = world.dispatches.count
            }
        }

        #expect(world.violations == [])
        for (id, states) in world.history {
            for (from, to) in zip(states, states.dropFirst()) where from != to {
                #expect(Self.steps[from]?.contains(to) == true, "\(id): \(from) to \(to), seed \(seed)")
            }
        }
        // A refusal in this model is honest, so a second run can only come from a needless repeat.
        for (id, runs) in gateway.runs {
            #expect(runs == 1, "\(id) ran \(runs) times, seed \(seed)")
        }
        for id in gateway.runs.keys {
            let state = world.state(id)
            #expect(state != .cancelled && state != .queued, "\(id) ran and is \(state as Any), seed \(seed)")
        }
        // First dispatches of a session are in order of acceptance.
        var firsts: [String: [Int64]] = [:]
        var seen: Set<String> = []
        for order in world.dispatches where seen.insert(order.entry.id).inserted {
            if !retriedByHand.contains(order.entry.id) {
                firsts[order.entry.session, default: []].append(order.entry.ordinal)
            }
        }
        for ordinals in firsts.values { #expect(ordinals == ordinals.sorted(), "seed \(seed)") }

        // Without further faults, everything ends.
        world.offline()
        for order in pendingDispatches { world.send(.outcome(order.attempt, .noAnswer(detail: "closed"))) }
        handled = world.dispatches.count
        world.online(uptimeMs: uptime)
        for _ in 0..<20_000 {
            let before = (handled, handledSearches)
            while handled < world.dispatches.count {
                let order = world.dispatches[handled]
                handled += 1
                let isNew = gateway.take(order, at: world.now)
                world.send(.outcome(order.attempt, .acknowledged(.init(status: isNew ? .started : .inFlight))))
                world.send(.run(session: order.entry.session, run: order.attempt.key, phase: .active))
                world.send(.evidence(key: order.attempt.key, .runEnd))
                world.send(.run(session: order.entry.session, run: order.attempt.key, phase: .ended))
            }
            while handledSearches < world.searches.count {
                let order = world.searches[handledSearches]
                handledSearches += 1
                let proof: OutboxProof? = gateway.shows(order.entry) ? .history : nil
                world.send(.searched(order.id, SearchReport(proof: proof, isComplete: true)))
            }
            if before == (handled, handledSearches) { world.pass(60_000) }
            if world.disk.values.allSatisfy({ $0.state.hasEnded }) { break }
        }
        for entry in world.disk.values {
            #expect(entry.state.hasEnded, "\(entry.id) is \(entry.state), seed \(seed)")
        }
    }
}
