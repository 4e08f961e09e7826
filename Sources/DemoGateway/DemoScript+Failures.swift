/// Runs that end with a provider's failure, in recorded words.
extension DemoScript {
    static func providerFailure(_ text: String) -> DemoScript? {
        if text.contains("flaky") { return flaky }
        let isWanted = text.contains("fail") || text.contains("provider error")
        guard isWanted, !text.contains("failing command") else { return nil }
        let failure: ProviderFailure
        if text.contains("failctx") {
            failure = overflow
        } else if text.contains("429") {
            let shown = "⚠️ API rate limit reached. Please try again later."
            failure = ProviderFailure(
                detail: "429 Rate limit reached for demo-1",
                marchText: shown,
                laterText: shown,
                finalText: "⚠️ All models are temporarily rate-limited. Please try again in a few minutes.",
                reason: "rate_limit",
                kind: "rate_limit",
                delayMs: 1_300
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

    /// Fails once and then answers, on gateways that retry.
    private static let flaky = DemoScript(
        steps: [
            .pause(ms: 1_300),
            .fail(
                ProviderFailure(
                    detail: "500 The server had an error while processing your request",
                    marchText: "HTTP 500: The server had an error while processing your request",
                    laterText: "LLM request failed.",
                    finalText: "⚠️ Agent failed before reply: LLM request failed.\nLogs: openclaw logs --follow",
                    reason: "timeout",
                    delayMs: 1_300,
                    isTransient: true
                )
            ),
            .say("Flaky answer after 3 failures.", wordMs: 30),
        ]
    )

    private static let overflow: ProviderFailure = {
        let shown =
            "Context overflow: prompt too large for the model. Try /reset (or /new) to start a fresh session, or use a "
            + "larger-context model."
        return ProviderFailure(
            detail: "400 This model's maximum context length is 200000 tokens.",
            marchText: shown,
            laterText: shown,
            finalText: "⚠️ Auto-compaction could not recover this turn. I kept this conversation mapped to the current "
                + "session. Please try again, use /compact, or use /new to start a fresh session.",
            reason: "context_overflow",
            delayMs: 20,
            isOverflow: true
        )
    }()
}
