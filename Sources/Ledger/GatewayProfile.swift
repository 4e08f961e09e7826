package import Gateway

/// The conduct of the connected gateway's release, as its hello shows it. This file and `Capability` alone name releases and ask for
/// methods; every difference that Ladle minds is a row, with the recording that shows it (in backticks) or the release in whose published
/// source it was read.
///
/// A release that nobody has seen yet gets the rows of the newest known one that offers the same methods and members.
package struct GatewayProfile: Sendable, Equatable {
    /// Releases that do the same, each known by what its hello has and the one before lacks.
    /// Elsewhere they go by these names.
    package enum Generation: Int, Sendable, CaseIterable, Comparable {
        /// 2026.3.1. Recorded.
        case march
        /// From 2026.3.24, known by `sessions.subscribe`. Recorded: 2026.4.26.
        case april
        /// From 2026.5, known by protocol 4. Recorded: 2026.6.11.
        case june
        /// From 2026.9, known by `server.bootId` or `features.capabilities`. Read in the source of 2026.9.5 and 2026.9.7, not recorded.
        case autumn

        package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
    }

    package let generation: Generation
    /// The version that the gateway names. That of a build from source says nothing about its release.
    package let version: String?
    private let methods: Set<String>

    package init(_ hello: Hello) {
        let generation: Generation =
            if hello.bootID != nil || hello.capabilities != nil {
                .autumn
            } else if hello.protocolVersion >= 4 {
                .june
            } else {
                hello.methods.contains(SessionsSubscribe.method) ? .april : .march
            }
        self.init(generation, version: hello.serverVersion, methods: hello.methods)
    }

    package init(_ generation: Generation, version: String? = nil, methods: Set<String> = []) {
        self.generation = generation
        self.version = version
        self.methods = methods
    }

    /// The first release, whose ways are taken for those of a gateway that was not reached yet.
    package static let oldest = GatewayProfile(.march)

    /// The releases whose conduct it has, for a report.
    package var name: String { "\(generation)" }

    // MARK: What it offers

    package func offers(_ capability: Capability) -> Bool {
        switch capability {
        // A member of `sessions.patch`, which no hello lists; the same releases added these methods.
        case .sessionsArchive: Self.isRelease(version, from: (2026, 7)) || lists(capability.row.methods)
        // Members of `wake` and `usage.cost`, which no hello lists.
        case .wakeSession, .usageAgents: generation >= .june && lists(capability.row.methods)
        // A member of `cron.run`. Read.
        case .automationsWait: generation >= .autumn && lists(capability.row.methods)
        // Every release has this method, and none lists it.
        case .usageSessions: true
        default: lists(capability.row.methods)
        }
    }

    /// The names of the capabilities for `link.features`, sorted.
    package var features: [String] { Capability.allCases.filter(offers).map(\.rawValue).sorted() }

    private func lists(_ names: [String]) -> Bool { names.contains(where: methods.contains) }

    // MARK: Calls, by the method that the hello lists

    package var listsCommandApprovals: Bool { lists([ExecApprovalList.method]) }
    package var listsPluginApprovals: Bool { lists([PluginApprovalList.method]) }
    package var listsSystemAgentApprovals: Bool { lists([SystemAgentApprovalList.method]) }
    package var resolvesCommandApprovals: Bool { lists([ExecApprovalResolve.method]) }
    package var resolvesPluginApprovals: Bool { lists([PluginApprovalResolve.method]) }
    package var resolvesAnyApproval: Bool { lists([ApprovalResolve.method]) }
    /// It says of one approval how it ended.
    package var tellsEndedApprovals: Bool { lists([ApprovalGet.method]) }
    /// It says of one that waits how far its action reaches, which no event does. Read.
    package var tellsReachOfApprovals: Bool { generation >= .autumn && tellsEndedApprovals }
    /// A device asks for more scopes over the link that it has. Read.
    package var upgradesScopes: Bool { generation >= .autumn && lists([ScopeUpgradeRequest.method]) }
    /// A decision "allow always" may have an end: a member of `approval.resolve`. Read.
    package var takesGrantDays: Bool { generation >= .autumn && resolvesAnyApproval }
    /// It gives single messages, longer than a page has them.
    package var givesWholeMessages: Bool { lists([ChatMessageGet.method]) }
    package var listsDeviceRequests: Bool { lists([DevicePairList.method]) }
    /// 2026.7 removed it.
    package var listsNodeRequests: Bool { lists([NodePairList.method]) }
    /// Without it, a patch with a new key creates the session.
    package var createsSessions: Bool { lists([SessionsCreate.method]) }
    /// A change of a session may be bound to the id of its conversation: releases that list `sessions.patchMany`.
    package var comparesConversations: Bool { lists(["sessions.patchMany"]) }

    // MARK: Members of calls and answers

    /// It takes attachments that are no pictures. `attachments.v2026.6.11`.
    package var takesFiles: Bool { generation >= .june }
    /// `models.list` takes a view. Earlier releases refuse unknown members.
    package var takesModelViews: Bool { generation >= .june }
    /// `chat.history` takes `maxChars`; later versions may still refuse it. `long-answer.v2026.4.26`.
    package var takesLongTexts: Bool { generation >= .april }
    /// `usage.cost` counts days in a named time zone (2026.9). Only the version shows that.
    package var countsInTimeZones: Bool { generation >= .june && Self.isRelease(version, from: (2026, 9)) }
    /// `chat.send` takes a mode for the queue of a busy session. Without one, Autumn puts the message into the run at work. Read.
    package var takesQueueModes: Bool { generation >= .autumn }
    /// It names the missing agent instead of accepting a message for it.
    package var refusesUnlistedAgents: Bool { generation >= .june }
    /// Its answer to `cron.run` comes before the run ends.
    package var answersJobsAtOnce: Bool { generation >= .june }
    /// Each connection counts its own events, so that a hole in the numbers is a loss.
    package var countsEventsPerConnection: Bool { generation >= .june }

    // MARK: Transcripts and runs

    /// It sends each row of a transcript when it writes the row. March does not, and leaves the output of commands out of its
    /// events. `poll-cost.v2026.3.1`.
    package var sendsRows: Bool { generation >= .april }
    /// It reports the first of several failed tries as the run's error, and says nothing of the later ones. `transient-error4.v2026.3.1`.
    package var triesAgainAfterError: Bool { generation == .march }
    /// Asked about a run, it answers `failed` only after the last try, which comes within seconds. April answers so already in the pause
    /// before the next try, which takes up to a minute; the last try ends with an event. `provider-429.v2026.4.26`.
    package var saysFailedAfterTheLastTry: Bool { generation == .march }
    /// Whether its answer shows that the run is in the hands of the present process. `refused-rows-merged`; Autumn: read.
    package func isInHand(_ answer: AgentWait.Output) -> Bool {
        answer == .queued || (answer == .draining && generation <= .june)
    }
    /// Its pages of a transcript say which run is under way. Gateways without this are asked about each run. `poll-cost.v2026.6.11`.
    package var pagesTellRuns: Bool { generation >= .june }
    /// Asked about one run, it says how this run ended, from its disk. Pages only tell how a session's last run ended. Read.
    package var tellsEndOfRun: Bool { lists([SessionsStatus.method]) }
    /// Rows of users have our key: `<key>:user`. All recordings of June; no earlier one.
    package var keysInRows: Bool { generation >= .june }
    /// It keeps a message on its disk until the transcript has it, and says so. Read.
    package var keepsMessages: Bool { generation >= .autumn }
    /// Its rows name the run that wrote them, which need not be the run of the message's key. Read.
    package var rowsNameTheirRun: Bool { generation >= .autumn }
    /// The error that it sends with the state of a run is about a first try too, which then ran nothing. Earlier gateways send such an
    /// error only for a key that they remember. Read.
    package var saysWhenSetUpFails: Bool { generation >= .autumn }
    /// It may acknowledge a message, write the row, and not run it. `init-conflict.v2026.6.11`, `refused-rows-merged`.
    package var mayRefuseStoredMessages: Bool { generation == .june }
    /// After a run, a message to its session that arrives within milliseconds is put behind later ones and answered with an empty
    /// text. `busy-sends.v2026.4.26`.
    package var pauseAfterRunMs: Int64 { generation == .april ? 500 : 0 }

    // MARK: Stops

    /// The effect of a stop before the run has begun. `stop-early`, `stop-early-more`, where April asks no model; but in the
    /// first 100 ms it begins runs of which it said that it stopped them. Autumn: read.
    package var earlyStop: MessageTraits.EarlyStop {
        switch generation {
        case .march, .april: .asksModel
        case .june: .leavesRow
        case .autumn: .clean
        }
    }

    /// The fate of a message that is stopped while another runs. `stop-early-more` part 3, `stop-queued-breaks-run`. Autumn: read.
    package var queuedStop: MessageTraits.QueuedStop {
        switch generation {
        case .march, .april: .runsAllTheSame
        case .june: .breaksTheRun
        case .autumn: .clean
        }
    }

    /// After an early stop it repeats the previous answer, as the final event of the stopped run. `stop-early.v2026.3.1`.
    package var saysAnswersAgain: Bool { generation == .march }

    /// The next prompt has the words of a message that was stopped at work. `stop-early.v2026.3.1` part 4; seen live on 2026.4.26 and
    /// 2026.6.11.
    package var readsStoppedRows: Bool { generation <= .june }

    /// The next prompt has the words of a message that was refused or failed. `refused-rows-merged`; April and Autumn resume such a row.
    package var readsRefusedRows: Bool { generation >= .april }

    /// The part that the ledger's table reads.
    package var messages: MessageTraits {
        MessageTraits(
            keysInRows: keysInRows,
            earlyStop: earlyStop,
            queuedStop: queuedStop,
            resumesRuns: resumesRuns,
            readsRefusedRows: readsRefusedRows,
            readsStoppedRows: readsStoppedRows
        )
    }

    // MARK: Restarts

    /// How long after its start a gateway may go on with a run that a restart interrupted. June did so after 6 s; April after 34 s,
    /// but usually not at all; March never. `gateway-kill-midrun`.
    package static let resumeMs: Int64 = 60_000
    /// June went on with a run nine minutes after its start, when several restarts had interrupted many sessions.
    package static let lateResumeMs: Int64 = 3_600_000
    package var resumesRuns: Bool { generation >= .april }
    /// It acknowledges the second message of each session that is older than its process, and does not run it; it may run the refused
    /// row after the next restart, or put it into the next prompt. `init-conflict.v2026.6.11`, `refused-rows-merged`. Only the version shows it.
    package var refusesInOldSessions: Bool { version?.hasPrefix("2026.6.") ?? false }
    /// A release that does so, for people.
    package static let refusingRelease = "2026.6.11"

    package enum Drain: Sendable {
        /// It acknowledges a message and refuses it with an answer of its own; a queued message is usually lost.
        case refusesByAnswer
        /// It ends all work first and refuses nothing.
        case endsWorkFirst
        /// It refuses calls with a reason.
        case refusesCalls
        case unknown
    }

    /// Its conduct towards messages before a restart. `restart-in-process`. Autumn: read.
    package var drain: Drain {
        switch generation {
        case .march: .refusesByAnswer
        case .april: .unknown
        case .june: .endsWorkFirst
        case .autumn: .refusesCalls
        }
    }

    // MARK: Versions

    /// The newest release that Ladle has been run with.
    package static let newestTried = "2026.6.11"

    /// Nobody has run Ladle with a release of this version: its conduct is known from its source and documents alone.
    package static func isUntried(_ version: String) -> Bool { isRelease(version, from: (2026, 7)) }

    /// Builds from source have other version names, which give false.
    private static func isRelease(_ version: String?, from first: (year: Int, month: Int)) -> Bool {
        let parts = version?.split(separator: ".", maxSplits: 2).prefix(2).compactMap { Int($0) } ?? []
        return parts.count == 2 && (parts[0], parts[1]) >= (first.year, first.month)
    }
}
