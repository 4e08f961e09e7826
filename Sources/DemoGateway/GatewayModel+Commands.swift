/// Slash commands: executed at once, answered by one `final` without deltas.
extension GatewayModel {
    func runCommand(_ text: String, key: String, rawKey: String, canonical: String, userRow: TranscriptRow) {
        let session = session(canonical)
        let words = text.split { $0 == " " || $0 == "\n" }.map { $0.lowercased() }
        let argument = words.dropFirst().first
        var answer: String
        var resets = false
        switch words.first {
        case "/new", "/reset":
            resets = true
            answer = words.first == "/new" ? "✅ New session started." : "✅ Session reset."
        case "/verbose":
            session.verboseLevel = ["on", "full"].contains(argument) ? argument : "off"
            answer =
                argument == "full"
                ? "⚙️ Verbose logging set to full."
                : argument == "on" ? "⚙️ Verbose logging enabled." : "⚙️ Verbose logging disabled."
        case "/reasoning":
            session.reasoningLevel = ["on", "stream"].contains(argument) ? argument : "off"
            answer =
                argument == "stream"
                ? "⚙️ Reasoning stream enabled."
                : argument == "on" ? "⚙️ Reasoning visibility enabled." : "⚙️ Reasoning visibility disabled."
        case "/think", "/thinking":
            session.thinkingLevel = argument ?? "low"
            answer = "⚙️ Thinking level set to \(argument ?? "low")."
        case "/model":
            session.model = argument.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
            answer = "⚙️ Model set to \(session.model ?? "demo-1")."
        case "/status":
            answer =
                "🦞 OpenClaw demo \(release.version)\n🧠 Model: demo/\(session.model ?? "demo-1")\n🧵 Session: \(canonical)"
        case "/help", "/commands":
            answer =
                "ℹ️ Demo commands\n\n/new | /reset | /verbose on|off|full | /reasoning on|off|stream | /status | /stop"
        default:
            answer = "⚠️ Unknown command: \(words.first ?? text)"
        }
        if resets {
            session.reset(sessionID: primitives.uuid(), now: wallMs)
            sessionChanged(session, ["reason": "reset"])
        } else if release >= .june {
            append(userRow, to: session)
        }
        let row = injected(answer, key: key)
        append(row, to: session)
        storeOutcome(of: key, isError: false, summary: "completed")
        finish(runID: key, status: "ok", startedAt: wallMs, error: nil)
        // March answers under the key as it was sent.
        broadcast(
            "chat",
            [
                "runId": key, "sessionKey": release == .march ? rawKey : canonical, "seq": 1, "state": "final",
                "message": style.bare(row),
            ],
            scope: readerScope
        )
    }
}
