import Basics
import JSONBytes
import Labels
import Runs

extension Step {
    /// A step as an earlier process wrote it; nil if incomplete.
    init?(kept json: [UInt8]) {
        guard let value = try? JSONDocument(parsing: json).root, let id = value["id"]?.string,
            let runID = value["runId"]?.string, let sequence = value["seq"]?.int,
            let kind = value["kind"]?.string.flatMap({ Kind(rawValue: $0) }),
            let category = value["category"]?.string.flatMap({ ActivityCategory(rawValue: $0) }),
            let label = value["label"]?.string, let state = value["state"]?.string.flatMap({ State(rawValue: $0) }),
            let startedAt = value["startedAt"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        self.init(
            id: id,
            runID: runID,
            sequence: Int(sequence),
            kind: kind,
            tool: value["tool"]?.string,
            toolCallID: value["toolCallId"]?.string,
            category: category,
            label: label,
            detail: value["detail"]?.string,
            approvalID: value["approvalId"]?.string,
            state: state,
            startedAt: startedAt,
            endedAt: value["endedAt"]?.string.flatMap { Timestamp(rfc3339: $0) },
            durationMilliseconds: value["durationMs"]?.int,
            exitCode: value["exitCode"]?.int,
            error: value["error"]?.string
        )
    }
}
