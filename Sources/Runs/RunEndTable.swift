import Basics
import Gateway
import Ledger

/// Decides what a page of the transcript says about the end of a run: the first row of the table that fits.
enum RunEndTable {
    /// The facts about one run when a page comes.
    struct Look: Sendable {
        /// Ladle knows no end of the run.
        var isActive = true
        /// The run is over, and nothing says how it ended.
        var isOver = false
        /// The gateway's process that worked on the run is gone.
        var isGone = false
        /// Ladle may have missed the run's end: the link was away, or the run has been silent for long.
        var isDoubtful = false
        var hasBegun = false
        /// The transcript has the message's row.
        var isStored = false
        /// The gateway said that it stopped the run, after it had written a whole answer of it.
        var isStopInDoubt = false
        /// The outbox has no proof that the gateway has the message, and may send it again.
        var awaitsDelivery = false
        /// The gateway may have refused to run the message, whose row it wrote all the same.
        var mayBeRefused = false
        /// The gateway refused to run the message, and then read it with another one or answered it.
        var wasRefused = false
        /// Nothing of the run was published, and neither an event nor a row of it came.
        var isNothing = false
        /// The page's rows show how the run ended.
        var isEndShown = false
        /// The page has a whole answer to a message behind the run's rows, and that is another run's.
        var isPassed = false
        /// The page says that this run is under way.
        var isInFlight = false
        /// The page says that its session has no run.
        var isSessionIdle = false
        /// How the page says the session's last run ended, if that is this run.
        var lastEnd: Ending.How?
        /// Pages have called the run over for some time.
        var isLongOver = false
        /// The gateway may still go on by itself with a run that its restart cut off.
        var mayComeBack = false
        /// Pages of this release name the runs under way.
        var pagesTellRuns = false
        /// The gateway can be asked how this run ended.
        var isAskedForEnd = false
    }

    enum Act: Sendable, Equatable {
        /// The page changes nothing.
        case leave
        /// The run is forgotten.
        case drop
        /// The gateway is at work on the run.
        case hear
        /// The rows show how far the run is, and perhaps its end.
        case read
        /// The gateway goes on with the run, or its message is sent again.
        case wait
        /// The run's last row may be on its way.
        case lookAgain
        case end(Ending.Over)
    }

    struct Row: Sendable {
        let name: String
        let fits: @Sendable (Look) -> Bool
        let act: @Sendable (Look) -> Act
    }

    private static func row(_ name: String, _ act: Act, _ fits: @escaping @Sendable (Look) -> Bool) -> Row {
        Row(name: name, fits: fits, act: { _ in act })
    }

    static let table: [Row] = [
        row("ended", .leave) { !$0.isActive },
        row("over, and nothing was shown", .drop) { $0.isOver && $0.isNothing },
        row("over", .read) { $0.isOver },

        row("refused, and no answer of its own", .drop) { $0.wasRefused && !$0.hasBegun && !$0.isEndShown },

        // An answer that the process completed is in the transcript. A message without a row is sent again.
        row("gone, and its rows show the end", .read) { $0.isGone && $0.isEndShown },
        // The outbox first asks whether the message ran: the gateway also writes the row of a message that it refuses.
        row("gone before it began, and the outbox looks for it", .read) {
            $0.isGone && !$0.hasBegun && $0.awaitsDelivery && (!$0.isStored || $0.pagesTellRuns)
        },
        row("gone before it began, and its message too", .drop) { $0.isGone && !$0.hasBegun && !$0.isStored },
        row("gone, and may come back", .wait) { $0.isGone && ($0.awaitsDelivery || $0.mayComeBack) },
        row("gone", .end(.processGone)) { $0.isGone },

        row("stopped, perhaps behind its answer", .read) { $0.isStopInDoubt },
        row("no doubt about it", .leave) { !$0.isDoubtful },
        row("at work", .hear) { $0.isInFlight },
        row("its rows show the end", .read) { $0.isEndShown },
        row("begun, and a later message is answered", .end(.reported(nil))) { $0.hasBegun && $0.isPassed },
        row("perhaps at work", .read) { !$0.isSessionIdle },
        row("idle, and nothing was shown", .drop) { $0.isNothing },
        row("idle, and neither begun nor stored", .read) { !$0.hasBegun && !$0.isStored },
        // The session's last end may be the refusal of this message. The gateway is asked about the message, and its answer ends
        // entry and run together.
        row("idle, and perhaps refused", .read) { $0.mayBeRefused },
        row("idle, and asked for its end", .lookAgain) { $0.isAskedForEnd && !$0.isLongOver },
        // The session's last end may be that of a run that left no rows.
        Row(
            name: "idle, and over",
            fits: { $0.lastEnd != nil || $0.isLongOver },
            act: { .end(.reported($0.isAskedForEnd ? nil : $0.lastEnd)) }
        ),
        row("idle, and over just now", .lookAgain) { _ in true },
    ]

    /// The row that decides. The last one fits everything.
    static func row(for look: Look) -> Row { table.first { $0.fits(look) } ?? table[table.count - 1] }
}

extension RunEndTable.Look {
    /// - Parameters:
    ///   - shown: the run as the page's rows show it.
    ///   - hasTraces: the page has rows of the run's own turn.
    init(
        _ run: RunReducer,
        shown: RunReducer,
        hasTraces: Bool,
        _ page: ChatHistory.Output,
        isPassed: Bool,
        isInFlight: Bool,
        lastEnd: Ending.How?,
        profile: GatewayProfile,
        now: Timestamp
    ) {
        let (contact, message) = (run.contact, run.message)
        isActive = run.isActive
        isOver = run.isOver
        isGone = contact.isProcessGone
        isDoubtful = contact.isUncertain || contact.isSilent(now: now)
        hasBegun = run.hasBegun
        isStored = message.isStored
        wasRefused = message.wasRefused
        isStopInDoubt = run.isStopInDoubt
        awaitsDelivery = message.awaitsDelivery
        mayBeRefused = message.mayBeRefused && profile.pagesTellRuns
        isNothing =
            !hasTraces && !message.isStored && run.isUnaccountedFor && !run.publication.isStartPublished
            && !message.mayBeRefused
        isEndShown = !shown.isActive
        self.isPassed = isPassed
        self.isInFlight = isInFlight
        isSessionIdle = page.hasActiveRun == false
        self.lastEnd = lastEnd
        isLongOver = contact.isLongOver(now: now)
        mayComeBack =
            profile.resumesRuns && page.lastRunEnd == nil && message.isInTranscript && contact.mayComeBack(now: now)
        pagesTellRuns = profile.pagesTellRuns
        isAskedForEnd = profile.tellsEndOfRun && run.conversation != nil
    }
}

extension Ending.How {
    init?(_ end: ChatHistory.RunEnd?) {
        switch end {
        case .completed: self = .completed
        case .failed: self = .failed
        case .aborted: self = .aborted
        case nil: return nil
        }
    }
}
