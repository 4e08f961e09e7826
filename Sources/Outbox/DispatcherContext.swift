import Basics
import Ledger

/// The state shared by all deliveries: rules and clocks, the link, the queues of sessions and their runs, the timers,
/// the disk, and the resulting orders.
struct DispatcherContext: Sendable {
    let rules: OutboxRules
    var now = Moment(wallMs: 0, monotonicMs: 0)
    private(set) var link = LinkCondition.connecting
    /// The gateway's process; nil while there is no link.
    private(set) var process: GatewayProcess?
    /// The newest one that an earlier process of Ladle saw.
    private(set) var earlierProcess: GatewayProcess?
    /// The wait beyond the time in which a gateway may resume a run: Ladle needs some seconds and a page of the transcript to see that it
    /// did not. The session's next message is sent after that.
    private static let decisionMs: Int64 = 15_000
    /// The number of connections to the gateway so far.
    private(set) var connection = 0
    private(set) var connectedAtMs: Int64 = 0
    var queues: SessionQueues
    var runs = BusySessions()
    var timers = DispatcherTimers()
    var writes = DispatcherWrites()
    private(set) var pause = GatewayPause()
    /// The connected gateway takes a mode for the queue of a busy session: by its profile, as long as it has not refused one.
    private(set) var takesQueueModes = false
    var searches = SearchQueue()
    /// Pages of transcripts that were read for entries in doubt.
    var pages = 0
    private var actions: [DispatcherAction] = []
    private var random: UInt64

    init(rules: OutboxRules, seed: UInt64) {
        self.rules = rules
        self.queues = SessionQueues(parallel: rules.policy.parallelSessions)
        self.random = seed
    }

    var policy: OutboxPolicy { rules.policy }
    var wall: Timestamp { Timestamp(milliseconds: now.wallMs) }
    var isOnline: Bool { link.profile != nil }
    /// How the connected gateway treats messages; the oldest release's ways before the first connection.
    var traits: MessageTraits { (link.profile ?? .oldest).messages }

    // MARK: Orders

    mutating func order(_ action: DispatcherAction) { actions.append(action) }

    mutating func answer(_ token: CommandToken, _ result: Result<OutboxEntry, OutboxRefusal>) {
        order(.answer(token, result))
    }

