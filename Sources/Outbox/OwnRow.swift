package import Basics

/// The user's row of a message as the history shows it. A gateway that refuses to run a message writes its row all the same, so the
/// row alone does not show that the agent ever had the message.
package struct OwnRow: Sendable, Equatable {
    /// Rows of an answer stand behind it.
    package var isAnswered: Bool
    /// No other message stands behind it.
    package var isLast: Bool
    /// When the newest message was sent, where no answer stands behind this row at all.
    package var newestAt: Timestamp?
}
