import JSONBytes

/// The recorded frames of one run.
struct RecordedRun: Sendable {
    enum Mark: Sendable {
        /// A lifecycle start.
        case began(startedAt: Int64?)
        /// Text, thinking or a tool.
        case worked
        case lifecycleEnded, lifecycleFailed
        /// The chat event that ends it; nil without a message.
        case final(String?)
        case aborted(String?)
        case failed(String)
    }

    struct TimedMark: Sendable {
        let time: Int64
        let process: Int
        let mark: Mark
    }

    let id: String
    let session: String
    private(set) var marks: [TimedMark] = []
    /// The cumulative text by time.
    private(set) var texts: [(time: Int64, text: String)] = []

    init(id: String, session: String) {
        self.id = id
        self.session = session
    }

    mutating func note(_ event: String, _ payload: JSONValue, at time: Int64, process: Int) {
        guard let mark = mark(event, payload, at: time) else { return }
        marks.append(TimedMark(time: time, process: process, mark: mark))
    }

    private mutating func mark(_ event: String, _ payload: JSONValue, at time: Int64) -> Mark? {
        let text = payload["message"].map { RecordedRow.text(of: $0) }
        switch (event, payload["state"]?.string) {
        case ("chat", "delta"):
            if let text { texts.append((time, text)) }
            return .worked
        // The gateway's own words in place of an answer.
        case ("chat", "final") where text?.hasPrefix("⚠️ Agent failed before reply") == true: return .failed(text ?? "")
        // Behind a stop the gateway says the answer before once more.
        case ("chat", "final") where wasStopped: return nil
        case ("chat", "final"): return .final(text)
        case ("chat", "aborted"): return .aborted(text)
        case ("chat", "error"): return .failed(payload["errorMessage"]?.string ?? "")
        default: break
        }
        let data = payload["data"]
        switch (event, payload["stream"]?.string, data?["phase"]?.string) {
        case ("agent", "lifecycle", "start"): return .began(startedAt: data?["startedAt"]?.int)
        case ("agent", "lifecycle", "end"): return .lifecycleEnded
        case ("agent", "lifecycle", "error"): return .lifecycleFailed
        // A compaction may follow an error that ends the run.
        case ("agent", "lifecycle", _), ("agent", "error", _), ("agent", "compaction", _): return nil
        case ("agent", _, _), ("session.tool", _, _): return .worked
        default: return nil
        }
    }

    private var wasStopped: Bool { marks.contains { if case .aborted = $0.mark { true } else { false } } }

    /// The chat events that end the run, including an empty `final`.
    var ends: [TimedMark] {
        marks.filter {
            switch $0.mark {
            case .final, .aborted, .failed: true
            default: false
            }
        }
    }

    /// The times of its starts, in milliseconds since 1970.
    var starts: [Int64] {
        marks.compactMap { mark in
            if case .began(let startedAt) = mark.mark { startedAt } else { nil }
        }
    }

    /// Gateways delay the report of a failure by this time, because the run may be retried.
    private static let retryMilliseconds: Int64 = 15_000

    /// The last report that the run is over; nil if it was retried since.
    func lastState(at time: Int64, in process: Int) -> TimedMark? {
        let last = marks.last { mark in
            guard mark.time <= time, mark.process == process else { return false }
            switch mark.mark {
            case .began, .final(.some), .aborted, .lifecycleEnded, .lifecycleFailed, .failed: return true
            case .worked, .final(nil): return false
            }
        }
        guard let last else { return nil }
        switch last.mark {
        case .began: return nil
        case .failed where time - last.time < Self.retryMilliseconds: return nil
        case .lifecycleFailed where time - last.time < Self.retryMilliseconds: return nil
        case .lifecycleFailed: return TimedMark(time: last.time, process: last.process, mark: .failed(""))
        default: return last
        }
    }

    /// The next event of the run's work after a time, unless the run ended before.
    /// - Parameter process: the process to search; nil for all.
    func goesOn(after time: Int64, process: Int?) -> TimedMark? {
        let marks = marks.filter { process == nil || $0.process == process }
        for mark in marks where mark.time <= time {
            switch mark.mark {
            // An error that is retried is not an end; an empty final means that the message waits.
            case .final(.some), .aborted: return nil
            default: continue
            }
        }
        return marks.first { mark in
            guard mark.time > time else { return false }
            switch mark.mark {
            case .began, .worked, .final(.some): return true
            default: return false
            }
        }
    }

    func isAnswered(at time: Int64) -> Bool {
        ends.contains { mark in
            if case .final(.some) = mark.mark { mark.time <= time } else { false }
        }
    }
}
