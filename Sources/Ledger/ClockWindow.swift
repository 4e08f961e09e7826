package import Basics

/// A span of time within which something must have been written, on one clock. Two clocks never agree to the millisecond, so each rule
/// that compares times names the window that it allows. All windows are here.
package struct ClockWindow: Sendable, Equatable {
    package let from: Timestamp
    package let to: Timestamp

    package init(from: Timestamp, to: Timestamp = Timestamp(milliseconds: .max)) {
        self.from = from
        self.to = max(from, to)
    }

    package init(around time: Timestamp, before: Int64, after: Int64) {
        self.init(from: time.adding(milliseconds: -before), to: time.adding(milliseconds: after))
    }

    package func contains(_ time: Timestamp) -> Bool { from <= time && time <= to }

    /// The part of it in which the row of a message can come that waited behind the run of this start.
    package func behind(_ start: Timestamp?) -> ClockWindow {
        guard let start else { return self }
        return ClockWindow(from: max(from, Self.row(behindStart: start).from), to: to)
    }

    /// Where the order of the rows decides, and not their time.
    package static let always = ClockWindow(from: Timestamp(milliseconds: .min))

    /// No row can fit.
    package static let never = ClockWindow(from: Timestamp(milliseconds: .max))

    // MARK: The gateway's clock alone

    /// The row of a message whose run started at this time. They have the same millisecond, and on a loaded gateway up to 100 between
    /// them.
    package static func row(startedAt start: Timestamp) -> ClockWindow { around(start, 100) }

    /// The same, if nothing but the time ties the row to the run: another run may have begun a few milliseconds away.
    static func onlyRow(startedAt start: Timestamp) -> ClockWindow { around(start, 2) }

    /// The row of a message of ours whose tries started between these times. The gateway takes the row's time before it begins the run, and a
    /// starved one needs some hundred milliseconds between the two.
    package static func row(ofTriesFrom first: Timestamp, to last: Timestamp) -> ClockWindow {
        ClockWindow(from: first.adding(milliseconds: -2_000), to: row(startedAt: last).to)
    }

    /// The row of a run that was first seen at this time, already at work: the row was written at any time before.
    package static func row(seenAt time: Timestamp) -> ClockWindow {
        ClockWindow(from: Timestamp(milliseconds: .min), to: row(startedAt: time).to)
    }

    /// The row of a message that waited behind the run that started at this time.
    private static func row(behindStart start: Timestamp) -> ClockWindow {
        ClockWindow(from: row(startedAt: start).to.adding(milliseconds: 1))
    }

    /// The start of the run that answers the gateway's own prompt of this time. A gateway that has just started may begin the run some
    /// seconds after it wrote the prompt.
    package static func start(promptedAt prompt: Timestamp) -> ClockWindow {
        ClockWindow(around: prompt, before: 1_000, after: 5_000)
    }

    // MARK: Our clock and the gateway's

    /// The row of a message that was sent at this time, over a connection that has just compared the clocks.
    package static func row(sentAt time: Timestamp) -> ClockWindow {
        ClockWindow(from: time.adding(milliseconds: -2_000))
    }

    /// The end of a run that may still have been in the way of a message that was sent at this time: a gateway tidies up behind a run.
    package static func atWork(before sent: Timestamp) -> ClockWindow {
        ClockWindow(from: sent.adding(milliseconds: -60_000))
    }

    /// The row of a message that was stopped, and of whose run nothing else was seen.
    package static func row(sentAt time: Timestamp, stoppedAt stop: Timestamp) -> ClockWindow {
        ClockWindow(from: row(sentAt: time).from, to: stop.adding(milliseconds: 2_000))
    }

    /// The row of a message that was stopped and waits behind a run all the same.
    package static func row(sentAt time: Timestamp, putAsideAt aside: Timestamp) -> ClockWindow {
        ClockWindow(from: row(sentAt: time).from, to: aside.adding(milliseconds: longestRunMs))
    }

    /// The row of a message that was dispatched at this time, perhaps by an earlier process of Ladle: one of the clocks may have been
    /// set or may have drifted since they were compared.
    /// - Parameter delivered: when the message was known to be delivered. The gateway writes its row ten minutes later at most.
    package static func row(dispatchedAt time: Timestamp, delivered: Timestamp? = nil) -> ClockWindow {
        let from = time.adding(milliseconds: -10_000)
        return delivered.map { ClockWindow(from: from, to: $0.adding(milliseconds: 600_000)) }
            ?? ClockWindow(from: from)
    }

    /// The same for a message whose row, or the end of whose run, was known by the time `known`: the row was written before that.
    package static func row(dispatchedAt time: Timestamp, knownAt known: Timestamp) -> ClockWindow {
        ClockWindow(from: row(dispatchedAt: time).from, to: known.adding(milliseconds: 10_000))
    }

    /// The same for a message whose run completed at this time, by the gateway's clock. What is written later is another message's.
    package static func row(dispatchedAt time: Timestamp, completedAt end: Timestamp) -> ClockWindow {
        ClockWindow(from: row(dispatchedAt: time).from, to: end)
    }

    /// Two measurements of how far the gateway's clock is ahead that differ by less show that no clock was set between them.
    package static let sameClockMs: Int64 = 1_000

    /// Runs rarely last longer. Until then a restarted gateway may write the row of a run again that was known to be at work.
    package static let longestRunMs: Int64 = 3_600_000

    private static func around(_ time: Timestamp, _ milliseconds: Int64) -> ClockWindow {
        ClockWindow(around: time, before: milliseconds, after: milliseconds)
    }
}
