package import Basics

/// A message's own row in the history. A gateway writes the row even if it refuses to run the message, so the row alone
/// does not show that the agent got it.
package struct OwnRow: Sendable, Equatable {
    /// Rows of an answer follow it.
    package var isAnswered: Bool
    /// The time of the newest message; nil if an answer follows this row.
    package var newestAt: Timestamp?
}
