import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let questions = CommandSpec("questions", "What the agent asks, with the newest gateways").with {
        let id = ArgumentSpec("id", "Id of the question", values: .listed(.questions))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "Show what waits for an answer",
                run: QuestionCommands.list,
                [],
                [
                    OptionSpec("--all", nil, "Also what does not wait any more"),
                    OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
                ]
            ),
            client("show", "Show one, and what became of it", run: QuestionCommands.show, [id]),
            client(
                "answer",
                "Answer it; without ANSWER the answer is read from standard input",
                run: QuestionCommands.answer,
                [
                    id,
                    ArgumentSpec(
                        "answer",
                        "An option or a text; with several questions NAME=ANSWER",
                        optional: true,
                        repeats: true
                    ),
                ]
            ),
            client("cancel", "Tell the agent that nobody will answer", run: QuestionCommands.cancel, [id]),
        ]
        $0.examples = ["ladle questions", "ladle questions answer 23f3fcf8 blue"]
    }
}

/// `ladle questions`: the agent's questions, and answers to them.
enum QuestionCommands {
    /// The longest answer that the server accepts, with its line end.
    private static let longestInput = 4_098

    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest.get("/v1/questions").adding("session", invocation.command["--session"])
            .adding("state", invocation.command.has("--all") ? "all" : nil)
        guard let answer = try invocation.value(request) else { return .ok }
        let questions = answer["questions"].list
        for question in questions { show(question, invocation) }
        if questions.isEmpty { invocation.print("Nothing waits for an answer.") }
        ApprovalCommands.tellGaps(of: answer, scope: "operator.questions", invocation)
        return .ok
    }

    static func show(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let question = try invocation.value(.get(path(try id(invocation)))) else { return .ok }
        show(question, invocation)
        return .ok
    }

    private static func show(_ question: JSONValue, _ invocation: Invocation) {
        let text = QuestionText(question, invocation.style)
        ApprovalCommands.show(question, text.end, text.lines, invocation)
    }

    static func answer(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let id = try id(invocation)
        let response = try invocation.perform(.get(path(id)))
        let parts: [String]
        do throws(ClientError) {
            parts = try response.json()["questions"].list.compactMap { $0["id"]?.string }
        } catch {
            throw CommandFailure(error)
        }
        let given = try answers(to: parts, invocation)
        let request = ClientRequest(.post, path(id)).json { body in
            body.object("answers") { object in
                for (part, texts) in given { object.array(part, of: texts) }
            }
        }
        return try settle(request, invocation)
    }

    static func cancel(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try settle(ClientRequest(.post, path(try id(invocation))).json { $0.member("cancel", true) }, invocation)
    }

    private static func settle(_ request: ClientRequest, _ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let question = try invocation.value(request) else { return .ok }
        let end = QuestionText(question, invocation.style).end
        invocation.print("\(ApprovalText.id(question)) is \(end)")
        return .ok
    }

    /// `ID=TEXT` answers one of several parts; a single part needs no id. Several texts for one part are several
    /// answers.
    private static func answers(
        to parts: [String],
        _ invocation: Invocation
    ) throws(CommandFailure) -> [(String, [String])] {
        var words = Array(invocation.command.arguments.dropFirst())
        // Other users can see the command line, so a secret is typed instead.
        if words.isEmpty { words = [try typed(invocation)] }
        var given: [(String, [String])] = []
        for word in words {
            let pieces = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let isNamed = pieces.count == 2 && parts.contains(pieces[0])
            guard isNamed || parts.count == 1 else {
                throw CommandFailure(
                    UsageError(
                        "it asks several questions: \(Printable.line(parts.joined(separator: ", ")))",
                        hint: "name each: \(parts.map { Printable.argument($0) + "=ANSWER" }.joined(separator: " "))",
                        command: invocation.command.path
                    )
                )
            }
            let (part, text) = isNamed ? (pieces[0], pieces[1]) : (parts[0], word)
            if let index = given.firstIndex(where: { $0.0 == part }) {
                given[index].1.append(text)
            } else {
                given.append((part, [text]))
            }
        }
        return given
    }

    private static func typed(_ invocation: Invocation) throws(CommandFailure) -> String {
        if invocation.io.isInputTerminal { invocation.io.writeError("Type the answer; Ctrl-D ends it.\n") }
        let input = invocation.io.readInput(limit: longestInput)
        guard var text = input.flatMap({ String(validating: $0, as: UTF8.self) }) else {
            throw CommandFailure(
                UsageError("the answer is no text of up to 4096 bytes", command: invocation.command.path)
            )
        }
        while text.last?.isNewline == true { text.removeLast() }
        return text
    }

    private static func id(_ invocation: Invocation) throws(CommandFailure) -> String {
        try invocation.id(of: .questions)
    }

    private static func path(_ id: String) -> String { ClientRequest.path("v1", "questions", id) }
}
