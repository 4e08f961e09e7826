/// The first and last event kept. `newest.sequence` is 0 and `oldest` nil in a log that never had an event.
package struct EventLogBounds: Sendable, Equatable {
    package var oldest: EventID?
    package var newest: EventID

    package init(oldest: EventID?, newest: EventID) {
        self.oldest = oldest
        self.newest = newest
    }

    package var epoch: EventEpoch { newest.epoch }

    /// The position from which a stream with this cursor starts. A cursor just before the oldest event misses nothing.
    package func resume(from cursor: EventID?) -> ResumePosition {
        guard let cursor else { return .fresh(at: newest) }
        let first = oldest?.sequence ?? newest.sequence + 1
        guard cursor.epoch == newest.epoch, cursor.sequence <= newest.sequence, cursor.sequence >= first - 1 else {
            return .reset(oldest: oldest, newest: newest)
        }
        return .recovered(after: cursor)
    }
}
