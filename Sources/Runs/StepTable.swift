import Basics
import Gateway
import JSONBytes
import Labels

/// The steps of one run: tool calls, thoughts, approvals and notices. Events and transcript rows add facts in any order. If both
/// describe the same call, the call is one step.
struct StepTable: Sendable {
    private let runID: String
    private let labels: LabelTable
    private var records: [StepRecord] = []
    private var places: [String: Int] = [:]
    /// Places of records that changed since the last publication.
    private var changed: Set<Int> = []
    private(set) var thoughts = ThoughtTexts()
    /// The place of the thought that may still grow.
    private var openThought: Int?
    /// Sequence numbers that an earlier process of Ladle published, by step id. They are kept, because no number is used twice.
    private var earlierSequences: [String: Int] = [:]
    private var highestEarlierSequence = 0
    /// Number of the agent event that is being taken; nil for rows.
    private var eventSequence: Int64?
    /// The highest number of a terminal chat event. Events after it belong to another try.
    private(set) var terminalSequence: Int64?
    /// The gateway sends events of this run's tool calls.
    private(set) var sawToolEvents = false

    init(runID: String, labels: LabelTable) {
        self.runID = runID
        self.labels = labels
    }

    // MARK: Reading

    var isEmpty: Bool { records.isEmpty }
    /// The agent did something. An error alone may be the gateway's.
    var haveWork: Bool { records.contains { $0.kind != .error } }
    var count: Int { records.count }
    /// A call is over, and only the transcript has its result.
    var awaitsRows: Bool { records.contains { $0.awaitsRow && $0.outcome == nil } }

    func contains(call: String) -> Bool { places[call] != nil }
    func contains(approval id: String) -> Bool { records.contains { $0.approvalID == id } }

    /// The visible steps in the order in which they began.
    func steps(of run: Run.State, end: Timestamp?) -> [Step] {
        records.filter(isShown).map { $0.step(runID: runID, run: run, end: end) }.sorted {
            ($0.startedAt, $0.sequence) < ($1.startedAt, $1.sequence)
        }
    }

    /// The steps at these places. The order is that in which they became known.
    func steps(in range: Range<Int>, of run: Run.State, end: Timestamp?) -> [Step] {
        records[range].map { $0.step(runID: runID, run: run, end: end) }
    }

    /// Steps of a try after the run's end are hidden, even if their events came before the end.
    private func isShown(_ record: StepRecord) -> Bool {
        if record.isHidden { return false }
        guard let terminal = terminalSequence, terminal > 1, let first = record.firstEvent else { return true }
        return first <= terminal || record.rows.start != nil || record.rows.end != nil
    }

    // MARK: The run

    /// Takes steps that an earlier process of Ladle published. Open steps continue, and end with the run at the latest.
    mutating func resume(_ steps: [Step]) {
        earlierSequences = Dictionary(steps.map { ($0.id, $0.sequence) }) { first, _ in first }
        highestEarlierSequence = earlierSequences.values.max() ?? 0
        for step in steps where step.state.isOpen && step.id.hasPrefix("\(runID):") {
            let key = String(step.id.dropFirst(runID.count + 1))
            guard places[key] == nil, records.count < ActivityLimits.stepsPerRun else { continue }
            places[key] = records.count
            records.append(StepRecord(resuming: step, key: key))
        }
    }

    mutating func runEnded(sequence: Int64) {
        terminalSequence = max(terminalSequence ?? sequence, sequence)
    }

    /// Cancels the open steps, because their try of the run is over.
    mutating func abandonOpen() {
        for place in records.indices { records[place].isAbandoned = true }
        changed.formUnion(records.indices)
        (openThought, terminalSequence) = (nil, nil)
    }

    /// The run has ended, which closes all open steps.
    mutating func closeAll() { changed.formUnion(records.indices) }

    /// Adds a step for the run's failure.
    mutating func fail(_ error: String, at time: Timestamp) {
        guard let place = place("error", kind: .error, at: time, label: { ActivityLabel("", .generic) }) else { return }
        let text = SecretMask.text(LabelText.collapsed(error)).cut(to: ActivityLimits.errorCharacters)
        records[place].label = ActivityLabel("Stopped with an error: \(text)", .generic, detail: text)
        records[place].firstSeen = time
    }

    mutating func publish(of run: Run.State, end: Timestamp?, to changes: inout [RunChange]) {
        guard !changed.isEmpty else { return }
        for place in changed.sorted() where isShown(records[place]) {
            let step = records[place].step(runID: runID, run: run, end: end)
            guard records[place].published != step else { continue }
            records[place].published = step
            changes.append(.stepChanged(step))
        }
        changed.removeAll(keepingCapacity: true)
    }

