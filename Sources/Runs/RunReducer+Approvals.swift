import Basics
import JSONBytes
import Labels

/// Approvals: a call that waits for a person is the same step, waiting.
extension RunReducer {
    /// `exec.approval.requested` and `.resolved`, by the call's command; a step of its own where no call is known.
    mutating func approval(id: String, request: JSONValue?, decision: String?, at time: Timestamp) {
        began(at: time)
        let command = request?["command"]?.string ?? request?["argv"]?[0]?.string
        let fingerprint = command.map { Fingerprint.of($0.utf8) }
        let known = records.firstIndex { $0.approvalID == id }
        let call = records.lastIndex { record in
            record.kind == .tool && record.command != nil && record.command == fingerprint && record.approvalID == nil
        }
        guard let place = known ?? call ?? approvalPlace(id, request, at: time) else { return }
        touch(place)
        records[place].approvalID = id
        switch decision {
        case nil: if records[place].approval == nil { records[place].approval = .requested }
        case "deny"?: records[place].approval = .denied
        default: records[place].approval = .allowed
        }
    }

    private mutating func approvalPlace(_ id: String, _ request: JSONValue?, at time: Timestamp) -> Int? {
        let label = LabelRequest(tool: "exec", arguments: request).label(labels)
        guard let place = place("approval:\(id)", kind: .approval, at: time, label: { label }) else { return nil }
        records[place].tool = "exec"
        records[place].live.started(time)
        return place
    }

    /// The newest gateways' own stream.
    mutating func approval(_ data: JSONValue, at time: Timestamp) {
        guard let id = HistoryBlock.identifier(data["approvalId"] ?? data["id"]) else { return }
        let status = (data["decision"] ?? data["status"])?.string?.lowercased()
        var decision = status
        if status == nil || ["pending", "requested", "running", "waiting"].contains(status) { decision = nil }
        if ["denied", "rejected", "expired"].contains(status) { decision = "deny" }
        if let call = HistoryBlock.identifier(data["toolCallId"]),
            let place = toolPlace(id: call, name: data["name"]?.string ?? "exec", opens: true, at: time)
        {
            records[place].approvalID = id
        }
        approval(id: id, request: data["request"] ?? data, decision: decision, at: time)
    }
}
