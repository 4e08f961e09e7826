package import Basics
package import Gateway
package import JSONBytes
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
    /// In the order in which they began.
    package var steps: [Step]
    package var error: String?
    /// Nil while the run is active.
    package var end: Ending.How?
    /// The run in which the gateway goes on with this one, which it interrupted.
    package var continuedAs: String?
    /// The gateway may still run the words of the stopped message, or read them with the session's next one.
    package var mayReturn: Bool
    package var usage: TokenUsage?

    package init(
        id: String,
        session: SessionKey,
        state: State,
        startedAt: Timestamp,
        endedAt: Timestamp? = nil,
        text: String = "",
        steps: [Step] = [],
        error: String? = nil,
        end: Ending.How? = nil,
        continuedAs: String? = nil,
        mayReturn: Bool = false,
        usage: TokenUsage? = nil
    ) {
        self.id = id
        self.session = session
        self.state = state
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.text = text
        self.steps = steps
        self.error = error
        self.end = end
        self.continuedAs = continuedAs
        self.mayReturn = mayReturn
        self.usage = usage
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
            if includingSteps { writer.array("steps", of: steps) }
            writer.member("error", error)
            writer.member("code", code?.rawValue)
            writer.member("continuedAs", continuedAs)
            if mayReturn { writer.member("mayReturn", true) }
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