    // MARK: Events and rows

    /// - Parameter resultsInRows: the gateway leaves the output of commands out of its events; the transcript has it.
    /// - Returns: whether the event is about a step, which shows that the run has begun.
    mutating func take(
        _ content: AgentEvent.Content,
        sequence: Int64,
        at time: Timestamp,
        resultsInRows: Bool
    ) -> Bool {
        eventSequence = sequence
        defer { eventSequence = nil }
        switch content {
        case .tool(let call):
            guard call.phase != nil else { return false }
            sawToolEvents = true
            closeThought()
            take(call, at: time, resultsInRows: resultsInRows)
        case .item(let item):
            sawToolEvents = true
            take(item, at: time)
        case .commandOutput(let output):
            guard output.isEnd, let call = output.toolCallId else { return false }
            take(output, of: call, at: time)
        case .approval(let approval):
            guard let id = approval.id else { return false }
            take(approval, id: id, at: time)
        case .lifecycle(let lifecycle):
            guard lifecycle.phase == .fallback else { return false }
            take(lifecycle.fallback, sequence: sequence, at: time)
        case .thinking(let thought): take(thought, sequence: sequence, at: time)
        case .compaction(let isStart): takeCompaction(isStart: isStart, at: time)
        case .fallback(let fallback): take(fallback, sequence: sequence, at: time)
        case .assistant:
            closeThought()
            return false
        case .framesLost, .other: return false
        }
        return true
    }

    /// The thoughts, calls and results of a row.
    /// - Parameter seen: stands in for the row's missing time.
    mutating func take(_ row: TranscriptRow, seen: Timestamp) {
        switch row.role {
        case .assistant:
            for (number, block) in row.blocks.enumerated() { take(block, number: number, at: row.time, seen: seen) }
        case .toolResult:
            take(resultOf: row.toolCallId, row.toolName, row.isError, row.toolResult, at: row.time, seen: seen)
        case .user, .system, .other: break
        }
    }

    private mutating func take(_ block: TranscriptBlock, number: Int, at time: Timestamp?, seen: Timestamp) {
        switch block {
        case .thinking(let text, let summary, let signature):
            take(thought: text, summary: summary, signature: signature, number: number, at: time ?? seen)
        case .toolCall(let id, let name, let arguments):
            take(call: id, name: name, arguments: arguments, at: time ?? seen)
        case .toolResult(let id, let name, let isError, let result):
            take(resultOf: id, name, isError, result, at: time, seen: seen)
        case .text, .attachment: break
        }
    }

    // MARK: Tool calls

    private mutating func take(_ call: AgentEvent.ToolCall, at time: Timestamp, resultsInRows: Bool) {
        let name = call.name
        guard let place = toolPlace(id: call.id, name: name, opens: call.phase == .start, at: time) else { return }
        if let arguments = call.arguments { learn(name, arguments, place) }
        switch call.phase {
        case .start: records[place].live.started(time)
        case .result:
            records[place].live.ended(time)
            let result = call.result
            // A command with an exit code is no error for the tool, so the event alone does not show whether the command succeeded.
            if resultsInRows, result == nil, !call.isError, ToolLabels.isShell(name.lowercased()) {
                records[place].awaitsRow = true
            } else {
                take(ToolOutcome(isError: call.isError, result: result), result, place, at: time)
            }
        case .other, nil: break
        }
    }

    private mutating func take(_ item: AgentEvent.Item, at time: Timestamp) {
        let start = item.startedAt
        let found: Int?
        if let id = item.toolCallId {
            found = toolPlace(id: id, name: item.name ?? "tool", opens: true, at: start ?? time)
        } else if let id = item.itemId {
            let title = SecretMask.text(LabelText.collapsed(item.title ?? item.name ?? "Working"))
            found = place("item:\(id)", kind: .tool, at: start ?? time) { ActivityLabel(title, .generic) }
        } else {
            found = nil
        }
        guard let place = found else { return }
        if item.isHidden { records[place].isHidden = true }
        if let meta = item.meta, records[place].label.detail == nil {
            let line = meta.split(whereSeparator: \.isNewline).first ?? ""
            records[place].label.detail = SecretMask.text(String(line)).cut(to: LabelLimits.detailCharacters)
        }
        if let start { records[place].item.started(start) }
        if item.isEnd {
            records[place].item.ended(item.endedAt ?? time)
            records[place].itemFailed = item.isFailed || (records[place].itemFailed ?? false)
        }
    }

