package import Basics
package import Gateway
package import JSONBytes
import Labels
package import Ledger

/// One turn of the agent as the API shows it.
package struct Run: Sendable, Equatable {
    package enum State: String, Sendable {
        case queued, running, completed, failed, aborted

        package var isActive: Bool { self == .queued || self == .running }
    }

    /// A reason that clients may act on.
    package enum Code: String, Sendable {
        /// The gateway's process ended during the run.
        case interrupted = "RUN_INTERRUPTED"
    }

    package var id: String
    package var session: SessionKey
    package var state: State
    package var startedAt: Timestamp
    package var endedAt: Timestamp?
    package var text: String
    /// The text of a run that ended is not whole: the gateway cut it, or it is longer than Ladle keeps.
    package var isTruncated: Bool
    /// In the order in which they began.
    package var steps: [Step]
    package var error: String?
    /// Nil while the run is active.
    package var end: Ending.How?
    /// The id of the run in which the gateway goes on with this interrupted or stopped one.
    package var continuedAs: String?
    /// The gateway may still run the words of the stopped message, or read them with the session's next one; or it may still go on with
    /// a run that its restart cut off.
    package var mayReturn: Bool
    /// The message had begun to run before, in a process of the gateway that is gone. So the agent may have done the same work
    /// twice.
    package var executedAgain: Bool
    /// The agent has handed its work over: what it says later comes in another run.
    package var handedOver: Bool
    package var usage: TokenUsage?

    package init(
        id: String,
        session: SessionKey,
        state: State,
        startedAt: Timestamp,
        endedAt: Timestamp? = nil,
        text: String = "",
        isTruncated: Bool = false,
        steps: [Step] = [],
        error: String? = nil,
        end: Ending.How? = nil,
        continuedAs: String? = nil,
        mayReturn: Bool = false,
        executedAgain: Bool = false,
        handedOver: Bool = false,
        usage: TokenUsage? = nil
    ) {
        self.id = id
        self.session = session
        self.state = state
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.text = text
        self.isTruncated = isTruncated
        self.steps = steps
        self.error = error
        self.end = end
        self.continuedAs = continuedAs
        self.mayReturn = mayReturn
        self.executedAgain = executedAgain
        self.handedOver = handedOver
        self.usage = usage
    }

    /// The tokens that the run used, nil if they are not known.
    package var tokens: (input: Int64, output: Int64, cacheRead: Int64, cacheWrite: Int64)? {
        usage.map { ($0.input, $0.output, $0.cacheRead, $0.cacheWrite) }
    }

    package var code: Code? { end == .interrupted ? .interrupted : nil }

    /// The run's present activity, for headlines: the newest open step, else `Writing a reply...` or `Thinking...`.
    package var currentLabel: String {
        switch state {
        case .queued: "Queued"
        case .running: openStep?.label ?? (text.isEmpty ? "Thinking..." : "Writing a reply...")
        case .completed: "Completed"
        case .failed: "Failed"
        case .aborted: "Aborted"
        }
    }

    private var openStep: Step? {
        steps.last { $0.state == .waiting } ?? steps.last { $0.state == .running }
    }

    /// `run.started` and `run.ended` carry the run without its steps.
    package func write(to writer: inout JSONWriter, includingSteps: Bool) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("session", session.text)
            writer.member("state", state.rawValue)
            writer.member("startedAt", startedAt)
            writer.member("endedAt", endedAt)
            writer.member("text", text)
            if isTruncated { writer.member("truncated", true) }
            if includingSteps { writer.array("steps", of: steps) }
            writer.member("error", error)
            writer.member("code", code?.rawValue)
            writer.member("continuedAs", continuedAs)
            if mayReturn { writer.member("mayReturn", true) }
            if executedAgain { writer.member("executedAgain", true) }
            if handedOver { writer.member("handedOver", true) }
            writer.member("usage", usage)
        }
    }
}

extension Run: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        write(to: &writer, includingSteps: true)
    }
}

extension TokenUsage: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("input", input)
            writer.member("output", output)
            writer.member("cacheRead", cacheRead)
            writer.member("cacheWrite", cacheWrite)
            writer.member("totalTokens", totalTokens)
            writer.member("cost", cost)
        }
    }
}

/// A change of a run. Changes are published in their order; most of them become one event of the stream.
package enum RunChange: Sendable, Equatable {
    case started(Run)
    case stepChanged(Step)
    /// `offset` counts UTF-16 units of the run's text, as `length` does in JavaScript.
    case textAppended(run: String, offset: Int, text: String)
    case textReplaced(run: String, text: String)
    case ended(Run)
    /// Replaces a wrong `ended`. Only this may come after a run's end.
    case corrected(Run)
    /// An event shows that the gateway has the message with this key in memory. That is no proof of delivery.
    case taken(key: String)
    /// The gateway has the message whose key is the run's id.
    case proven(String, RunProof)
    /// The row of our message, which a run at work on another message read. The message has no run of its own.
    case joined(String, run: String, RunProof)
    /// The gateway is busy and answers our send later, in another run.
    case deferred(String, session: SessionKey)
    /// More is known of the waiting of our message.
    case waits(String, Deferral)
    /// The message of a stopped run waits at the gateway all the same.
    case putAside(String)
    /// The run `to` answers the deferred send `from`, or goes on with the interrupted run `from`. If `isShared`, the run was found
    /// by its words alone: it may answer another message too, or only that one.
    case reassigned(from: String, to: String, isShared: Bool = false)
    /// Our message, which the run `other` seemed to answer, begins a run of its own under its key: `other` answers another client's message
    /// with the same words.
    case separated(key: String, other: String)
    /// Ladle stops following a run of which nothing was shown. Nothing more comes under its id.
    case dropped(String, session: SessionKey)
    /// The gateway acknowledged our message and refuses to run it.
    case refused(String, reason: String)
}

/// The reason to believe that the gateway's transcript has a message.
package enum RunProof: Sendable, Equatable {
    /// The message's row was read.
    case row
    /// The gateway reported that it wrote the row, and the transcript is on disk.
    case rowEvent
    /// The end of the message's run was reported.
    case end
}

/// A run that keeps its session busy.
package struct BusyRun: Sendable {
    package let id: String
    package let session: SessionKey
    /// The run is a send of ours that another run will answer.
    package let isDeferred: Bool
    /// The gateway's process that worked on the run is gone. The next one may go on with it.
    package let isInterrupted: Bool
}

extension Ending {
    var state: Run.State {
        switch end {
        case nil: .running
        case .completed: .completed
        case .aborted, .reset: .aborted
        case .failed, .interrupted, .evicted, .unknown: .failed
        }
    }

    /// The error as the provider reported it, without secrets, or a text of our own for an end that no provider reported.
    var error: String? {
        switch end {
        case .completed, .aborted, .reset, nil: nil
        case .failed: providersError.map { SecretMask.text($0) } ?? (isShown ? Self.noReason : Self.unknownEnd)
        case .interrupted: continuedAs == nil ? Self.cutOff : Self.continued
        case .evicted: Self.tooMany
        case .unknown: over == .replacedUnseen ? Self.unseenEnd : Self.unknownEnd
        }
    }

    private static let noReason = "The model stopped with an error."
    private static let cutOff = "The gateway was restarted during this run and has not gone on with it."
    private static let continued = "The gateway was restarted during this run and goes on with it in another run."
    static let unknownEnd = "The gateway says that this run is over, and its history does not show how it ended."
    static let unseenEnd = "The session was reset while Ladle was away, so nothing shows how this run ended."
    static let tooMany =
        "More runs are under way than Ladle follows; how this one goes on is in the gateway's history."
}
