/// A scripted run: the agent's words and actions, with their pace at speed 1.
struct DemoScript {
    enum Step {
        case pause(ms: Int)
        /// A thought, written into the transcript and streamed only if the session asks for it.
        case think(String)
        /// A text, streamed word by word.
        case say(String, wordMs: Int)
        case tools([ToolCall])
        /// Says the output of the last tool.
        case sayOutput
        case fail(ProviderFailure)
        /// The agent answers with the silent token, which means no text.
        case silent
        /// Text deltas at a rate, each with its number and the clock.
        case burst(count: Int, perSecond: Int, stream: BurstStream)
    }

    struct ToolCall {
        var name: String
        var arguments: WireValue
        /// The gateway's own short description of the call.
        var meta: String
        /// The output so far, each part after a pause.
        var updates: [(afterMs: Int, output: String)] = []
        var durationMs: Int
        var output: String
        var exitCode: Int?
        var effect: Effect?
        /// Whether the call needs an approval regardless of its session's policy.
        var needsApproval = false
        /// The question to a person, whose answer is the tool's output.
        var asks: Question?
        /// The time its approval or question waits; nil for the release's default.
        var approvalLifeMs: Int?

        var isCommand: Bool { name == "exec" }
        var command: String? {
            guard isCommand, case .object(let members) = arguments else { return nil }
            guard case .string(let text)? = members.first(where: { $0.name == "command" })?.value else { return nil }
            return text
        }
    }

    struct Question {
        var text: String
        /// The options; empty for a free text.
        var options: [String]
        var isSecret: Bool
    }

    /// A tool's change to the agent's files.
    enum Effect {
        case rename(agentTo: String)
        case writeFiles([String: String])
    }

    enum BurstStream: String { case both, chat, agent }

    struct ProviderFailure {
        /// The failure in the provider's words.
        var detail: String
        /// The failure in the gateway's words, by release.
        var marchText: String
        var laterText: String
        var finalText: String
        var reason: String
        var kind: String?
        var delayMs: Int
        /// Whether a further attempt of the run succeeds.
        var isTransient = false
        /// Whether the context is too large for the model.
        var isOverflow = false
    }

    var steps: [Step]
}

extension DemoScript.ToolCall {
    static func exec(
        _ command: String,
        meta: String,
        output: String,
        durationMs: Int,
        updates: [(afterMs: Int, output: String)] = [],
        exitCode: Int = 0
    ) -> DemoScript.ToolCall {
        DemoScript.ToolCall(
            name: "exec",
            arguments: ["command": command],
            meta: meta,
            updates: updates,
            durationMs: durationMs,
            output: exitCode == 0 ? output : "\(output)\n\n(Command exited with code \(exitCode))",
            exitCode: exitCode
        )
    }
}
