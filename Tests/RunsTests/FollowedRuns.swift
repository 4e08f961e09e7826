import Basics
import Runs

extension RunTracker {
    /// Goes on with a run in progress, of which the database alone tells.
    mutating func followRun(
        _ id: String,
        session: SessionKey,
        startedAt: Timestamp,
        message: String? = nil,
        text: String = "",
        delivery: KnownRun.Message.Delivery = .over,
        steps: [Step] = [],
        now: Timestamp
    ) {
        let run = Run(id: id, session: session, state: .running, startedAt: startedAt, text: text, steps: steps)
        let sent = message.map { KnownRun.Message($0, sentAt: startedAt, delivery: delivery) }
        _ = follow(KnownRun(run, message: sent), now: now)
    }

    /// Looks for the run of a message that nobody saw.
    mutating func followUnseen(
        _ id: String,
        session: SessionKey,
        text: String,
        sentAt: Timestamp,
        delivery: KnownRun.Message.Delivery = .over,
        goneAt: Timestamp? = nil
    ) {
        let message = KnownRun.Message(text, sentAt: sentAt, delivery: delivery)
        _ = follow(KnownRun(id, session: session, message: message, goneAt: goneAt), now: sentAt)
    }
}
