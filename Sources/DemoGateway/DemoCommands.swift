/// Slash commands: each is executed at once and answered by a single `final` without deltas.
final class DemoCommands {
    private let host: DemoHost
    private let dispatcher: DemoDispatcher

    init(_ host: DemoHost, _ dispatcher: DemoDispatcher) {
        self.host = host
        self.dispatcher = dispatcher
    }

    static func isCommand(_ text: String) -> Bool { text.hasPrefix("/") && !text.hasPrefix("//") }

    func run(_ message: DemoMessage, in canonical: String) {
        let sessions = host.sessions
        let session = sessions.make(canonical)
        let words = message.text.split { $0 == " " || $0 == "\n" }.map { $0.lowercased() }
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
        case "/exec":
            let settings = words.dropFirst()
            let ask = settings.last { $0.hasPrefix("ask=") }?.dropFirst(4)
            session.execAsk = ask.flatMap { ["always", "on-miss"].contains($0) ? String($0) : nil }
            answer = "⚙️ Exec defaults set (\(settings.joined(separator: ", ")))."
        case "/status":
            answer =
                "🦞 OpenClaw demo \(host.release.version)\n🧠 Model: demo/\(session.model ?? "demo-1")\n🧵 Session: \(canonical)"
        case "/suspend" where host.release.hasPauses:
            let seconds = min(max(Int(argument ?? "") ?? 10, 1), 3_600)
            host.suspend(forMs: seconds * 1_000)
            answer = "⚙️ Suspended for \(seconds) s."
        case "/help", "/commands":
            answer =
                "ℹ️ Demo commands\n\n/new | /reset | /verbose on|off|full | /reasoning on|off|stream | /status | /stop"
        default:
            answer = "⚠️ Unknown command: \(words.first ?? message.text)"
        }
        if resets {
            sessions.reset(session)
        } else if host.release >= .june {
            sessions.append(message.userRow, to: session)
        }
        let row = sessions.row(.injected(key: message.key, abortedRun: nil), [.text(answer)])
        sessions.append(row, to: session)
        dispatcher.finish(message.key, .completed)
        host.connections.broadcastToReaders(
            "chat",
            [
                // March answers with the session key as it was sent.
                "runId": message.key, "sessionKey": host.release == .march ? message.rawKey : canonical, "seq": 1,
                "state": "final", "message": sessions.style.bare(row),
            ]
        )
    }
}
