/// The table: from a verdict to what people are told and what Ladle does next. The first row that fits decides.
package struct Decision: Sendable, Hashable {
    /// The outbox acts on `repeatKey` and `discard`; it has its own times for the others, by which the explorer and the tests step.
    package enum Next: Sendable, Hashable {
        case nothing
        /// Send it for the first time at its turn.
        case send
        /// Send the message again under the same key. A process that knows the key does not run the message twice; another process
        /// never had it.
        case repeatKey
        /// Send under a new key.
        case newKey
        /// Ask the gateway to drop the message that it kept.
        case discard
        /// Read the transcript.
        case read
        /// Read the transcript again, at ever longer intervals, until the wait has ended.
        case wait
        /// Events report what happens.
        case watch
    }

    /// Where the message is, as the outbox shows it.
    package enum Place: Sendable, Hashable {
        /// Ladle alone has it.
        case here
        /// Its frame left, and the answer to it is awaited.
        case onItsWay
        /// The gateway has it in memory, which is lost with the process.
        case held
        /// It may have arrived.
        case inDoubt
        /// The gateway's transcript has it.
        case arrived
        /// It will not be sent any more, or will not be run.
        case over
    }

    /// The name of the table's row.
    package let row: String
    package let place: Place
    /// Nil while nothing final can be said.
    package let told: Statement?
    package let next: Next

    package init(_ verdict: Verdict, _ gateway: MessageTraits) {
        // The last row fits everything.
        let fitting = Self.table.first { $0.fits(verdict, gateway) } ?? Self.table[Self.table.count - 1]
        row = fitting.name
        told = fitting.told(verdict, gateway)
        place = told?.kind == .cancelled ? .over : fitting.place ?? verdict.placeAtGateway
        next = fitting.next
    }
}

extension Decision {
    struct Row: Sendable {
        let name: String
        let fits: @Sendable (Verdict, MessageTraits) -> Bool
        /// Nil where it follows from what the gateway showed.
        let place: Place?
        let told: @Sendable (Verdict, MessageTraits) -> Statement?
        let next: Next
    }

    private static func row(
        _ name: String,
        at place: Place?,
        _ fits: @escaping @Sendable (Verdict, MessageTraits) -> Bool,
        _ next: Next,
        _ told: @escaping @Sendable (Verdict, MessageTraits) -> Statement? = { _, _ in nil }
    ) -> Row {
        Row(name: name, fits: fits, place: place, told: told, next: next)
    }

    /// The transcript has nothing of a stopped message.
    @Sendable private static func stoppedUnseen(_ verdict: Verdict, _ gateway: MessageTraits) -> Statement? {
        if gateway.earlyStop == .clean, !verdict.marks.contains(.begun) { return Statement(.cancelled) }
        let mayReturn = gateway.mayBringBackStopped(wasAtWork: verdict.marks.contains(.begun))
        return Statement(.aborted, mayReturn ? [.mayHaveRun, .mayReturn] : .mayHaveRun)
    }

