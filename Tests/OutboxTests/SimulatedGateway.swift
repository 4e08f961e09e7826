import Basics
import Outbox

/// A gateway with a transcript that survives its crashes, a memory of keys that does not, and one run at a time in a
/// session. Time is what the caller says.
struct SimulatedGateway {
    enum Event: Equatable {
        case active(session: String, run: String)
        case ended(session: String, run: String)
        case deferred(session: String, run: String)
        case answered(session: String, run: String, by: String)
    }

    let protocolVersion: Int
    let showsKeys: Bool
    private(set) var startedMs: Int64 = -1_000_000
    private(set) var transcript: [String: [HistoryScan.Row]] = [:]
    /// Entries in the order their texts were first taken, and how often each was.
    private(set) var taken: [String: [String]] = [:]
    private(set) var runs: [String: Int] = [:]
    private var memory: [String: Int64] = [:]
    private(set) var active: [String: String] = [:]
    private var waiting: [String: [(key: String, run: String)]] = [:]
    private var renamed = 0
    private static let memoryMs: Int64 = 300_000

    init(protocolVersion: Int, showsKeys: Bool) {
        self.protocolVersion = protocolVersion
        self.showsKeys = showsKeys
    }

    /// The answer to a message, and what happens because of it.
    mutating func take(_ order: DispatchOrder, text: String, at now: Int64) -> (AttemptOutcome.Acknowledgement, [Event])
    {
        let key = order.attempt.key
        let session = order.entry.session
        if active[session] == key || waiting[session]?.contains(where: { $0.run == key }) == true {
            return (.init(status: .inFlight), [])
        }
        if let last = memory[key], now - last < Self.memoryMs { return (.init(status: .finished), []) }
        memory[key] = now
        transcript[session, default: []].append(
            HistoryScan.Row(key: showsKeys ? key + ":user" : nil, isUser: true, text: text, at: time(now))
        )
        taken[session, default: []].append(order.entry.id)
        runs[order.entry.id, default: 0] += 1
        guard active[session] == nil else {
            if protocolVersion > 3 {
                waiting[session, default: []].append((key, key))
                return (.init(status: .started), [])
            }
            renamed += 1
            waiting[session, default: []].append((key, "renamed-\(renamed)"))
            return (.init(status: .started), [.deferred(session: session, run: key)])
        }
        active[session] = key
        return (.init(status: .started), [.active(session: session, run: key)])
    }

    /// The end of a session's run, and the start of the next one that waits.
    mutating func endRun(in session: String, at now: Int64) -> [Event] {
        guard let run = active.removeValue(forKey: session) else { return [] }
        if memory[run] != nil { memory[run] = now }
        var events = [Event.ended(session: session, run: run)]
        if let next = waiting[session]?.first {
            waiting[session]?.removeFirst()
            active[session] = next.run
            if next.run != next.key { events.append(.answered(session: session, run: next.key, by: next.run)) }
            events.append(.active(session: session, run: next.run))
        }
        return events
    }

    mutating func crash(at now: Int64) {
        startedMs = now
        memory = [:]
        active = [:]
        waiting = [:]
    }

    func report(on order: ScanOrder, text: String, sameText: Int) -> ScanReport {
        let session = order.entry.session
        let scan = HistoryScan(key: order.entry.upstreamKey, text: text, since: order.since, sameText: sameText)
        return scan.report(on: transcript[session] ?? [], isWhole: true, hasActiveRun: active[session] != nil)
    }
}
