import Basics
import Gateway
import JSONBytes
import Labels

/// All facts about one step. The step shown is computed from them, so that the order of the facts does not matter.
struct StepRecord: Sendable {
    /// The times of one source. A start is only compared with the end from the same source.
    struct Times: Sendable, Equatable {
        var start: Timestamp?
        var end: Timestamp?

        mutating func started(_ time: Timestamp) { start = start.map { min($0, time) } ?? time }
        mutating func ended(_ time: Timestamp) { end = end.map { max($0, time) } ?? time }

        /// Nil for less than a millisecond, which the clock does not measure.
        var duration: Int64? {
            guard let start, let end, end > start else { return nil }
            return end.milliseconds - start.milliseconds
        }
    }

    enum Approval: Sendable, Equatable {
        case requested, allowed, denied
        /// The approval has ended, and nothing shows how.
        case ended
    }

    let key: String
    let sequence: Int
    let kind: Step.Kind
    var tool: String?
    var toolCallID: String?
    var label: ActivityLabel
    var hasArguments = false
    /// Hash of the call's command, to find the call that an approval is about.
    var command: UInt64?
    var firstSeen: Timestamp
    /// The lowest number of an agent event about the step.
    var firstEvent: Int64?
    var live = Times()
    var item = Times()
    var rows = Times()
    var outcome: ToolOutcome?
    var itemFailed: Bool?
    var approvalID: String?
    var approval: Approval?
    /// Handle of a command that continues in the background.
    var process: String?
    var processEnd: Timestamp?
    var isHidden = false
    /// The step's try of the run is over, and another try follows.
    var isAbandoned = false
    /// The call is over, and only the transcript has its result.
    var awaitsRow = false
    /// A thought that may still grow.
    var isOpenThought = false
    /// The step as it was published last.
    var published: Step?

    init(key: String, sequence: Int, kind: Step.Kind, label: ActivityLabel, firstSeen: Timestamp) {
        self.key = key
        self.sequence = sequence
        self.kind = kind
        self.label = label
        self.firstSeen = firstSeen
    }

    /// A step that an earlier process of Ladle published while it was open.
    init(resuming step: Step, key: String) {
        let label = ActivityLabel(resuming: step.label, step.category, detail: step.detail)
        self.init(key: key, sequence: step.sequence, kind: step.kind, label: label, firstSeen: step.startedAt)
        tool = step.tool
        toolCallID = step.toolCallID
        isOpenThought = step.kind == .thinking
        approvalID = step.approvalID
        if step.state == .waiting { approval = .requested }
        published = step
    }

    /// Facts add up: a failure is never taken back, and a value reported once stays.
    mutating func take(_ new: ToolOutcome) {
        guard var known = outcome else {
            outcome = new
            return
        }
        known.durationMilliseconds = known.durationMilliseconds ?? new.durationMilliseconds
        known.exitCode = known.exitCode ?? new.exitCode
        known.approvalID = known.approvalID ?? new.approvalID
        known.error = [known.error, new.error].compactMap(\.self).min()
        known.state = Self.rank(new.state) > Self.rank(known.state) ? new.state : known.state
        outcome = known
    }

    private static func rank(_ state: ToolOutcome.State) -> Int {
        switch state {
        case .done: 0
        case .running: 1
        case .waiting: 2
        case .failed: 3
        }
    }

    /// The step, for a run in state `run` that ended at `end`.
    func step(runID: String, run: Run.State, end: Timestamp?) -> Step {
        let state = self.state(run)
        let closedByRun = ownState.isOpen && !state.isOpen
        let duration = state == .done || state == .failed ? self.duration(closedByRun) : nil
        let isApproval = kind == .approval || state == .waiting
        return Step(
            id: "\(runID):\(key)",
            runID: runID,
            sequence: sequence,
            kind: state == .waiting ? .approval : kind,
            tool: tool,
            toolCallID: toolCallID,
            category: isApproval ? .approval : label.category,
            label: text(state, duration: duration),
            detail: detail(state),
            approvalID: state == .waiting ? approvalID ?? outcome?.approvalID : nil,
            state: state,
            startedAt: live.start ?? item.start ?? rows.start ?? firstSeen,
            endedAt: state.isOpen ? nil : processEnd ?? live.end ?? item.end ?? rows.end ?? (closedByRun ? end : nil),
            durationMilliseconds: duration,
            exitCode: state.isOpen ? nil : outcome?.exitCode,
            error: state == .failed ? outcome?.error : nil
        )
    }

    /// The state without regard to the run's end.
    private var ownState: Step.State {
        if kind == .error { return .failed }
        if kind == .thinking { return isOpenThought ? .running : .done }
        // A call with an exit code ran, so it was allowed, even if Ladle missed the decision.
        if approval == .requested, outcome?.exitCode == nil { return .waiting }
        if approval == .denied, outcome == nil || outcome?.state == .waiting || kind == .approval { return .failed }
        if kind == .approval { return .done }
        if let outcome {
            switch outcome.state {
            case .failed: return .failed
            case .waiting: return approval == nil ? .waiting : .done
            case .running: return processEnd == nil ? .running : .done
            case .done: return itemFailed == true ? .failed : .done
            }
        }
        if let itemFailed { return itemFailed ? .failed : .done }
        return (live.end != nil && !awaitsRow) || rows.end != nil ? .done : .running
    }

