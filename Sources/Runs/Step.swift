package import Basics
package import JSONBytes
package import Labels

/// One item of live activity inside a run: a thought, a tool call, an approval, a notice, an error.
package struct Step: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case thinking, tool, approval, notice, error
    }

    package enum State: String, Sendable {
        case running, waiting, done, failed, cancelled

        package var isOpen: Bool { self == .running || self == .waiting }
    }

    /// Made from the ids of the run and the call, so that it is the same after a restart of Ladle.
    package var id: String
    package var runID: String
    /// The step's number in the order in which Ladle first saw the steps, from 1. It never changes.
    package var sequence: Int
    package var kind: Kind
    package var tool: String?
    package var toolCallID: String?
    package var category: ActivityCategory
    /// The text to show now.
    package var label: String
    package var detail: String?
    /// The approval that a waiting step waits for.
    package var approvalID: String?
    package var state: State
    package var startedAt: Timestamp
    package var endedAt: Timestamp?
    package var durationMilliseconds: Int64?
    package var exitCode: Int64?
    package var error: String?

    package init(
        id: String,
        runID: String,
        sequence: Int,
        kind: Kind,
        tool: String? = nil,
        toolCallID: String? = nil,
        category: ActivityCategory,
        label: String,
        detail: String? = nil,
        approvalID: String? = nil,
        state: State,
        startedAt: Timestamp,
        endedAt: Timestamp? = nil,
        durationMilliseconds: Int64? = nil,
        exitCode: Int64? = nil,
        error: String? = nil
    ) {
        self.id = id
        self.runID = runID
        self.sequence = sequence
        self.kind = kind
        self.tool = tool
        self.toolCallID = toolCallID
        self.category = category
        self.label = label
        self.detail = detail
        self.approvalID = approvalID
        self.state = state
        self.startedAt = startedAt
        self.endedAt = endedAt
        self.durationMilliseconds = durationMilliseconds
        self.exitCode = exitCode
        self.error = error
    }
}

extension Step: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("runId", runID)
            writer.member("seq", sequence)
            writer.member("kind", kind.rawValue)
            writer.member("tool", tool)
            writer.member("toolCallId", toolCallID)
            writer.member("category", category.rawValue)
            writer.member("label", label)
            writer.member("detail", detail)
            writer.member("approvalId", approvalID)
            writer.member("state", state.rawValue)
            writer.member("startedAt", startedAt)
            writer.member("endedAt", endedAt)
            writer.member("durationMs", durationMilliseconds)
            writer.member("exitCode", exitCode)
            writer.member("error", error)
        }
    }
}