    private mutating func take(_ output: AgentEvent.CommandOutput, of call: String, at time: Timestamp) {
        guard let place = toolPlace(id: call, name: output.name ?? "exec", opens: true, at: time) else { return }
        var outcome = ToolOutcome(isError: output.isFailed, result: output.output)
        outcome.exitCode = output.exitCode ?? outcome.exitCode
        outcome.durationMilliseconds = output.durationMs
        if (outcome.exitCode ?? 0) != 0 { outcome.state = .failed }
        records[place].take(outcome)
    }

    /// Takes a call from the transcript.
    private mutating func take(call id: String?, name: String, arguments: JSONValue?, at time: Timestamp) {
        guard let place = toolPlace(id: id, name: name, opens: true, at: time) else { return }
        records[place].rows.started(time)
        if let arguments { learn(name, arguments, place) }
    }

    /// Takes a result from the transcript.
    private mutating func take(
        resultOf id: String?,
        _ name: String?,
        _ isError: Bool,
        _ result: ToolResult,
        at time: Timestamp?,
        seen: Timestamp
    ) {
        guard let id, let place = toolPlace(id: id, name: name ?? "tool", opens: true, at: time ?? seen) else { return }
        if let time { records[place].rows.ended(time) }
        take(ToolOutcome(isError: isError, result: result), result, place, at: time ?? seen)
    }

    /// The place of a call's step. Calls without an id are distinguished by their order.
    private mutating func toolPlace(id: String?, name: String, opens: Bool, at time: Timestamp) -> Int? {
        var key = id ?? ""
        if id == nil {
            let open = records.lastIndex {
                $0.toolCallID == nil && $0.tool == name && $0.kind == .tool && $0.outcome == nil && $0.live.end == nil
            }
            if !opens, let open {
                changed.insert(open)
                return open
            }
            key = "\(name)#\(records.count)"
        }
        let table = labels
        let found = place(key, kind: .tool, at: time) { LabelRequest(tool: name, arguments: nil).label(table) }
        guard let place = found else { return nil }
        records[place].toolCallID = id
        if records[place].tool == nil || records[place].tool == "tool" {
            records[place].tool = name.cut(toBytes: GatewayLimits.identifierBytes)
        }
        return place
    }

    /// The first arguments of a call decide its label.
    private mutating func learn(_ name: String, _ arguments: JSONValue, _ place: Int) {
        guard !records[place].hasArguments, arguments.kind == .string || arguments.count > 0 else { return }
        let request = LabelRequest(tool: name, arguments: arguments)
        records[place].hasArguments = true
        records[place].label = request.label(labels)
        records[place].command = request.arguments.command.map { FNV1a.hash($0.utf8) }
        if name.lowercased() == "process" { records[place].process = request.arguments.text("sessionId") }
    }

    private mutating func take(_ outcome: ToolOutcome, _ result: ToolResult?, _ place: Int, at time: Timestamp) {
        records[place].take(outcome)
        if outcome.state == .running {
            records[place].process = result?.processId ?? records[place].process
        } else if records[place].tool?.lowercased() == "process", let handle = records[place].process {
            // The tool `process` watches background commands. It may report that one has ended.
            let isOver = result?.status.map { $0 != "running" } ?? (outcome.exitCode != nil)
            guard isOver else { return }
            for other in records.indices
            where records[other].process == handle && records[other].outcome?.state == .running {
                records[other].processEnd = time
                changed.insert(other)
            }
        }
    }

    // MARK: Approvals

    /// The call that an approval is about becomes a waiting step. If the call is not known, the approval is a step of its own.
    mutating func takeApproval(
        id: String,
        _ request: ApprovalRequest?,
        decision: ApprovalEvent.Decision?,
        at time: Timestamp
    ) {
        let command = request?.command.map { FNV1a.hash($0.utf8) }
        let known = records.firstIndex { $0.approvalID == id }
        let call = records.lastIndex { record in
            record.kind == .tool && record.command != nil && record.command == command && record.approvalID == nil
        }
        guard let place = known ?? call ?? approvalPlace(id, request, at: time) else { return }
        changed.insert(place)
        records[place].approvalID = id
        switch decision {
        case nil: if records[place].approval == nil { records[place].approval = .requested }
        case .deny: records[place].approval = .denied
        case .allow: records[place].approval = .allowed
        case .unknown: if records[place].approval != .allowed, records[place].approval != .denied { end(place) }
        }
    }

