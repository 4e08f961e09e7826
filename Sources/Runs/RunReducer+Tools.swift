import Basics
import JSONBytes
import Labels

/// Tool calls: events of the call itself, and the ready-made items of newer gateways, which join its step.
extension RunReducer {
    mutating func tool(_ data: JSONValue, at time: Timestamp) {
        guard let phase = data["phase"] else { return }
        sawToolEvents = true
        began(at: time)
        closeThought()
        let name = (data["name"] ?? data["toolName"] ?? data["tool"])?.string ?? "tool"
        let arguments = data["args"] ?? data["params"] ?? data["input"]
        let isResult = phase.equals("result") || phase.equals("end")
        guard
            let place = toolPlace(
                id: HistoryBlock.identifier(data["toolCallId"]),
                name: name,
                opens: phase.equals("start"),
                at: time
            )
        else { return }
        if let arguments { learn(name, arguments, place) }
        if phase.equals("start") {
            records[place].live.started(time)
        } else if isResult {
            records[place].live.ended(time)
            let isError = data["isError"]?.bool ?? false
            // A command's exit code is no error of the tool.
            if isQuiet, data["result"] == nil, !isError, ToolLabels.isShell(name.lowercased()) {
                records[place].awaitsRow = true
            } else {
                take(ToolOutcome(isError: isError, result: data["result"]), data["result"], place, at: time)
            }
        }
    }

    /// One step a call. Calls without an id are told apart by their order.
    mutating func toolPlace(id: String?, name: String, opens: Bool, at time: Timestamp) -> Int? {
        var key = id ?? ""
        if id == nil {
            let open = records.lastIndex {
                $0.toolCallID == nil && $0.tool == name && $0.kind == .tool && $0.outcome == nil && $0.live.end == nil
            }
            if !opens, let open {
                touch(open)
                return open
            }
            key = "\(name)#\(records.count)"
        }
        let table = labels
        let found = place(key, kind: .tool, at: time) { LabelRequest(tool: name, arguments: nil).label(table) }
        guard let place = found else { return nil }
        records[place].toolCallID = id
        if records[place].tool == nil || records[place].tool == "tool" {
            records[place].tool = name.cut(toBytes: ActivityLimits.identifierBytes)
        }
        return place
    }

    /// The arguments name the step, once.
    mutating func learn(_ name: String, _ arguments: JSONValue, _ place: Int) {
        guard !records[place].hasArguments, arguments.kind == .string || arguments.count > 0 else { return }
        let request = LabelRequest(tool: name, arguments: arguments)
        records[place].hasArguments = true
        records[place].label = request.label(labels)
        records[place].command = request.arguments.command.map { Fingerprint.of($0.utf8) }
        if name.lowercased() == "process" { records[place].process = request.arguments.text("sessionId") }
    }

    mutating func take(_ outcome: ToolOutcome, _ result: JSONValue?, _ place: Int, at time: Timestamp) {
        records[place].take(outcome)
        let details = result?["details"]
        if outcome.state == .running {
            records[place].process = HistoryBlock.identifier(details?["sessionId"]) ?? records[place].process
        } else if records[place].tool?.lowercased() == "process", let handle = records[place].process {
            // The tool that looks after background commands tells that one has ended.
            let isOver = details?["status"]?.string.map { $0 != "running" } ?? (outcome.exitCode != nil)
            guard isOver else { return }
            for other in records.indices
            where records[other].process == handle && records[other].outcome?.state == .running {
                records[other].processEnd = time
                touch(other)
            }
        }
    }

    // MARK: items

    mutating func item(_ data: JSONValue, at time: Timestamp) {
        sawToolEvents = true
        began(at: time)
        let phase = data["phase"]
        let name = (data["name"] ?? data["toolName"])?.string
        let start = GatewayTime.read(data["startedAt"])
        let end = GatewayTime.read(data["endedAt"])
        let found: Int?
        if let id = HistoryBlock.identifier(data["toolCallId"]) {
            found = toolPlace(id: id, name: name ?? "tool", opens: true, at: start ?? time)
        } else if let id = HistoryBlock.identifier(data["itemId"]) {
            let title = SecretMask.text(LabelText.collapsed(data["title"]?.string ?? name ?? "Working"))
            found = place("item:\(id)", kind: .tool, at: start ?? time) { ActivityLabel(title, .generic) }
        } else {
            found = nil
        }
        guard let place = found else { return }
        for flag in ["hidden", "hide", "hideFromChat", "hideFromChannels"] where data[flag]?.bool == true {
            records[place].isHidden = true
        }
        if let meta = data["meta"]?.string, records[place].label.detail == nil {
            let line = meta.split(whereSeparator: \.isNewline).first ?? ""
            records[place].label.detail = SecretMask.text(String(line)).cut(to: LabelLimits.detailCharacters)
        }
        if let start { records[place].item.started(start) }
        if phase?.equals("end") ?? false {
            records[place].item.ended(end ?? time)
            let failed = data["status"].map { $0.equals("failed") || $0.equals("blocked") } ?? false
            records[place].itemFailed = failed || (records[place].itemFailed ?? false)
        }
    }

    mutating func commandOutput(_ data: JSONValue, at time: Timestamp) {
        guard data["phase"]?.equals("end") ?? false, let id = HistoryBlock.identifier(data["toolCallId"]) else {
            return
        }
        began(at: time)
        guard let place = toolPlace(id: id, name: data["name"]?.string ?? "exec", opens: true, at: time) else { return }
        var outcome = ToolOutcome(isError: data["status"]?.equals("failed") ?? false, result: data["output"])
        outcome.exitCode = data["exitCode"]?.int ?? outcome.exitCode
        outcome.durationMilliseconds = data["durationMs"]?.double.flatMap { $0 >= 0 && $0 < 1e12 ? Int64($0) : nil }
        if (outcome.exitCode ?? 0) != 0 { outcome.state = .failed }
        records[place].take(outcome)
    }
}
