/// How a gateway of one release treats messages, runs and restarts: what it stores when, queues, resumes and forgets.
///
/// A plain shape is the demo's own: prompt and without surprises. A recorded one does what was seen of its release, its
/// faults included. Times are those of the recordings; the demo's speed scales them.
package struct ReleaseShape: Sendable, Equatable {
    enum UserRow {
        /// The first answer brings it into the transcript.
        case withAnswer
        case atStart
        /// At the start, but the transcript of a new session is written with its first answer.
        case atStartOfOldSessions
    }

    enum RowTime { case ofMessage, ofStart }

    /// A message that comes while its session is busy.
    enum BusySends: Equatable {
        /// It waits, and runs under its own key.
        case keepKey
        /// An empty `final` answers it; its text runs later under a run id of the gateway's own.
        case loseKey(Late)
    }

    struct Late: Equatable {
        /// The empty `final` comes so long after the message, or after the start of the run that it waited for.
        var emptyFinalMs: Int
        var emptyFinalAtStartMs: Int
        /// From the end of a run to the start of the next one that lost its key.
        var startMs: Int
        /// A session counts as busy for so long after the end of a run.
        var lingersMs = 0
        /// Messages that come before the first of them has begun overtake it: of 0 1 2 3 the order is 2 3 1 0, and only 0
        /// loses its key.
        var overtakes = false
        /// A new message runs before those that lost their keys; otherwise it becomes one of them.
        var yields = false
    }

    /// The first moments of a process that found sessions of an earlier one.
    enum Startup: Equatable {
        case ready
        /// Answers wait for the end of it.
        case slow(ms: Int)
        /// Most calls are refused as UNAVAILABLE until the end of it.
        case refusing(ms: Int)
    }

    /// What becomes of the runs that were active when the process ended.
    struct Recovery: Equatable {
        /// From the start of the process. Then a run goes on that had no tool, and any other one counts as failed.
        var afterMs: Int
        /// A process that stopped in order leaves its sessions as they are: `running` for good.
        var onlyAfterCrash: Bool
        /// The run that goes on takes the message's row into its own; otherwise its row follows.
        var replacesRow: Bool
        /// The session's row keeps its states: `abortedLastRun` until the run begins, `running` after its end.
        var keepsStates: Bool
    }

    /// A run's end is told to subscribers, and written into its session's row, so long after its `final`.
    struct RunEnd: Equatable {
        var toldMs = 0
        var writtenMs = 0
    }

    /// The answers to a key whose run has ended.
    struct Repeats: Equatable {
        var lifetimeMs: Int64 = 300_000
        var tellFailures = true
        var tellAborts = false
        /// A forgotten key runs again; otherwise an empty `final` is all that comes of it.
        var runWhenForgotten = true
    }

    /// The provider's failures.
    struct Failures: Equatable {
        /// The pauses before further attempts.
        var lastingRetryMs: [Int] = []
        var transientRetryMs: [Int] = []
        /// The first failure is told as the run's error, and its chat events end there, whatever the next attempt brings.
        var tellsFirst = false
        /// Each attempt writes the user's row again.
        var repeatsRow = false
        /// From the last failure to the last word about it.
        var lastErrorMs = 0
        /// An overflow of the context is answered by compactions, with this pause between the rounds.
        var compacts = false
        var overflowRoundMs = 0
    }

    enum Aborts {
        /// The answer so far becomes a row.
        case plain
        /// It becomes two rows; the session's states do not change.
        case storePartial
        /// It becomes one row and is announced twice; what the agent says of its end changes the session's states.
        case announcePartial
    }

    /// `sessions.reset` while a run is active.
    enum ResetInRun: Equatable {
        case aborts
        /// The run ends without a word.
        case drops
        /// It is refused after a while; the run goes on without events.
        case refuses(afterMs: Int)
    }

    var startMs = 120
    /// The start of the first run after a restart.
    var firstStartMs = 120
    var userRow = UserRow.withAnswer
    var rowTime = RowTime.ofMessage
    /// Subscribers hear of a message when it is accepted, by an event without the row's id.
    var announcesAccepted = false
    /// A run that finds a message without an answer at the end of the transcript takes that row away.
    var dropsUnanswered = false
    var busySends: BusySends
    /// A run whose tool waits so long is ended by the gateway itself; its approval stays.
    var stallMs: Int?
    var startup = Startup.ready
    var recovery: Recovery?
    var repeats = Repeats()
    var runEnd = RunEnd()
    /// The second message of a session that was found at the start or was reset is refused, and all further ones, until a
    /// session begins that is new.
    var conflicts = false
    var failures = Failures()
    var aborts = Aborts.plain
    var resetInRun = ResetInRun.aborts
    /// Attachments become files, and their paths stand in the row.
    var storesMedia = false
    /// Whether it was recorded, and ends and starts as a process does.
    package private(set) var isRecorded = false

    static func plain(_ release: DemoRelease) -> ReleaseShape {
        let late = Late(emptyFinalMs: 40, emptyFinalAtStartMs: 40, startMs: 120)
        return ReleaseShape(
            busySends: release < .june ? .loseKey(late) : .keepKey,
            aborts: release < .june ? .storePartial : .plain
        )
    }

    /// By version.
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
