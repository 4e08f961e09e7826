/// The outcome of a turn, as people are told it. All outcomes but `unknown` are final: only a fact that contradicts one changes it.
package struct Statement: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case completed, failed
        /// The message went into a run that was at work on another message, as its sender asked. It has no run of its own.
        case joined
        /// The turn was stopped, and the model may have had the message.
        case aborted
        /// The message never reached the model.
        case cancelled
        /// The gateway's process ended during the run.
        case interrupted
        /// Nothing shows what became of the message, and nothing will unless somebody looks or asks again.
        case unknown
        /// The gateway turned out not to have the message after people were told `unknown`. Later messages have passed it, so a
        /// person decides whether it goes again.
        case lost
    }

    /// The doubts that the statement leaves open.
    package struct Marks: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The statement is true only if the rows that were found are our message, and not another client's with the same words.
        package static let byWords = Marks(rawValue: 1)
        /// The gateway may still bring the words back by itself, in a run or in the next prompt.
        package static let mayReturn = Marks(rawValue: 2)
        /// The model may have been asked, although no answer will come.
        static let mayHaveRun = Marks(rawValue: 4)
    }

    package var kind: Kind
    package var marks: Marks

    package init(_ kind: Kind, _ marks: Marks = []) { (self.kind, self.marks) = (kind, marks) }

    /// Whether anything of the turn may still happen after this was told.
    package var isOpen: Bool { kind == .unknown || marks.contains(.mayReturn) }
}