    static let table: [Row] = [
        // Not sent.
        row("cancelled before it was sent", at: .over, { v, _ in v.delivery == .none && v.will == .stop }, .nothing) {
            _,
            _ in
            Statement(.cancelled)
        },
        row("waits for its turn", at: .here, { v, _ in v.delivery == .none }, .send),

        // Its end is known.
        row("answered", at: .arrived, { v, _ in v.work == .answered }, .nothing) { v, _ in
            Statement(.completed, v.byWords)
        },
        row("went into a run at work", at: .arrived, { v, _ in v.work == .joined }, .nothing) { _, _ in
            Statement(.joined)
        },
        row(
            "stopped, and the gateway stops cleanly",
            at: nil,
            { v, g in
                v.work == .stopped && g.earlyStop == .clean && v.delivery != .stored && !v.marks.contains(.begun)
            },
            .read
        ) { v, _ in v.marks.contains(.afterStop) ? Statement(.cancelled) : nil },
        row("stopped", at: nil, { v, _ in v.work == .stopped }, .nothing) { v, g in
            let marks: Statement.Marks = v.delivery == .stored ? [] : .mayHaveRun
            let mayReturn = g.mayBringBackStopped(wasAtWork: v.marks.contains(.begun))
            return Statement(.aborted, mayReturn ? marks.union(.mayReturn) : marks)
        },
        row("turned away", at: .over, { v, _ in v.work == .turnedAway }, .nothing) { _, g in
            Statement(.failed, g.readsRefusedRows ? .mayReturn : [])
        },
        row("failed", at: nil, { v, _ in v.work == .failed }, .nothing) { _, g in
            Statement(.failed, g.readsRefusedRows ? .mayReturn : [])
        },

        // The gateway has it.
        row("at work", at: nil, { v, _ in v.delivery == .stored && v.process == .same }, .watch),
        row("cut off, to be read", at: nil, { v, _ in v.delivery == .stored && !v.marks.contains(.fresh) }, .read),
        row("cut off, and may be resumed", at: nil, { v, g in v.delivery == .stored && g.resumesRuns }, .wait) { v, _ in
            v.marks.contains(.waited) ? Statement(.interrupted, v.byWords.union(.mayReturn)) : nil
        },
        row("cut off", at: nil, { v, _ in v.delivery == .stored && v.process == .other }, .nothing) { v, _ in
            Statement(.interrupted, v.byWords)
        },
        row("perhaps cut off", at: nil, { v, _ in v.delivery == .stored }, .wait) { v, _ in
            v.marks.contains(.waited) ? Statement(.interrupted, v.byWords.union(.mayReturn)) : nil
        },

        // The gateway will not run it.
        row("refused, and stopped", at: .over, { v, _ in v.delivery == .refused && v.will == .stop }, .nothing) {
            _,
            _ in
            Statement(.cancelled)
        },
        row(
            "refused over this contact",
            at: .here,
            { v, _ in v.delivery == .refused && v.marks.contains(.askedHere) },
            .wait
        ),
        row("refused", at: .here, { v, _ in v.delivery == .refused }, .newKey),
        row(
            "dropped for equal words, and stopped",
            at: .over,
            { v, _ in v.delivery == .dropped && v.will == .stop },
            .nothing
        ) {
            _,
            _ in Statement(.cancelled)
        },
        row(
            "dropped for equal words that ended",
            at: .here,
            { v, _ in v.delivery == .dropped && (v.process == .other || v.marks.contains(.idle)) },
            .newKey
        ),
        row("dropped for equal words", at: .here, { v, _ in v.delivery == .dropped }, .watch),

        row(
            "withdrawn at the gateway",
            at: .over,
            { v, _ in
                v.receipt == .cancelled && v.will == .run && [.taken, .inFlight, .absent].contains(v.delivery)
                    && v.work == .none && v.marks.contains(.fresh)
            },
            .nothing
        ) { _, _ in Statement(.cancelled) },

        // The process that got the message is gone, and the transcript does not have the message.
        row(
            "lost",
            at: .over,
            { v, _ in v.delivery == .absent && v.will == .run && [.unknown, .lost].contains(v.told?.kind) },
            .nothing
        ) { _, _ in Statement(.lost) },
        row(
            "kept by the gateway, and stopped",
            at: nil,
            { v, _ in v.delivery == .absent && v.will == .stop && v.receipt == .interrupted },
            .discard
        ),
        row("taken by the gateway", at: nil, { v, _ in v.delivery == .absent && v.receipt == .consumed }, .wait) {
            v,
            _ in
            v.marks.contains(.waited) ? Statement(.unknown) : nil
        },
        row(
            "still cancelled",
            at: .over,
            { v, _ in v.delivery == .absent && v.will == .stop && v.told?.kind == .cancelled },
            .nothing
        ) { v, _ in v.told },
        row(
            "absent, and stopped",
            at: .over,
            { v, _ in v.delivery == .absent && v.will == .stop },
            .nothing,
            stoppedUnseen
        ),
        row("absent", at: .here, { v, _ in v.delivery == .absent }, .repeatKey),

        // Nothing is in the transcript yet.
        row("named at work", at: nil, { v, _ in v.marks.contains(.active) }, .watch),
        row("kept by the gateway", at: .held, { v, _ in v.receipt == .queued && v.delivery == .taken }, .watch),
        // The message never arrived, or an earlier stop ended it and its answer was lost.
        row(
            "not there, and stopped",
            at: .over,
            { v, _ in
                v.will == .stop && v.marks.isSuperset(of: [.waited, .fresh, .nothingToStop])
                    && !v.marks.contains(.shared)
            },
            .nothing,
            stoppedUnseen
        ),
        row("unknown", at: .inDoubt, { v, _ in v.marks.isSuperset(of: [.waited, .fresh]) }, .wait) { v, g in
            Statement(.unknown, v.will == .stop && g.mayBringBackStopped(wasAtWork: false) ? .mayReturn : [])
        },
        row(
            "asked again",
            at: .inDoubt,
            { v, _ in
                v.delivery == .inFlight && v.will == .run && !v.marks.contains(.askedHere)
                    && (v.process == .same || (v.process == .either && v.marks.contains(.fresh)))
            },
            .repeatKey
        ),
        row("doubtful", at: nil, { _, _ in true }, .wait),
    ]
}

extension Verdict {
    fileprivate var byWords: Statement.Marks { tie == .likely ? .byWords : [] }

    /// Where the message is, by what the gateway showed of it.
    fileprivate var placeAtGateway: Decision.Place {
        if marks.contains(.inTranscript) { return .arrived }
        if delivery == .inFlight { return marks.contains(.askedHere) ? .onItsWay : .inDoubt }
        // After people were told that it is unknown, only a new sign of it makes it known again.
        let isKnown = told?.kind != .unknown || marks.contains(.heardHere)
        return process != .other && isKnown ? .held : .inDoubt
    }
}

/// How a release treats messages: the part of its profile that the table reads.
package struct MessageTraits: Sendable, Hashable {
    package enum EarlyStop: Sendable, Hashable {
        /// The model is asked all the same, and its answer thrown away.
        case asksModel
        /// The message's row stays, and is read with the next message.
        case leavesRow
        /// Nothing of the message stays.
        case clean
    }

    /// The effect of a stop on a message that waits behind a run.
    package enum QueuedStop: Sendable, Hashable { case runsAllTheSame, breaksTheRun, clean }

    package var keysInRows: Bool
    package var earlyStop: EarlyStop
    package var queuedStop: QueuedStop
    package var resumesRuns: Bool
    /// Rows of refused messages are read with the session's next message.
    package var readsRefusedRows: Bool
    /// So are rows of messages that were stopped at work.
    package var readsStoppedRows: Bool

    package init(
        keysInRows: Bool,
        earlyStop: EarlyStop,
        queuedStop: QueuedStop,
        resumesRuns: Bool,
        readsRefusedRows: Bool,
        readsStoppedRows: Bool = false
    ) {
        self.keysInRows = keysInRows
        self.earlyStop = earlyStop
        self.queuedStop = queuedStop
        self.resumesRuns = resumesRuns
        self.readsRefusedRows = readsRefusedRows
        self.readsStoppedRows = readsStoppedRows
    }

    /// Whether the gateway may still run the words of a stopped message, or read them with the session's next one.
    func mayBringBackStopped(wasAtWork: Bool) -> Bool {
        wasAtWork ? readsStoppedRows : earlyStop != .clean || queuedStop == .runsAllTheSame
    }
}
