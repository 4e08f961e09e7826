import Ledger

/// How far a run is published: not at all, up to its start, or with its end. Decides which change comes next.
struct RunPublication: Sendable {
    enum Next: Sendable, Equatable {
        case nothing
        /// The differences since the last call, with the start before them and the end after them if these are new.
        case differences(isStart: Bool, isEnd: Bool)
        /// The published end was wrong.
        case correction
    }

    /// The start was published, in this process of Ladle or in an earlier one.
    private(set) var isStartPublished = false
    private var end: (state: Run.State, over: Ending.Over?, isAgain: Bool)?
    /// The beginning is known from the database alone: an earlier process of Ladle followed the run, or nobody saw it.
    private(set) var isFromDisk = false
    /// The run's end is known from the database, but the gateway may still go on with the run.
    private(set) var isEndFromDisk = false
    /// Something was published since the last call of `takeNews`.
    private var hasNews = false

    var isClosed: Bool { end != nil }

    mutating func follow(_ published: Run?, over: Ending.Over? = nil) {
        isFromDisk = true
        guard let published else { return }
        isStartPublished = true
        guard !published.state.isActive else { return }
        isEndFromDisk = true
        end = (published.state, over, published.executedAgain)
    }

    /// A queued run is published only if an earlier try of the same run was.
    /// - Parameter isAgain: the run began again what another had begun.
    mutating func next(_ state: Run.State, over: Ending.Over?, isAgain: Bool = false) -> Next {
        guard state != .queued || isStartPublished else { return .nothing }
        let isEnd = !state.isActive
        if let end {
            // A published end is corrected if the state has changed, or if a run that did not complete is over for another reason,
            // such as the run in which the gateway goes on with it; and if it turns out to have gone on with another one.
            let hasOtherReason = state != .completed && end.over != over
            guard isEnd, end.state != state || hasOtherReason || (isAgain && !end.isAgain) else { return .nothing }
            self.end = (state, over, isAgain)
            return .correction
        }
        if isEnd { end = (state, over, isAgain) }
        defer { isStartPublished = true }
        return .differences(isStart: !isStartPublished, isEnd: isEnd)
    }

    mutating func published() { hasNews = true }

    mutating func takeNews() -> Bool {
        defer { hasNews = false }
        return hasNews
    }
}