    private mutating func end(_ place: Int) { records[place].approval = .ended }

    private mutating func approvalPlace(_ id: String, _ request: ApprovalRequest?, at time: Timestamp) -> Int? {
        let label = LabelRequest(tool: "exec", arguments: request?.arguments).label(labels)
        guard let place = place("approval:\(id)", kind: .approval, at: time, label: { label }) else { return nil }
        records[place].tool = "exec"
        records[place].live.started(time)
        return place
    }

    private mutating func take(_ approval: AgentEvent.Approval, id: String, at time: Timestamp) {
        if let call = approval.toolCallId,
            let place = toolPlace(id: call, name: approval.name ?? "exec", opens: true, at: time)
        {
            records[place].approvalID = id
        }
        takeApproval(id: id, approval.request, decision: approval.decision, at: time)
    }

    // MARK: Notices

    private mutating func take(_ fallback: AgentEvent.Fallback, sequence: Int64, at time: Timestamp) {
        guard let model = fallback.model else { return }
        let label = ActivityLabel("Switching to \(SecretMask.name(LabelText.collapsed(model)))", .generic)
        guard let place = place("fallback:\(sequence)", kind: .notice, at: time, label: { label }) else { return }
        let reason = fallback.reason.map { SecretMask.text($0).cut(to: LabelLimits.detailCharacters) }
        records[place].label.detail = reason
        records[place].live.ended(time)
    }

    private mutating func takeCompaction(isStart: Bool, at time: Timestamp) {
        let label = ActivityLabel("Compacting the conversation", .memory)
        guard let place = place("compaction", kind: .notice, at: time, label: { label }) else { return }
        if isStart { records[place].live.started(time) } else { records[place].live.ended(time) }
    }

    // MARK: Thoughts

    private mutating func take(_ thought: AgentEvent.Text, sequence: Int64, at time: Timestamp) {
        guard let (number, text) = thoughts.take(thought, sequence: sequence), let line = ThinkingLabel.text(of: text),
            let place = thoughtPlace("thought:\(number)", line, text, at: time)
        else { return }
        records[place].live.started(time)
        records[place].live.ended(time)
        records[place].isOpenThought = true
        openThought = place
    }

    /// Ends the open thought, because the agent speaks or acts.
    private mutating func closeThought() {
        guard let place = openThought else { return }
        openThought = nil
        records[place].isOpenThought = false
        changed.insert(place)
    }

    /// Takes a thought from the transcript. Its signature identifies it, else the row's time, the block's number and the words.
    private mutating func take(
        thought text: String,
        summary: String?,
        signature: String?,
        number: Int,
        at time: Timestamp
    ) {
        guard let line = ThinkingLabel.text(of: summary ?? text) else { return }
        let key = signature ?? "\(time.milliseconds):\(number):\(FNV1a.name(line.utf8).prefix(12))"
        guard thoughts.take(row: text, key: key), let place = thoughtPlace("thinking:\(key)", line, text, at: time)
        else { return }
        records[place].rows.started(time)
    }

    private mutating func thoughtPlace(_ key: String, _ line: String, _ text: String, at time: Timestamp) -> Int? {
        let place = place(key, kind: .thinking, at: time) { ActivityLabel(line, .thinking) }
        guard let place else { return nil }
        records[place].label.active = line
        records[place].label.detail = SecretMask.text(text.trimmingBlanks().cut(to: ActivityLimits.thinkingCharacters))
        return place
    }

    // MARK: Records

    /// The place of the step with this key, which is added if it is new; nil if the run has too many steps.
    private mutating func place(_ key: String, kind: Step.Kind, at time: Timestamp, label: () -> ActivityLabel) -> Int?
    {
        if let known = places[key] {
            changed.insert(known)
            records[known].firstSeen = min(records[known].firstSeen, time)
            if let eventSequence {
                records[known].firstEvent = min(records[known].firstEvent ?? eventSequence, eventSequence)
            }
            return known
        }
        guard records.count < ActivityLimits.stepsPerRun else { return nil }
        let place = records.count
        let sequence = earlierSequences["\(runID):\(key)"] ?? highestEarlierSequence + place + 1
        var record = StepRecord(key: key, sequence: sequence, kind: kind, label: label(), firstSeen: time)
        record.firstEvent = eventSequence
        records.append(record)
        places[key] = place
        changed.insert(place)
        return place
    }
}
