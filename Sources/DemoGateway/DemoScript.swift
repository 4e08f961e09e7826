/// A scripted run: what the agent says and does, with its pace at speed 1.
struct DemoScript {
    enum Step {
        case pause(ms: Int)
        /// Written into the transcript, and streamed only if the session asks for it.
        case think(String)
        /// Streamed word by word.
        case say(String, wordMs: Int)
        case tools([ToolCall])
        /// Tells the output of the last tool.
        case sayOutput
        case fail(ProviderFailure)
        /// The agent answers with the silent token, which means no text at all.
        case silent
        /// Text deltas at a rate, each carrying its number and the clock.
        case burst(count: Int, perSecond: Int, stream: BurstStream)
    }

    struct ToolCall {
        var name: String
        var arguments: WireValue
        /// The gateway's own short description of the call.
        var meta: String
        /// The output so far, each time after a pause.
        var updates: [(afterMs: Int, output: String)] = []
        var durationMs: Int
        var output: String
        var exitCode: Int?
        var effect: Effect?
        /// It needs an approval whatever its session's policy is.
        var needsApproval = false
        /// It asks a person, and its output is the answer.
        var asks: Question?
        /// How long its approval or question waits; by default as long as the release has it.
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
        /// None: a text of the person's own.
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
        /// In the provider's words.
        var detail: String
        /// In the gateway's words, by release.
        var marchText: String
        var laterText: String
        var finalText: String
        var reason: String
        var kind: String?
        var delayMs: Int
        /// Another attempt of the run does not meet it.
        var isTransient = false
        /// The context is too large for the model.
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
