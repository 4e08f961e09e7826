/// What is known to be wrong still, by recording. An entry goes when its findings are gone.
enum KnownFindings {
    static func contains(_ recording: String, _ rule: ReplayJudge.Rule) -> Bool {
        rules[recording]?.contains(rule) ?? false
    }

    private static let rules: [String: Set<ReplayJudge.Rule>] = [
        "client-restart-midrun.v2026.3.1": [.eventAfterEnd, .falseEnd, .foreignMessage, .wrongAnswer],
        "gateway-kill-midrun.v2026.3.1": [.eventAfterEnd, .falseEnd, .foreignMessage, .noEnd, .wrongEnd],
        "gateway-kill-midrun.v2026.6.11": [.deliveredTooSoon],
    ]
}
