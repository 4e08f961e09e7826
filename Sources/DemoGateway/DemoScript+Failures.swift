/// Runs that end badly, with the wording of the recorded ones, and the identity frame.
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
        return DemoScript(name: "provider-failure", steps: [.pause(ms: failure.delayMs), .fail(failure)])
    }

    /// Answers the request for both files in one delimited text, and takes new texts in the same form.
    static func identityFrame(_ message: String, read: (String) -> String?) -> DemoScript {
        let identity = part(of: message, behind: "---IDENTITY---")
        let user = part(of: message, behind: "---USER---")
        var files: [String: String] = [:]
        for (name, text) in [("IDENTITY.md", identity), ("USER.md", user)] {
            // A request shows a placeholder in brackets where the text is to stand.
            if let text, !text.isEmpty, !text.hasPrefix("("), !text.hasPrefix("<") { files[name] = text + "\n" }
        }
        var steps: [Step] = [.pause(ms: 200)]
        if !files.isEmpty {
            for (name, text) in files.sorted(by: { $0.key < $1.key }) {
                steps.append(
                    .tools([
                        ToolCall(
                            name: "write",
                            arguments: ["path": name, "content": text],
                            meta: "to \(name) (\(text.count) chars)",
                            durationMs: 200,
                            output: "Successfully wrote \(text.utf8.count) bytes to \(name)",
                            effect: .writeFiles([name: text])
                        )
                    ])
                )
            }
        }
        let shownIdentity = files["IDENTITY.md"] ?? read("IDENTITY.md") ?? ""
        let shownUser = files["USER.md"] ?? read("USER.md") ?? ""
        steps.append(.say("---IDENTITY---\n\(shownIdentity)\n---USER---\n\(shownUser)\n---END---", wordMs: 2))
        return DemoScript(name: "identity-frame", steps: steps)
    }

    /// The lines behind a mark, up to the next one of any kind.
    private static func part(of message: String, behind mark: String) -> String? {
        let lines = message.split(separator: "\n", omittingEmptySubsequences: false)
        func isLine(_ wanted: String...) -> (Substring) -> Bool {
            { line in wanted.contains(line.filter { $0 != " " && $0 != "\r" }) }
        }
        guard let first = lines.firstIndex(where: isLine(mark)) else { return nil }
        let rest = lines[(first + 1)...]
        let last = rest.firstIndex(where: isLine("---IDENTITY---", "---USER---", "---END---")) ?? rest.endIndex
        var body = Array(rest[..<last])
        while body.first?.allSatisfy(\.isWhitespace) == true { body.removeFirst() }
        while body.last?.allSatisfy(\.isWhitespace) == true { body.removeLast() }
        return body.joined(separator: "\n")
    }
}
