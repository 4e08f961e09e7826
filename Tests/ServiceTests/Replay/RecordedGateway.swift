import Basics
import Gateway
import JSONBytes
import Upstream

/// Answers calls as the recorded gateway would have at that time, from the recording alone.
final class RecordedGateway {
    /// A `chat.send` of Ladle.
    struct Dispatch: Sendable {
        let message: Int
        let key: String
        let time: Int64
        let process: Int
        /// Whether the gateway ran it, for the first time or again.
        let runs: Bool
    }

    /// The time for which a starting gateway refuses some calls.
    private static let startMilliseconds: Int64 = 1500
    /// An answer that took longer was delayed by the gateway's start.
    private static let slowMilliseconds: Int64 = 2000

    let recording: GatewayRecording
    /// Ladle's key of each message, once it was sent.
    private(set) var keys: [String?]
    private(set) var dispatches: [Dispatch] = []
    /// The entry of each message.
    var entries: [String?]
    /// The message whose first sending the recording has reached.
    var awaited: Int?
    /// Messages that were sent and are not answered yet.
    private(set) var unanswered: [Int: CallID] = [:]
    private(set) var calls: [ReplayAccount.Call] = []
    /// Messages sent by Ladle whose outcome the recording cannot show.
    private(set) var strayed: Set<Int> = []
    var timeline = ReplayTimeline()
    /// The clock's time when the current connection opened.
    var openedAt: Int64 = 0
    var clock: () -> Int64 = { 0 }

    init(_ recording: GatewayRecording) {
        self.recording = recording
        keys = Array(repeating: nil, count: recording.messages.count)
        entries = keys
    }

    var now: Int64 { timeline.world(at: clock()) }
    var process: Int { recording.process(at: now) }

    func filled(_ template: FrameTemplate) -> [UInt8] {
        template.filled(
            key: { keys[$0] ?? recording.messages[$0].key },
            time: { recording.epoch + timeline.clock(at: $0) }
        )
    }

    private func filled(_ template: FrameTemplate?) -> JSONValue? {
        template.flatMap { try? JSONDocument(parsing: filled($0), limits: .gateway).root }
    }

    func message(ofKey key: String) -> Int? {
        let entry = String(key.prefix(36))
        return entries.firstIndex { $0 == entry }
    }

    /// The recording's acknowledgement of a message's first sending.
    func acknowledge(_ message: Int) -> (call: CallID, outcome: CallOutcome)? {
        guard let call = unanswered.removeValue(forKey: message) else { return nil }
        let recorded = recording.calls.first { $0.method == "chat.send" && $0.message == message }
        return recorded.map { (call, outcome($0)) }
    }

    // MARK: Answers

    func reply(to request: ScriptedGateway.Request) -> ScriptedGateway.Reply? {
        let params = String(decoding: request.params.raw, as: UTF8.self)
        calls.append(ReplayAccount.Call(time: now, method: request.method, params: params))
        if request.method == "chat.send" { return send(request) }
        guard let outcome = answer(request) else { return nil }
        // A gateway that starts answers nothing for a while.
        let held = recording.calls.first {
            $0.process == process && $0.asked <= now && now < $0.answered
                && $0.answered - $0.asked > Self.slowMilliseconds && $0.method != "agent.wait" && !isReset($0)
        }
        if let held, !timeline.stands { return .after(milliseconds: held.answered - now, outcome) }
        return .now(outcome)
    }

    private func isReset(_ call: GatewayRecording.Call) -> Bool { call.method == "sessions.reset" }

