package import Basics

/// The gateway said that a message of ours waits behind a run.
package struct Deferral: Sendable, Equatable {
    /// When it first said so, by our clock.
    package var at: Timestamp
    /// The start of that run, by the gateway's clock, if it is known which one it is: the message's row comes after its.
    package var behind: Timestamp?
    /// How many messages of other clients with its words the gateway had taken, and not begun, when ours was sent.
    package var equalsBefore: Int

    package init(at: Timestamp, behind: Timestamp?, equalsBefore: Int = 0) {
        (self.at, self.behind, self.equalsBefore) = (at, behind, equalsBefore)
    }
}