    func state(_ run: Run.State) -> Step.State {
        let own = ownState
        guard own.isOpen else { return own }
        if isAbandoned { return .cancelled }
        if kind == .thinking { return run.isActive ? own : .done }
        switch run {
        case .queued, .running: return own
        case .completed: return .done
        case .failed: return .failed
        case .aborted: return .cancelled
        }
    }

    /// The duration that the tool reported, else the time between the two events, else between the two rows.
    private func duration(_ closedByRun: Bool) -> Int64? {
        guard !closedByRun else { return nil }
        if let processEnd, let start = live.start ?? rows.start, processEnd > start {
            return processEnd.milliseconds - start.milliseconds
        }
        return outcome?.durationMilliseconds ?? live.duration ?? item.duration ?? rows.duration
    }

    private func text(_ state: Step.State, duration: Int64?) -> String {
        switch kind {
        case .thinking:
            return state == .running ? ThinkingLabel.running(label.active) : ThinkingLabel.done(label.active)
        case .error: return label.active
        case .approval where !state.isOpen: return question
        case .tool where !state.isOpen && isUndecided: return question
        case .notice where state != .running: return PastTense.of(label.active)
        default: break
        }
        switch state {
        case .running: return outcome?.state == .running ? label.inBackground : label.running
        case .waiting: return label.waitingForApproval
        case .done:
            // Chowder's label for a result without its call is the tool's name.
            if label.table == .chowder, !hasArguments, rows.start == nil, live.start == nil {
                let time = duration.map { " (\($0)ms)" } ?? ""
                return "\(tool ?? "Tool") completed\(time)"
            }
            return label.done(milliseconds: duration)
        case .failed: return label.failed(exitCode: outcome?.exitCode, milliseconds: duration)
        case .cancelled: return label.cancelled
        }
    }

    /// The call asked for an approval, and nothing shows that it ran.
    private var isUndecided: Bool {
        switch approval {
        case .allowed, .denied: false
        case .requested: outcome?.exitCode == nil
        case .ended: outcome == nil || outcome?.state == .waiting
        case nil: outcome?.state == .waiting
        }
    }

    private var question: String {
        switch approval {
        case .allowed: "Approved: \(label.active)"
        case .denied: "Denied: \(label.active)"
        case .requested, .ended, nil: "Asked for approval: \(label.active)"
        }
    }

    /// The detail of a waiting step says how to answer it.
    private func detail(_ state: Step.State) -> String? {
        guard state == .waiting, let id = approvalID ?? outcome?.approvalID else { return label.detail }
        let answer = "answer with: POST /v1/approvals/\(id), or say: /approve \(id) allow-once (or deny)"
        return label.detail.map { "\($0)\n\(answer)" } ?? answer
    }
}

/// How a tool call ended, read from its result: whether it failed, its exit code and its duration.
struct ToolOutcome: Sendable, Equatable {
    enum State: Int, Sendable {
        case running, waiting, done, failed
    }

    var state: State = .done
    var durationMilliseconds: Int64?
    var exitCode: Int64?
    var error: String?
    var approvalID: String?

    init(isError: Bool, result: ToolResult?) {
        let text = result?.text ?? ""
        durationMilliseconds = result?.durationMs
        exitCode = result?.exitCode ?? Self.exitCode(in: text)
        approvalID = result?.approvalId
        switch result?.status {
        case "running", "backgrounded": state = .running
        case "approval-pending": state = .waiting
        default: break
        }
        let object = ToolResult.error(inObject: text)
        let failed =
            isError || (exitCode ?? 0) != 0
            || ["error", "failed", "timeout", "approval-unavailable"].contains(result?.status)
            || text.trimmingBlanks().lowercased() == "tool not found" || object != nil
        if failed {
            state = .failed
            error = Self.shown(result?.error ?? object ?? text)
        }
    }

    private static let exitMark = "(Command exited with code "

    /// The exit code in the last line of the exec tool's output.
    private static func exitCode(in text: String) -> Int64? {
        let tail = text.trimmingBlanks().suffix(64)
        guard tail.hasSuffix(")"), let mark = tail.rangeOfText(exitMark) else { return nil }
        return Int64(tail[mark.upperBound...].dropLast())
    }

    /// The text as one line, without secrets and without the exit code; nil if nothing is left.
    static func shown(_ text: String) -> String? {
        var rest = text.trimmingBlanks()
        if let mark = rest.rangeOfText(exitMark), rest.hasSuffix(")") {
            rest = rest[..<mark.lowerBound].trimmingBlanks()
        }
        let line = SecretMask.text(LabelText.collapsed(rest.cut(to: 4 * resultLimit))).cut(to: resultLimit)
        return line.isEmpty ? nil : line
    }

    private static let resultLimit = 220
}