    mutating func takeOrders() -> [DispatcherAction] {
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    // MARK: The link and its runs

    mutating func linkChanged(to condition: LinkCondition) {
        if isOnline {
            pause.end()
            // The next connection will report the runs in progress again; until then nothing is known about them.
            runs.removeAll()
            searches.removeAll()
            queues.forgetOverLimit()
        }
        link = condition
        process = nil
        if case .online(_, let now, let earlier) = condition { (process, earlierProcess) = (now, earlier) }
        takesQueueModes = link.profile?.takesQueueModes ?? false
        connectedAtMs = now.monotonicMs
        queues.markAllChanged()
        guard isOnline else { return }
        connection += 1
        runs.linkOpened(atMs: now.monotonicMs)
    }

    mutating func refusesQueueModes() { takesQueueModes = false }

    /// The gateway takes nothing for a while.
    mutating func paused(_ detail: String, forMs milliseconds: Int64?) {
        timers.wake(.pause, atMs: pause.begin(detail, forMs: milliseconds, nowMs: now.monotonicMs))
    }

    /// The gateway acknowledges messages and turns them away until it has restarted: only another connection shows that it takes them.
    mutating func drains(_ detail: String) {
        timers.wake(.pause, atMs: pause.begin(detail, forMs: nil, nowMs: now.monotonicMs, endsWithLink: true))
    }

    /// The gateway took a message.
    mutating func took() {
        if !pause.endsWithLink { goesOn() }
    }

    /// The pause may be over: the next message shows whether it is.
    mutating func pauseMayBeOver() {
        pause.tryAgain(nowMs: now.monotonicMs)
        queues.markAllChanged()
    }

    /// The gateway says that its pause is over.
    mutating func goesOn() {
        guard pause.detail != nil else { return }
        pause.end()
        queues.markAllChanged()
    }

    mutating func heard(_ run: String, in session: String) {
        runs.heard(run, in: session, atMs: now.monotonicMs)
    }

    /// The gateway did not take a message, because this run is at work on equal words.
    mutating func named(_ run: String, in session: String) {
        runs.named(run, in: session, atMs: now.monotonicMs, patienceMs: waitForRunMs)
    }

    mutating func ended(_ run: String, in session: String) {
        runs.ended(run, in: session, atMs: now.monotonicMs, pauseMs: link.profile?.pauseAfterRunMs ?? 0)
        queues.markChanged(QueueKey(session: session, isControl: false))
    }

    mutating func interrupted(_ run: String, in session: String) {
        runs.interrupted(run, in: session, atMs: now.monotonicMs)
    }

    /// Whether a run of the session must end before this message is sent.
    mutating func mustWaitForRun(_ queue: QueueKey, _ entry: OutboxEntry, _ profile: GatewayProfile) -> Bool {
        guard let until = busyUntilMs(queue.session, entry, profile) else { return false }
        timers.wake(.queue(queue), atMs: until)
        return true
    }

    func waitsForInterruptedRun(_ session: String, besides own: String?) -> Bool {
        let patienceMs = link.profile.map(Self.resumeMs) ?? 0
        return runs.isInterrupted(session, besides: own, nowMs: now.monotonicMs, patienceMs: patienceMs)
    }

    /// How long a session waits for the gateway to go on with a run that a restart interrupted. If the next message comes first,
    /// the gateway takes the interrupted message into that message's prompt, and the interrupted one gets no answer.
    private static func resumeMs(_ profile: GatewayProfile) -> Int64 {
        profile.resumesRuns ? GatewayProfile.resumeMs + decisionMs : 0
    }

    private mutating func busyUntilMs(_ session: String, _ entry: OutboxEntry, _ profile: GatewayProfile) -> Int64? {
        let nowMs = now.monotonicMs
        // A message does not wait for its own run.
        let own = entry.run
        if isRefusing(session), let since = refusing[session] { return since + policy.refusalPatienceMs }
        // The gateway goes on with an interrupted run by itself if no message comes before that.
        let resumeMs = Self.resumeMs(profile)
        if let until = runs.interruptedUntilMs(session, besides: own, nowMs: nowMs, patienceMs: resumeMs) {
            return until
        }
        if entry.mode == .sayNow, takesQueueModes { return nil }
        // A message that waits inside the gateway cannot be stopped: it runs all the same, or breaks the run before it.
        return runs.busyUntilMs(
            session,
            besides: own,
            nowMs: nowMs,
            patienceMs: waitForRunMs,
            pauseMs: profile.pauseAfterRunMs
        )
    }

    // MARK: A gateway that does not run what it acknowledges

    /// Sessions to which the gateway would acknowledge a message without running it, each with the time at which that was seen.
    private var refusing: [SessionKey: Int64] = [:]

    /// Entries that failed because the gateway acknowledged them and did not run them. It may run their rows later.
    var refused: Set<String> = []

    mutating func refuses(_ session: String) { refusing[session] = now.monotonicMs }

    mutating func refusesNoMore() {
        refusing.removeAll()
        queues.markAllChanged()
    }

    var refusesSome: Bool { refusing.keys.contains { isRefusing($0.text) } }

    func isRefusing(_ session: String) -> Bool {
        refusing[session].map { now.monotonicMs - $0 < policy.refusalPatienceMs } ?? false
    }

    func isBusy(_ session: String, besides own: String? = nil) -> Bool {
        runs.isBusy(session, besides: own, nowMs: now.monotonicMs, patienceMs: policy.runPatienceMs)
    }

    func waitsForRun(_ session: String, besides own: String?) -> Bool {
        runs.isBusy(session, besides: own, nowMs: now.monotonicMs, patienceMs: waitForRunMs)
    }

    /// Whether a run of the session is at work into which the gateway can put a message.
    func hasRunToJoin(_ session: String) -> Bool {
        takesQueueModes && waitsForRun(session, besides: nil) && !isRefusing(session)
            && !waitsForInterruptedRun(session, besides: nil)
    }

    /// How long the next message of a session waits for a run that is silent.
    private var waitForRunMs: Int64 {
        link.profile?.pagesTellRuns == true ? policy.toldRunPatienceMs : policy.runPatienceMs
    }

    // MARK: Waits

    /// The monotonic time of the next attempt, converted from the entry's wall-clock time.
    func dueMs(_ entry: OutboxEntry) -> Int64? {
        entry.nextAttemptAt.map { next in
            let until = next.milliseconds
            return now.monotonicMs
                + rules.schedule.remaining(until: until, attempts: entry.attemptCount, wallMs: now.wallMs)
        }
    }

    /// A random number in -1...1 (SplitMix64).
    mutating func vary() -> Double {
        guard policy.jitter > 0 else { return 0 }
        random &+= 0x9e37_79b9_7f4a_7c15
        var mixed = random
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        mixed ^= mixed >> 31
        return Double(mixed >> 11) / Double(1 << 53) * 2 - 1
    }
}
