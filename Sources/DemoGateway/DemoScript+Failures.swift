/// Runs that end with a provider's failure, in the words of the recorded ones.
extension DemoScript {
    static func providerFailure(_ text: String) -> DemoScript? {
        let isWanted = text.contains("fail") || text.contains("provider error")
        guard isWanted, !text.contains("failing command") else { return nil }
        let failure: ProviderFailure
        if text.contains("429") {
            let shown = "⚠️ API rate limit reached. Please try again later."
            failure = ProviderFailure(
                detail: "429 Rate limit reached for demo-1",
                marchText: shown,
                laterText: shown,
                finalText: "⚠️ All models are temporarily rate-limited. Please try again in a few minutes.",
                reason: "rate_limit",
                kind: "rate_limit",
                delayMs: 600
            )
        } else if text.contains("401") {
            let shown =
                "Authentication failed (provider returned HTTP 401). Your provider token may have expired; "
                + "try again in a moment, then sign in to this provider again."
            failure = ProviderFailure(
                detail: "401 Incorrect API key provided",
                marchText: "401 Incorrect API key provided",
                laterText: shown,
                finalText: "⚠️ Agent failed before reply: \(shown)\nLogs: openclaw logs --follow",
                reason: "auth",
                kind: nil,
                delayMs: 200
            )
        } else if text.contains("500") || text.contains("provider error") {
            failure = ProviderFailure(
                detail: "500 demo provider exploded (500)",
                marchText: "500 demo provider exploded (500)",
                laterText: "LLM request failed.",
                finalText: "⚠️ Agent failed before reply: LLM request failed.\nLogs: openclaw logs --follow",
                reason: "server_error",
                kind: nil,
                delayMs: 1_200
            )
        } else {
            return nil
        }
        return DemoScript(steps: [.pause(ms: failure.delayMs), .fail(failure)])
    }
}
