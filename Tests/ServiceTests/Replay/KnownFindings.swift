/// Rules that Ladle is known to break still, by recording. A rule goes from here when its findings are gone.
enum KnownFindings {
    static func contains(_ recording: String, _ rule: ReplayJudge.Rule) -> Bool {
        rules[recording]?.contains(rule) ?? false
    }

    private static let rules: [String: Set<ReplayJudge.Rule>] = [
        "abort-in-tool.v2026.6.11": [.wrongEnd],
        "approve-same-session.v2026.4.26": [.notDelivered],
        "gateway-kill-after-ack-old-session.v2026.6.11": [.notDelivered],
        "gateway-kill-midrun-noresend.v2026.6.11": [.endedBeforeResumed],
        "gateway-kill-midrun.v2026.4.26": [.wrongEnd],
        "gateway-kill-midrun.v2026.6.11": [.notDelivered],
        "gateway-term-midrun.v2026.6.11": [.endedBeforeResumed],
        "init-conflict-remedies.v2026.6.11": [.notDelivered, .sentTwice],
        "init-conflict.v2026.6.11": [.notDelivered, .sentTwice],
        "long-answer.v2026.4.26": [.wrongAnswer],
        "long-answer.v2026.6.11": [.wrongAnswer],
        "provider-500.v2026.3.1": [.falseEnd],
        "reset-by-other.v2026.3.1": [.notDelivered],
        "reset-by-other.v2026.4.26": [.deliveredTooSoon, .wrongAnswer, .wrongEnd],
        "reset-by-other.v2026.6.11": [.notDelivered],
        "session-titles.v2026.4.26": [.noEnd],
        "transient-error3.v2026.3.1": [.falseEnd, .wrongEnd],
        "transient-error4.v2026.3.1": [.wrongEnd],
    ]
}
