package import Basics
package import JSONBytes

/// One chat message, as clients show it.
package struct ChatMessage: Sendable, Equatable {
    package enum Role: String, Sendable {
        case user, assistant, system, tool
    }

    package enum State: String, Sendable {
        case sending, sent, failed
    }

    package var id: String
    package var role: Role
    package var text: String
    /// The text is only the beginning of the message.
    package var isTruncated: Bool
    package var at: Timestamp
    package var state: State
    package var runID: String?
    package var steps: [Step]
    package var attachments: [MessageAttachment]
    package var error: String?

    package init(
        id: String,
        role: Role,
        text: String,
        isTruncated: Bool = false,
        at: Timestamp,
        state: State = .sent,
        runID: String? = nil,
        steps: [Step] = [],
        attachments: [MessageAttachment] = [],
        error: String? = nil
    ) {
        self.id = id
        self.role = role
        self.text = text
        self.isTruncated = isTruncated
        self.at = at
        self.state = state
        self.runID = runID
        self.steps = steps
        self.attachments = attachments
        self.error = error
    }

    /// An empty message is never shown.
    var isEmpty: Bool { text.isEmpty && !isTruncated && attachments.isEmpty && error == nil }
}

extension ChatMessage: JSONWritable {
    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("id", id)
            writer.member("role", role.rawValue)
            writer.member("text", text)
            if isTruncated { writer.member("truncated", true) }
            writer.member("at", at)
            writer.member("state", state.rawValue)
            writer.member("runId", runID)
            if !steps.isEmpty { writer.array("steps", of: steps) }
            if !attachments.isEmpty { writer.array("attachments", of: attachments) }
            writer.member("error", error)
        }
    }
}
