/// One observation about a turn: a message of ours and what became of it. It may arrive again, and in any order. Facts hold until the outbox
/// sends the message anew, because the gateway has nothing of it or a person retries it.
///
/// Keys are counted from 1. A message first goes out under key 1, and under the next key if the gateway may remember that it
/// refused the previous one. A contact is one connection to the gateway, up to a call that got no answer; contacts are counted
/// from the entry's loading, and 0 is that of an earlier process of Ladle.
package enum Fact: Sendable, Hashable {
    // MARK: Ours

    /// The frame left with this key over this contact. The fact is on disk before the frame is written.
    case sent(key: Int, contact: Int)
    /// That frame was never written: there was no connection, or it closed before.
    case unsent(key: Int, contact: Int)
    /// A person asked to stop the turn, or took the stop back; the highest number is the last word.
    case will(Will, number: Int)
    /// The stop left over this contact.
    case stopSent(key: Int, contact: Int)

    // MARK: The gateway's answers

    case answered(key: Int, contact: Int, Answer)
    /// The gateway says that it stopped the run of this key, or that it has none.
    case stopAnswered(key: Int, stopped: Bool)

    // MARK: Events

    /// Work on the turn was reported.
    case began(RunName)
    case ended(RunName, End)

    // MARK: The transcript

    /// A row of the turn, known from an event. It is in the transcript on the gateway's disk.
    case row(Row)
    case page(Page)

    // MARK: The world

    /// A contact, and whether it reached the process that got the newest frame of this turn.
    case contact(Int, Continuity)
    /// The wait over this contact has ended: a gateway at rest would have shown the turn by now.
    case waited(contact: Int)
    /// Ladle published this statement. The one with the highest number is the last that people know.
    case told(Statement, number: Int)

    package enum Will: Sendable, Hashable { case run, stop }

    package enum Answer: Sendable, Hashable, Comparable {
        case refused
        /// The gateway is at work on equal words and dropped these; it named the run of the others.
        case dropped
        /// The gateway knows the key from before, so it has, or had, the message.
        case remembered
        /// The gateway took the message.
        case taken
        /// The gateway knows the key from before, and has not done with it.
        case atWork
    }

    /// The run of one of our keys, or a run with an id of the gateway's own that was tied to the turn.
    package enum RunName: Sendable, Hashable {
        case key(Int)
        case gateways
    }

    package enum End: Sendable, Hashable, Comparable {
        /// The gateway put the message behind another run, dropped it, or remembers the key: no end at all.
        case empty
        /// The gateway's own words in place of an answer, as "Gateway is draining for restart".
        case injected
        /// The gateway acknowledged the message and then refused to run it.
        case refused
        case failed
        case stopped
        /// A run that was at work on another message read this one. It has no run of its own.
        case joined
        case answered
    }

    /// A user's row that stands for the turn's message.
    package struct Row: Sendable, Hashable {
        package var identity: String
        package var tie: Tie
        /// How the rows behind it end; nil while they do not.
        package var end: End?

        package init(_ identity: String, _ tie: Tie, _ end: End? = nil) {
            (self.identity, self.tie, self.end) = (identity, tie, end)
        }
    }

    /// One page of the session's transcript, as far as it is about this turn.
    package struct Page: Sendable, Hashable {
        /// Pages are counted as they are asked for; the highest number counts.
        package var number: Int
        package var contact: Int
        package var rows: [Row]
        /// The page has a row that may be this turn's or another turn's.
        package var isShared: Bool
        /// The page reaches back past the turn's first frame, so a row of the turn that it lacks does not exist.
        package var isWhole: Bool
        package var activity: Activity
        package var receipt: Receipt?
        package var knew: Knowledge

        package init(
            number: Int,
            contact: Int,
            rows: [Row] = [],
            isShared: Bool = false,
            isWhole: Bool = true,
            activity: Activity = .unknown,
            receipt: Receipt? = nil,
            knew: Knowledge = []
        ) {
            (self.number, self.contact, self.rows, self.isShared) = (number, contact, rows, isShared)
            (self.isWhole, self.activity, self.receipt, self.knew) = (isWhole, activity, receipt, knew)
        }
    }

    /// Whether a run is under way in the session, according to a page.
    package enum Activity: Sendable, Hashable {
        /// This release does not say.
        case unknown
        case idle
        /// A run is at work; it is not known to be this turn's.
        case other
        case own
    }

    /// The word of a gateway that keeps messages on its disk before it runs them.
    package enum Receipt: Sendable, Hashable { case queued, interrupted, consumed, cancelled }

    /// The answers that were known when a page was asked for. The page proves nothing about an answer that came after the question.
    package struct Knowledge: OptionSet, Sendable, Hashable {
        package let rawValue: UInt8
        package init(rawValue: UInt8) { self.rawValue = rawValue }
        /// The answer to the newest frame.
        package static let answer = Knowledge(rawValue: 1)
        /// The gateway had said that it stopped the run.
        package static let stopped = Knowledge(rawValue: 2)
        /// The gateway had said that it has no run to stop.
        package static let nothingToStop = Knowledge(rawValue: 4)
    }
}

/// How sure it is that a row or a run is a turn's.
package enum Tie: Sendable, Hashable, Comparable {
    /// By its words alone: another client may have said the same.
    case likely
    case certain
}

/// Whether two contacts reached one process of the gateway. Its queue and the keys that it remembers live and die with it.
package enum Continuity: Sendable, Hashable, Comparable {
    case same
    /// Both contacts show the same start, but the gateway may have restarted inside its process. It then still remembers keys, but
    /// may have lost its queue.
    case either
    case other
}
