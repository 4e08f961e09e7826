/// The description of a command in its approval events, with the members and the order of each release.
struct DemoApprovalRequest {
    let wire: WireValue

    init(_ command: DemoApprovals.Command, _ release: DemoRelease) {
        let parts = Self.parts(of: command.text)
        let redirects = command.text.contains(">")
        // March only finds the program of a plain command.
        let program =
            release == .march && (parts.count > 1 || redirects) ? nil : parts.first?.split(separator: " ").first
        let offered = Self.decisions(command, release)
        let missing = DemoApprovals.Decision.allCases.filter { !offered.contains($0) }.map(\.rawValue)
        let head: WireValue = [
            "command": command.text, "systemRunBinding": WireValue.null, "systemRunPlan": WireValue.null,
            "cwd": command.workspace, "nodeId": WireValue.null, "host": "gateway", "security": "allowlist",
            "ask": command.ask,
        ]
        let june: WireValue = [
            "warningText": WireValue.null,
            "commandAnalysis": wireObject([
                "commandCount": parts.count, "nestedCommandCount": 0,
                "riskKinds": redirects ? ["redirect"] : [String](),
                "warningLines": redirects ? ["Contains redirect"] : [String](),
            ]),
            "unavailableDecisions": missing.isEmpty ? nil : missing, "allowedDecisions": offered.map(\.rawValue),
        ]
        let tail: WireValue = [
            "agentId": command.session.agentID, "resolvedPath": program.map { "/usr/bin/\($0)" } ?? WireValue.null,
            "sessionKey": command.session.key, "turnSourceChannel": "webchat", "turnSourceTo": WireValue.null,
            "turnSourceAccountId": WireValue.null, "turnSourceThreadId": WireValue.null,
        ]
        let newest: WireValue = [
            "commandPreview": WireValue.null, "envKeys": [String](), "commandSpans": [WireValue](),
            "sessionId": command.session.sessionID, "runId": command.runID, "toolCallId": command.callID,
        ]
        let known = release >= .june ? head.adding(june).adding(tail) : head.adding(tail)
        wire = release.gatesApprovalsByCap ? known.adding(newest) : known
    }

    /// A policy that asks every time cannot be answered permanently.
    static func decisions(_ command: DemoApprovals.Command, _ release: DemoRelease) -> [DemoApprovals.Decision] {
        DemoApprovals.Decision.allCases.filter { command.ask != "always" || $0 != .allowAlways }
    }

    /// The commands of a line.
    private static func parts(of line: String) -> [Substring] {
        line.split { "&|;\n".contains($0) }.filter { !$0.allSatisfy(\.isWhitespace) }
    }
}
