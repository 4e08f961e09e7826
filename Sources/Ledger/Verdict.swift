/// The state of a turn, as its facts show it: four independent axes, and marks that single rows need. The table (`Decision`) reads this and
/// what the release does (`MessageTraits`).
package struct Verdict: Sendable, Hashable {
    package enum Delivery: Sendable, Hashable, CaseIterable {
        /// Not sent.
        case none
        /// Sent, and the gateway has not shown whether it has the message.
        case inFlight
        /// The gateway has the message in memory.
        case taken
        /// The gateway dropped the message, because it is at work on equal words.
        case dropped
        /// The gateway will not run the message under this key.
        case refused
        /// The gateway's transcript has the message, or a run of it was seen at work.
        case stored
        /// The process that got the message is gone, and the transcript does not have the message.
        case absent
    }

    package enum Work: Sendable, Hashable, CaseIterable {
        case none
        /// The gateway put the message behind another run.
        case queued
        case running
        case answered
        case failed
        /// The gateway refused to run a message that it had acknowledged. Its row may stand, and be read with the next message.
        case turnedAway
        case stopped
        /// A run that was at work on another message read this one.
        case joined
    }

    /// Further facts that single rows of the table need.
    package struct Marks: OptionSet, Sendable, Hashable {
        package let rawValue: UInt16
        package init(rawValue: UInt16) { self.rawValue = rawValue }
        /// A whole page was read over the present contact.
        package static let fresh = Marks(rawValue: 1)
        /// A fresh page that was asked for after the newest answer shows no run.
        package static let idle = Marks(rawValue: 2)
        /// The gateway named this turn as being at work, over the present contact.
        package static let active = Marks(rawValue: 4)
        /// A fresh page was asked for after the gateway had confirmed the stop.
        static let afterStop = Marks(rawValue: 8)
        /// A fresh page was asked for after the gateway had answered a stop: it has no such run.
        package static let nothingToStop = Marks(rawValue: 16)
        /// The wait over the present contact has ended: a gateway at rest would have shown the turn by now.
        package static let waited = Marks(rawValue: 32)
        /// Another turn may claim the row too.
        package static let shared = Marks(rawValue: 64)
        /// The run of the newest key was seen at work. A run with an id of the gateway's own may be the stopped message, brought back.
        package static let begun = Marks(rawValue: 512)
        /// The newest frame went out over the present contact.
        static let askedHere = Marks(rawValue: 256)
        /// The gateway showed over the present contact that it has the newest frame.
        static let heardHere = Marks(rawValue: 1024)
        /// A row of the turn, or the whole answer to it, was seen. Work alone is lost with the gateway's process.
        static let inTranscript = Marks(rawValue: 2048)
    }

    package var delivery: Delivery = .none
    package var work: Work = .none
    package var process: Continuity = .same
    package var will: Fact.Will = .run
    package var tie: Tie = .certain
    package var marks: Marks = []
    package var receipt: Fact.Receipt?
    /// The last statement about the turn that people know.
    package var told: Statement?

    package init() {}
}
