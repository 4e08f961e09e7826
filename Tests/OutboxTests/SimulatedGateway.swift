import Basics
import Ledger
import Outbox

/// A gateway as the recordings of three releases show it. Rows are on disk and survive its crashes; keys, messages that
/// wait behind a run, and a new session before its first answer are in memory and do not. The caller sets the time.
struct SimulatedGateway {
    /// 2026.3.1, 2026.4.26 and 2026.6.11.
    enum Release: CaseIterable {
        case march, april, june

        var profile: GatewayProfile {
            switch self {
            case .march: GatewayProfile(.march)
            case .april: GatewayProfile(.april)
            case .june: GatewayProfile(.june)
            }
        }
        var showsKeys: Bool { profile.keysInRows }
        /// From the acknowledgement to the start of the run.
        var startMs: ClosedRange<Int64> { self == .april ? 1_000...7_000 : 5...600 }
        /// The time after a run within which a message is answered behind later ones.
        var deafMs: Int64 { self == .april ? 250 : 0 }
    }

    struct Message: Equatable {
        /// Nil for a message of another client.
        let entry: String?
        let key: String
        let text: String
    }

    enum Event: Equatable {
        /// `key` is the message's key; the message was acknowledged under another run id if they differ.
        case began(session: String, run: String, key: String)
        case stored(session: String, key: String)
        case ended(session: String, run: String, key: String)
        case deferred(session: String, key: String)
    }

    private struct Run {
        let id: String
        let message: Message
        var hasBegun = false
        var isStored = false
    }

    private struct StoredRow {
        var entry: String?
        var row: Attribution.Row
    }

    let release: Release
    private(set) var startedMs: Int64 = -1_000_000

    // On disk.
    private var transcript: [String: [StoredRow]] = [:]
    /// The rows of each entry, and the entries of each session in the order of their rows.
    private(set) var stored: [String: Int] = [:]
    private(set) var order: [String: [String]] = [:]

    // In memory.
    private var keys: [String: Int64] = [:]
    private var active: [String: Run] = [:]
    private var waiting: [String: [Message]] = [:]
    private var endedMs: [String: Int64] = [:]
    private static let memoryMs: Int64 = 300_000

    // Counted by the test.
    private(set) var begun: [String: Int] = [:]
    /// Runs that a crash ended before anything was on disk: nobody can know about them.
    private(set) var lost: [String: Int] = [:]
    private var names = 0

    init(_ release: Release) {
        self.release = release
    }

    /// The answer to a message, and the resulting events. `startsRun`: a run of the session is to begin.
    mutating func take(
        _ message: Message,
        in session: String,
        at now: Int64
    ) -> (answer: AttemptOutcome.Acknowledgement.Status, events: [Event], startsRun: Bool) {
        if active[session]?.message.key == message.key { return (.inFlight, [], false) }
        if waiting[session]?.contains(where: { $0.key == message.key }) == true {
            return (release == .june ? .inFlight : .finished, [], false)
        }
        if let last = keys[message.key], now - last < Self.memoryMs { return (.finished, [], false) }
        keys[message.key] = now
        let isDeaf = now - (endedMs[session] ?? .min / 2) < release.deafMs
        guard active[session] == nil, !isDeaf else {
            waiting[session, default: []].append(message)
            let isSilent = release == .june
            return (.started, isSilent ? [] : [.deferred(session: session, key: message.key)], active[session] == nil)
        }
        active[session] = Run(id: message.key, message: message)
        return (.started, [], true)
    }

    /// Gives the first waiting message its turn if no run is active.
    mutating func begin(in session: String, at now: Int64) -> [Event] {
        if active[session] == nil, let next = waiting[session]?.first {
            waiting[session]?.removeFirst()
            names += 1
            active[session] = Run(id: release == .june ? next.key : "run-\(names)", message: next)
        }
        guard var run = active[session], !run.hasBegun else { return [] }
        run.hasBegun = true
        if let entry = run.message.entry { begun[entry, default: 0] += 1 }
        var events = [Event.began(session: session, run: run.id, key: run.message.key)]
        if release == .april || transcript[session]?.isEmpty == false {
            store(run.message, in: session, at: now)
            run.isStored = true
            events.insert(.stored(session: session, key: run.message.key), at: release == .march ? 0 : 1)
        }
        active[session] = run
        return events
    }

    mutating func end(in session: String, at now: Int64) -> [Event] {
        guard let run = active[session], run.hasBegun else { return [] }
        active[session] = nil
        keys[run.message.key] = now
        endedMs[session] = now
        var events: [Event] = []
        if !run.isStored {
            store(run.message, in: session, at: now)
            events.append(.stored(session: session, key: run.message.key))
        }
        events.append(.ended(session: session, run: run.id, key: run.message.key))
        return events
    }

    private mutating func store(_ message: Message, in session: String, at now: Int64) {
        let names = release.showsKeys ? [message.key] : []
        let row = Attribution.Row(names: names, words: [Words(message.text)], at: time(now))
        transcript[session, default: []].append(StoredRow(entry: message.entry, row: row))
        guard let entry = message.entry else { return }
        stored[entry, default: 0] += 1
        order[session, default: []].append(entry)
    }

    /// The sessions whose runs the next process resumes, some seconds after its start.
    mutating func crash(at now: Int64) -> [String] {
        for run in active.values where run.hasBegun && !run.isStored {
            if let entry = run.message.entry { lost[entry, default: 0] += 1 }
        }
        let interrupted = active.filter { $0.value.isStored }.map(\.key).sorted()
        startedMs = now
        keys = [:]
        active = [:]
        waiting = [:]
        endedMs = [:]
        return release == .june ? interrupted : []
    }

    /// The last row is rewritten without its key, and a run of the gateway's own answers it.
    mutating func resume(_ session: String, at now: Int64) -> [Event] {
        guard active[session] == nil, let last = transcript[session]?.popLast() else { return [] }
        let row = Attribution.Row(words: last.row.words, at: time(now), isResumption: true)
        transcript[session]?.append(StoredRow(entry: last.entry, row: row))
        names += 1
        let run = Run(
            id: "resumed-\(names)",
            message: Message(entry: nil, key: "resumed-\(names)", text: ""),
            hasBegun: true,
            isStored: true
        )
        active[session] = run
        return [.began(session: session, run: run.id, key: run.id)]
    }

    /// Runs that have begun, by session.
    var running: [(session: String, run: String)] {
        active.filter { $0.value.hasBegun }.map { ($0.key, $0.value.id) }.sorted { $0.0 < $1.0 }
    }

    func isActive(_ session: String, _ run: String) -> Bool { active[session]?.id == run }

    func report(on order: SearchOrder, text: String) -> SearchReport {
        let session = order.entry.session
        let key = order.entry.upstreamKey
        let search = RowSearch(key: key, words: Words(text), since: order.since, others: order.others)
        return search.report(
            on: (transcript[session] ?? []).map(\.row),
            isWhole: true,
            hasActiveRun: release == .june && active[session] != nil
        )
    }
}