    private func answer(_ request: ScriptedGateway.Request) -> CallOutcome? {
        if let refusal = refusal(request.method) { return refusal }
        switch request.method {
        case "chat.history":
            let isLong = request.params["maxChars"] != nil
            if isLong, recording.release == .v3 {
                return refused(
                    "INVALID_REQUEST",
                    "invalid chat.history params: at root: unexpected property 'maxChars'"
                )
            }
            return history(request["sessionKey"] ?? "", limit: request.params["limit"]?.int ?? 200, isLong: isLong)
        case "sessions.list":
            let sessions = Set(recording.messages.map(\.session)).sorted()
            return ok(#"{"sessions":[\#(sessions.compactMap { row($0) }.joined(separator: ","))]}"#)
        case "sessions.describe":
            guard recording.release == .v6 else { return unknown(request.method) }
            return ok(#"{"session":\#(row(request["key"] ?? "") ?? "null")}"#)
        case "agent.wait": return wait(request["runId"] ?? "")
        case "chat.message.get", "sessions.get":
            let recorded = recording.calls.last { $0.method == request.method && $0.answered <= now && $0.isOK }
            return recorded.map { outcome($0) } ?? unknown(request.method)
        case "chat.abort": return ok(#"{"ok":true,"aborted":false,"runIds":[]}"#)
        default: return nil
        }
    }

    private func unknown(_ method: String) -> CallOutcome { refused("INVALID_REQUEST", "unknown method: \(method)") }

    private func outcome(_ call: GatewayRecording.Call) -> CallOutcome {
        call.isOK ? .ok(filled(call.payload)) : .failed(GatewayError(filled(call.error)), payload: filled(call.payload))
    }

    private func refusal(_ method: String) -> CallOutcome? {
        guard clock() - openedAt < Self.startMilliseconds else { return nil }
        let calls = recording.calls.filter { $0.method == method && $0.process == process }
        guard let refusal = calls.first(where: { $0.value["error"]?["retryable"]?.bool ?? false }) else { return nil }
        if let success = calls.first(where: \.isOK), success.answered <= now { return nil }
        return outcome(refusal)
    }

    // MARK: Sending

    private func send(_ request: ScriptedGateway.Request) -> ScriptedGateway.Reply? {
        let key = request["idempotencyKey"] ?? ""
        if let awaited, entries[awaited] == nil, message(ofKey: key) == nil {
            entries[awaited] = String(key.prefix(36))
        }
        guard let message = message(ofKey: key) else { return nil }
        let earlier = dispatches.last { $0.message == message }
        let known = earlier != nil
        let isHere = dispatches.contains { $0.message == message && $0.process == process }
        let isFirst = awaited == message && !known
        dispatches.append(Dispatch(message: message, key: key, time: now, process: process, runs: isFirst || !isHere))
        keys[message] = key
        if isFirst {
            unanswered[message] = request.id
            return .later
        }
        if !known { strayed.insert(message) }
        if let earlier, earlier.key != key, earlier.process == process {
            strayed.insert(message)
            return .now(ok(#"{"runId":"\#(key)","status":"started"}"#))
        }
        if isHere { return .now(repeated(message)) }
        // Another process does not know the key and runs the message again.
        let rerun = recording.steps.first {
            if case .ranAgain(message) = $0.step { recording.process(at: $0.time) == process } else { false }
        }
        if rerun == nil { strayed.insert(message) }
        return .now(ok(#"{"runId":"\#(key)","status":"started"}"#))
    }

    /// The answer to a repeat in the process that has the message.
    private func repeated(_ message: Int) -> CallOutcome {
        let id = recording.messages[message].key
        let since = dispatches.last { $0.message == message && $0.process == process && $0.runs }?.time ?? 0
        let end = recording.runs[id]?.ends.first { $0.time >= since && $0.time <= now && $0.process == process }
        guard let end else { return ok(#"{"runId":"\#(keys[message] ?? "")","status":"in_flight"}"#) }
        let recorded = recording.calls.last {
            $0.method == "chat.send" && $0.message == message && $0.isRepeat && $0.process == process
                && $0.asked >= end.time
                && $0.asked <= now
        }
        if let recorded { return outcome(recorded) }
        let later = recording.calls.first {
            $0.method == "chat.send" && $0.message == message && $0.isRepeat && $0.process == process
                && $0.asked >= end.time
        }
        if let later { return outcome(later) }
        if recording.release == .v6, case .aborted = end.mark {
            return ok(#"{"runId":"\#(keys[message] ?? "")","status":"timeout","summary":"aborted"}"#)
        }
        if recording.release == .v6, case .failed(let text) = end.mark {
            let error = json(#"{"code":"UNAVAILABLE","message":\#(quoted(text))}"#)
            let payload = json(
                #"{"runId":"\#(keys[message] ?? "")","status":"error","summary":\#(quoted(text))}"#
            )
            return .failed(GatewayError(error), payload: payload)
        }
        return ok(#"{"runId":"\#(keys[message] ?? "")","status":"ok"}"#)
    }

    // MARK: Transcript and rows

    private func history(_ session: String, limit: Int64, isLong: Bool) -> CallOutcome {
        let time = now
        let rows = (recording.transcripts[session]?.order ?? []).map { recording.rows[$0] }.filter {
            $0.isThere(at: time)
        }
        let messages = rows.suffix(Int(limit)).map { row in
            let whole = isLong ? row.id.flatMap { recording.wholeRows[$0] } : nil
            return String(decoding: filled(whole ?? row.template), as: UTF8.self)
        }
        var members = [#""sessionKey":"\#(session)""#, #""messages":[\#(messages.joined(separator: ","))]"#]
        if let page = newestPage(session), let id = page.value["sessionId"]?.string {
            members.append(#""sessionId":"\#(id)""#)
        }
        if recording.release == .v6 {
            if let run = runInFlight(session) {
                members.append(#""inFlightRun":{"runId":"\#(shown(run.id))","text":\#(quoted(text(of: run)))}"#)
            }
            if let row = row(session) { members.append(#""sessionInfo":\#(row)"#) }
        }
        return ok("{\(members.joined(separator: ","))}")
    }

    private func newestPage(_ session: String) -> GatewayRecording.Call? {
        recording.calls.last { $0.method == "chat.history" && $0.session == session && $0.isOK && $0.answered <= now }
    }

    /// A run's id as Ladle knows it.
    private func shown(_ run: String) -> String {
        recording.messages.firstIndex { $0.key == run }.flatMap { keys[$0] } ?? run
    }

    private func text(of run: RecordedRun) -> String {
        let since = run.marks.last { mark in
            if case .began = mark.mark { mark.time <= now } else { false }
        }?.time
        return run.texts.last { $0.time <= now && $0.time >= since ?? 0 }?.text ?? ""
    }

    /// The newest start or end of a run in the session.
    private func newestTurn(_ session: String) -> (time: Int64, run: RecordedRun, isStart: Bool, failed: Bool)? {
        var newest: (time: Int64, run: RecordedRun, isStart: Bool, failed: Bool)?
        for run in recording.runs.values where run.session == session {
            for mark in run.marks where mark.time <= now && mark.process == process && mark.time >= newest?.time ?? 0 {
                switch mark.mark {
                case .began: newest = (mark.time, run, true, false)
                case .final(.some), .aborted, .lifecycleEnded: newest = (mark.time, run, false, false)
                case .failed, .lifecycleFailed: newest = (mark.time, run, false, true)
                case .worked, .final(nil): break
                }
            }
        }
        return newest
    }

    private func runInFlight(_ session: String) -> RecordedRun? {
        let turn = newestTurn(session)
        if let page = newestPage(session), page.process == process, page.answered >= turn?.time ?? 0 {
            return page.value["inFlightRun"]?["runId"]?.string.flatMap { recording.runs[$0] }
        }
        return turn.flatMap { $0.isStart ? $0.run : nil }
    }

    /// The session's row in `sessions.list`.
    private func row(_ session: String) -> String? {
        let listed = recording.calls.last { $0.method == "sessions.list" && $0.isOK && $0.answered <= now }
        let row = listed?.value["sessions"]?.elements.first { $0["key"]?.string == session }
        let turn = newestTurn(session)
        var members: [String] = [#""key":"\#(session)""#]
        for (name, value) in (row ?? json("{}")).members where name != "key" {
            if ["status", "hasActiveRun", "abortedLastRun"].contains(name) { continue }
            let template = FrameTemplate(value.raw, keys: [:], epoch: recording.epoch)
            members.append(#""\#(name)":\#(String(decoding: filled(template), as: UTF8.self))"#)
        }
        guard recording.release != .v3 else {
            return row == nil && turn == nil ? nil : "{\(members.joined(separator: ","))}"
        }
        guard row != nil || turn != nil else { return nil }
        var status = row?["status"]?.string
        var isActive = row?["hasActiveRun"]?.bool ?? false
        let isRowNewer = (listed?.answered ?? 0) >= turn?.time ?? 0
        if let turn, !isRowNewer {
            status = turn.isStart ? "running" : turn.failed ? "failed" : "done"
            isActive = turn.isStart
        } else if let listed, listed.process != process {
            isActive = false
        }
        if let status { members.append(#""status":"\#(status)""#) }
        if recording.release == .v6 { members.append(#""hasActiveRun":\#(isActive)"#) }
        members.append(#""abortedLastRun":\#(row?["abortedLastRun"]?.bool ?? false)"#)
        return "{\(members.joined(separator: ","))}"
    }

    private func wait(_ id: String) -> CallOutcome {
        let message = keys.firstIndex { $0 == id }
        let recorded = message.map { recording.messages[$0].key } ?? id
        let run = recording.runs[recorded]
        let end = run?.lastState(at: now, in: process)
        let answer = recording.calls.last {
            $0.method == "agent.wait" && $0.run == recorded && $0.answered <= now && $0.process == process
        }
        if let answer, answer.answered >= end?.time ?? 0 { return outcome(answer) }
        if case .failed(let text) = end?.mark {
            return ok(#"{"runId":"\#(id)","status":"error","error":\#(quoted(text))}"#)
        }
        let status = end == nil ? "timeout" : "ok"
        let more = end == nil && recording.release == .v6 ? #","timeoutPhase":"gateway_draining""# : ""
        return ok(#"{"runId":"\#(id)","status":"\#(status)"\#(more)}"#)
    }
}
