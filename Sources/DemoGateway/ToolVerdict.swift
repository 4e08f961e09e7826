/// The result of a command that did not simply run: its approval is pending or was refused.
struct ToolVerdict {
    let text: String
    let details: WireValue
    let isRefusal: Bool

    /// The result in earlier releases, where the tool answers at once and the command may run later.
    static func pending(_ record: DemoApprovals.Record, _ release: DemoRelease) -> ToolVerdict {
        let slug = String(record.id.prefix(8))
        let name = release == .march ? slug : "\(slug), full \(record.id)"
        return ToolVerdict(
            text: "Approval required (id \(name)). Approve to run; updates will arrive after completion.",
            details: [
                "status": "approval-pending", "approvalId": record.id, "approvalSlug": slug,
                "expiresAtMs": record.expiresAt, "host": "gateway", "command": record.command.text,
                "cwd": record.command.workspace,
            ],
            isRefusal: false
        )
    }

    static func refused(_ record: DemoApprovals.Record, _ decision: DemoApprovals.Decision?) -> ToolVerdict {
        let text = note(record, decision)
        return ToolVerdict(
            text: text,
            details: [
                "status": "failed", "exitCode": WireValue.null, "durationMs": 0, "aggregated": text, "timedOut": false,
                "cwd": record.command.workspace,
            ],
            isRefusal: true
        )
    }

    private static func note(_ record: DemoApprovals.Record, _ decision: DemoApprovals.Decision?) -> String {
        let reason = decision == .deny ? "user-denied" : "approval-timeout"
        return "Exec denied (gateway id=\(record.id), \(reason)): \(record.command.text)"
    }

    /// The notice in the session's next message about a command that was decided after its tool had answered.
    static func notice(
        _ record: DemoApprovals.Record,
        _ decision: DemoApprovals.Decision?,
        output: String
    ) -> String {
        guard decision == .allowOnce || decision == .allowAlways else { return note(record, decision) }
        return "Exec finished (gateway id=\(record.id), session=demo-brook, code 0)\n\(output)"
    }
}
