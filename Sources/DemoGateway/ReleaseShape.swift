/// The behaviour of a release's gateway with messages, runs and restarts: when it stores rows, and what it queues,
/// resumes and forgets.
///
/// A plain shape is the demo's own: prompt and without surprises. A recorded one imitates observed behaviour, faults
/// included. Times are those of the recordings; the demo's speed scales them.
package struct ReleaseShape: Sendable, Equatable {
    enum UserRow {
        /// The row is written with the first answer.
        case withAnswer
        case atStart
        /// At the start, but a new session's transcript is written with its first answer.
        case atStartOfOldSessions
    }

    enum RowTime { case ofMessage, ofStart }

    /// The treatment of a message to a busy session.
    enum BusySends: Equatable {
        /// The message waits, and runs under its own key.
        case keepKey
        /// An empty `final` answers the message; its text runs later under a run id of the gateway's own.
        case loseKey(Late)
        /// The message's queue mode decides; see `DemoDispatcher+Modes`.
        case byMode(Queueing)
    }

    /// The waiting messages of a release with queue modes. They run under ids of the gateway's own.
    struct Queueing: Equatable {
        /// Whether an empty `final` answers a message that begins to wait, and the chat events of its turn come under
        /// the turn's id alone. Otherwise the end of the turn is told under the message's own id, and only there.
        var endsEarly: Bool
        var emptyFinalMs = 40
        /// The most waiting messages of a session. A further one takes the place of the oldest, as with the overflow
        /// policy `old`; the gateway's default is to summarize the oldest ones.
        var limit = 20
    }

    struct Late: Equatable {
        /// The delay of the empty `final` after the message, or after the start of the run that it waited for.
        var emptyFinalMs: Int
        var emptyFinalAtStartMs: Int
        /// The time from a run's end to the start of the next message that lost its key.
        var startMs: Int
        /// The time after a run's end for which a session still counts as busy.
        var lingersMs = 0
        /// Whether messages that arrive before the first of them has begun overtake it: 0 1 2 3 run as 2 3 1 0, and
        /// only 0 loses its key.
        var overtakes = false
        /// Whether a new message runs before those that lost their keys; otherwise it becomes one of them.
        var yields = false
    }

    /// The first moments of a process that finds existing sessions.
    enum Startup: Equatable {
        case ready
        /// Answers wait for the end of the start.
        case slow(ms: Int)
        /// Most calls are refused as UNAVAILABLE during the start.
        case refusing(ms: Int)
        /// The transcript is refused as UNAVAILABLE during the start.
        case initializing(ms: Int)
    }

    /// The treatment of runs that were active when the process ended.
    struct Recovery: Equatable {
        /// The time after the process's start at which a run without a tool is resumed, and any other one counts as
        /// failed.
        var afterMs: Int
        /// Whether only a crash is recovered. After an orderly stop the sessions then stay `running` for good.
        var onlyAfterCrash: Bool
        /// Whether the resumed run replaces the message's row by its own; otherwise it adds a row.
        var replacesRow: Bool
        /// Whether the session's row keeps its states: `abortedLastRun` until the run begins, `running` after its end.
        var keepsStates: Bool
    }

    /// The delays after a run's `final` until its end is announced to subscribers and written to its session's row.
    struct RunEnd: Equatable {
        var toldMs = 0
        var writtenMs = 0
    }

    /// The answers for a key whose run has ended.
    struct Repeats: Equatable {
        var lifetimeMs: Int64 = 300_000
        var tellFailures = true
        var tellAborts = false
        /// Whether a forgotten key runs again; otherwise it only gets an empty `final`.
        var runWhenForgotten = true
    }

    /// The handling of provider failures.
    struct Failures: Equatable {
        /// The pauses before further attempts.
        var lastingRetryMs: [Int] = []
        var transientRetryMs: [Int] = []
        /// Whether the first failure is reported as the run's error and ends its chat events, whatever the next attempt
        /// brings.
        var tellsFirst = false
        /// Whether each attempt writes the user's row again.
        var repeatsRow = false
        /// The time from the last failure to its last report.
        var lastErrorMs = 0
        /// Whether the gateway compacts a context that is too large, with this pause between the rounds.
        var compacts = false
        var overflowRoundMs = 0
    }

    enum Aborts {
        /// The answer so far becomes a row.
        case plain
        /// The answer becomes two rows; the session's states do not change.
        case storePartial
        /// The answer becomes one row that is announced twice; the agent's report of its end changes the session's
        /// states.
        case announcePartial
    }

    /// The treatment of `sessions.reset` while a run is active.
    enum ResetInRun: Equatable {
        case aborts
        /// The run ends without an event.
        case drops
        /// The reset is refused after a while; the run continues without events.
        case refuses(afterMs: Int)
    }

    var startMs = 120
    /// The time to start the first run after a restart.
    var firstStartMs = 120
    var userRow = UserRow.withAnswer
    var rowTime = RowTime.ofMessage
    /// Whether subscribers get an event when a message is accepted, without the row's id.
    var announcesAccepted = false
    /// Whether a run removes the row of an unanswered message at the end of the transcript.
    var dropsUnanswered = false
    var busySends: BusySends
    /// The time a tool may wait before the gateway ends its run; its approval stays.
    var stallMs: Int?
    var startup = Startup.ready
    var recovery: Recovery?
    var repeats = Repeats()
    var runEnd = RunEnd()
    /// Whether a session found at the start or reset refuses its second and all further messages, until a new session
    /// begins.
    var conflicts = false
    var failures = Failures()
    var aborts = Aborts.plain
    var resetInRun = ResetInRun.aborts
    /// Whether attachments become files, with their paths in the row.
    var storesMedia = false
    /// Whether the shape was recorded, and ends and starts like a process.
    package private(set) var isRecorded = false

    static func plain(_ release: DemoRelease) -> ReleaseShape {
        if release >= .september { return newest(endsEarly: release == .september) }
        let late = Late(emptyFinalMs: 40, emptyFinalAtStartMs: 40, startMs: 120)
        return ReleaseShape(
            busySends: release < .june ? .loseKey(late) : .keepKey,
            aborts: release < .june ? .storePartial : .plain
        )
    }

    private static func newest(endsEarly: Bool) -> ReleaseShape {
        ReleaseShape(
            userRow: .atStart,
            busySends: .byMode(Queueing(endsEarly: endsEarly)),
            startup: .initializing(ms: 300),
            recovery: Recovery(afterMs: 3_000, onlyAfterCrash: false, replacesRow: false, keepsStates: false),
            repeats: Repeats(tellAborts: true),
            aborts: .plain
        )
    }

    /// The recorded shapes by version.
    static let recorded: [String: (release: DemoRelease, shape: ReleaseShape)] = [
        "2026.3.1": (
            .march,
            ReleaseShape(
                startMs: 130,
                firstStartMs: 260,
                userRow: .atStartOfOldSessions,
                rowTime: .ofStart,
                busySends: .loseKey(Late(emptyFinalMs: 60, emptyFinalAtStartMs: 3, startMs: 40, overtakes: true)),
                repeats: Repeats(tellFailures: false, runWhenForgotten: false),
                failures: Failures(
                    lastingRetryMs: [2_000, 4_000, 8_000],
                    transientRetryMs: [2_000],
                    tellsFirst: true
                ),
                aborts: .storePartial,
                resetInRun: .drops,
                isRecorded: true
            )
        ),
        "2026.4.26": (
            .april,
            ReleaseShape(
                startMs: 6_500,
                firstStartMs: 18_700,
                userRow: .atStart,
                rowTime: .ofStart,
                announcesAccepted: true,
                busySends: .loseKey(
                    Late(emptyFinalMs: 230, emptyFinalAtStartMs: 130, startMs: 6_500, lingersMs: 150, yields: true)
                ),
                startup: .slow(ms: 16_000),
                recovery: Recovery(afterMs: 16_300, onlyAfterCrash: true, replacesRow: false, keepsStates: true),
                repeats: Repeats(tellFailures: false),
                runEnd: RunEnd(writtenMs: 275),
                failures: Failures(
                    lastingRetryMs: [2_000, 4_000, 8_000],
                    transientRetryMs: [2_000],
                    lastErrorMs: 17_000,
                    compacts: true,
                    overflowRoundMs: 7_000
                ),
                aborts: .storePartial,
                resetInRun: .refuses(afterMs: 17_000),
                isRecorded: true
            )
        ),
        "2026.6.11": (
            .june,
            ReleaseShape(
                startMs: 550,
                firstStartMs: 1_300,
                userRow: .atStartOfOldSessions,
                dropsUnanswered: true,
                busySends: .keepKey,
                stallMs: 386_000,
                startup: .refusing(ms: 1_000),
                recovery: Recovery(afterMs: 5_700, onlyAfterCrash: false, replacesRow: true, keepsStates: false),
                repeats: Repeats(lifetimeMs: 360_000, tellAborts: true, runWhenForgotten: false),
                runEnd: RunEnd(toldMs: 50, writtenMs: 50),
                conflicts: true,
                failures: Failures(
                    transientRetryMs: [3_000],
                    repeatsRow: true,
                    lastErrorMs: 15_000,
                    compacts: true,
                    overflowRoundMs: 300
                ),
                aborts: .announcePartial,
                storesMedia: true,
                isRecorded: true
            )
        ),
    ]
}
