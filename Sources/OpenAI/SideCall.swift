import Basics
import JSONBytes

/// A request that chat programs send for themselves: titles, tags, follow-up questions, probes. None of them is meant for the agent, and none
/// begins a run.
package enum SideCall: Sendable, Equatable {
    /// A test whether the address answers.
    case probe
    /// A task whose answer is made from the request itself.
    case answer(String)
    /// A task that only a model could do.
    case refused(task: String)

    package static let probeText = "Ladle is ready. A probe does not reach the agent."
    /// Nobody asks an agent for so few tokens, and the limit could not be kept.
    private static let probeTokens: Int64 = 16
    private static let titleLength = 40

    private enum Task: String, CaseIterable {
        case title = "title_generation"
        case tags = "tags_generation"
        case followUps = "follow_up_generation"
        case queries = "query_generation"
        case autocomplete = "autocomplete_generation"
        case emoji = "emoji_generation"

        /// The beginning of the prompt's second line, as Open WebUI writes it.
        var signs: [String] {
            switch self {
            case .title: ["Generate a concise title"]
            case .tags: ["Generate 1-3 broad tags"]
            case .followUps: ["Predict 3-5 useful messages", "Suggest 3-5 relevant follow-up"]
            case .queries: ["Analyze the chat history to determine the necessity of generating search queries"]
            case .autocomplete: ["You are an autocompletion system"]
            case .emoji: []
            }
        }
    }

    private static let imagePrompt = "Generate a detailed prompt for am image"
    private static let libreChatTitles = [
        "Provide a concise, 5-word-or-less title for the conversation",
        "Analyze this conversation and provide:\n1. The detected language of the conversation",
    ]

    /// Nil if the request is for the agent.
    /// - Parameters:
    ///   - task: the header `X-Ladle-Task`, which Open WebUI fills for its own tasks.
    ///   - isForTasks: the model is `ladle/tasks`.
    package init?(_ request: OpenAIRequest, task: String?, isForTasks: Bool) {
        if let task, !task.isEmpty {
            self = Self.done(Task(rawValue: task), named: task, request.text)
        } else if let found = Self.recognized(request) {
            self = found
        } else if let limit = request.mostTokens, limit <= Self.probeTokens, !request.hasAnswers {
            self = .probe
        } else if isForTasks {
            self = .refused(task: "unknown")
        } else {
            return nil
        }
    }

    /// A prompt for a document that the person attached begins with `### Task:` too, so its second line decides.
    private static func recognized(_ request: OpenAIRequest) -> SideCall? {
        guard request.messageCount == 1, !request.streams else { return nil }
        let text = request.text
        if libreChatTitles.contains(where: { text.utf8.starts(with: $0.utf8) }) {
            return .answer(title(of: text, "User: "))
        }
        let head = "### Task:\n"
        guard text.utf8.starts(with: head.utf8), text.containsText("<chat_history>") else { return nil }
        let second = text.dropFirst(head.count)
        for task in Task.allCases where task.signs.contains(where: { second.utf8.starts(with: $0.utf8) }) {
            return done(task, named: task.rawValue, text)
        }
        return second.utf8.starts(with: imagePrompt.utf8) ? .refused(task: "image_prompt_generation") : nil
    }

    private static func done(_ task: Task?, named name: String, _ text: String) -> SideCall {
        switch task {
        case .title: .answer(object { $0.member("title", title(of: text, "USER: ")) })
        case .tags: .answer(object { $0.array("tags") { _ in } })
        case .followUps: .answer(object { $0.array("follow_ups") { _ in } })
        case .queries: .answer(object { $0.array("queries") { _ in } })
        case .autocomplete: .answer(object { $0.member("text", "") })
        case .emoji: .answer("")
        case nil: .refused(task: String(name.prefix(64)))
        }
    }

    private static func object(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        writer.object(nil, write)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// The beginning of the first words of the user's.
    private static func title(of prompt: String, _ mark: String) -> String {
        let history = prompt.rangeOfText("<chat_history>").map { prompt[$0.upperBound...] } ?? prompt[...]
        let line = history.split(whereSeparator: \.isNewline).first { $0.utf8.starts(with: mark.utf8) }
        let words = line?.dropFirst(mark.count).split(separator: " ").joined(separator: " ") ?? ""
        return words.isEmpty ? "Chat" : String(words.prefix(titleLength))
    }
}
