import JSONBytes

/// What a recording shows of one run.
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
    /// Cumulative text by time.
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
        case ("agent", "lifecycle", _), ("agent", "error", _): return nil
        case ("agent", _, _), ("session.tool", _, _): return .worked
        default: return nil
        }
    }

    /// The chat events that end the run, with an empty `final` too.
    var ends: [TimedMark] {
        marks.filter {
            switch $0.mark {
            case .final, .aborted, .failed: true
            default: false
            }
        }
    }

    var finalText: String? {
        for mark in marks.reversed() {
            if case .final(let text?) = mark.mark { return text }
        }
        return nil
    }

    /// Whether it goes on after a time, in the process that runs then: an event of its work follows, and no end stood before.
    func goesOn(after time: Int64, process: Int) -> Mark? {
        for mark in ends where mark.time <= time && mark.process == process {
            switch mark.mark {
            // An error that is retried is no end; an empty final means that the message waits.
            case .failed, .final(nil): continue
            default: return nil
            }
        }
        return marks.first { mark in
            guard mark.time > time, mark.process == process else { return false }
            switch mark.mark {
            case .began, .worked, .final(.some): return true
            default: return false
            }
        }?.mark
    }
}
