import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let sessions = CommandSpec("sessions", "The conversations of the gateway").with {
        let key = ArgumentSpec("key", "Key of the session", values: .listed(.sessions))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "List the sessions of the gateway",
                run: SessionCommands.list,
                [],
                [
                    OptionSpec("--all", nil, "Also those of cron jobs, subagents and other machines"),
                    OptionSpec("--search", "WORDS", "Only those with this in title, label or key"),
                    OptionSpec("--limit", "N", "How many"),
                ]
            ),
            client(
                "new",
                "Make a session",
                run: SessionCommands.new,
                [ArgumentSpec("label", "Its name for people", optional: true)],
                [
                    OptionSpec("--text", "TEXT", "The first message in it"),
                    OptionSpec("--agent", "ID", "Agent; without it the gateway's default"),
                    OptionSpec("--model", "NAME", "As PROVIDER/MODEL"),
                    .idempotencyKey,
                ]
            ),
            client(
                "rename",
                "Give a session a label",
                run: SessionCommands.rename,
                [key, ArgumentSpec("label", "The label")]
            ),
            client(
                "model",
                "Give a session another model",
                run: SessionCommands.model,
                [key, ArgumentSpec("model", "As PROVIDER/MODEL, or default")]
            ),
            client("reset", "Begin a session anew", run: SessionCommands.reset, [key], [.yes]),
            client("compact", "Shorten what the model reads of a session", run: SessionCommands.compact, [key]),
            client(
                "delete",
                "Delete a session",
                run: SessionCommands.delete,
                [key],
                [
                    OptionSpec("--force", nil, "Also while messages wait for it in the outbox"),
                    OptionSpec("--keep-transcript", nil, "The gateway keeps the transcript"),
                    .yes,
                ]
            ),
        ]
    }
}

/// `ladle sessions`: the conversations of the gateway, and changes of one.
enum SessionCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let limit = try invocation.number("--limit").map(String.init)
        let request = ClientRequest.get("/v1/sessions").adding("limit", limit)
            .adding("kind", invocation.command.has("--all") ? "all" : nil)
            .adding("search", invocation.command["--search"])
        guard let answer = try invocation.value(request) else { return .ok }
        invocation.tellAge(answer)
        var table = TextTable("SESSION", "UPDATED", "MODEL", "TITLE")
        for session in answer["sessions"].list {
            let title = session["title"]?.string ?? session["label"]?.string ?? ""
            table.add(
                session["key"]?.string ?? "",
                session["active"]?.bool == true ? "active" : invocation.time.short(session["updatedAt"]?.string),
                session["model"]?.string ?? "",
                session["titleFrom"]?.string == "key" ? "" : title
            )
        }
        let hidden = answer["hidden"]?.members.compactMap { $0.value.int }.reduce(0, +) ?? 0
        let code = invocation.print(table, orElse: "There are no sessions.")
        if hidden > 0 {
            let rest = "\(hidden) of cron jobs and other machines are not shown: ladle sessions --all\n"
            invocation.io.writeError(invocation.io.errorStyle.dim(rest))
        }
        return code
    }

    static func new(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let command = invocation.command
        let request = ClientRequest(.post, "/v1/sessions").field("Idempotency-Key", command["--idempotency-key"])
            .json { body in
                body.member("label", command.arguments.first)
                body.member("text", command["--text"])
                body.member("agent", command["--agent"])
                body.member("model", command["--model"])
            }
        guard let session = try invocation.value(request) else { return .ok }
        invocation.print(Printable.line(session["key"]?.string ?? ""))
        return .ok
    }

    static func rename(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try patch(invocation) { $0.member("label", invocation.command.arguments[1]) }
    }

    static func model(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try patch(invocation) { body in
            let model = invocation.command.arguments[1]
            if model == "default" {
                body.key("model")
                body.null()
            } else {
                body.member("model", model)
            }
        }
    }

    private static func patch(
        _ invocation: Invocation,
        _ write: (inout JSONWriter) -> Void
    ) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest(.patch, path(invocation)).field("If-Match", "*").json(write)
        guard let answer = try invocation.value(request) else { return .ok }
        tell(answer["session"], "is", invocation)
        let changed = answer["changed"].list.compactMap(\.string)
        if !changed.isEmpty {
            invocation.print("The gateway also changed \(Printable.line(changed.joined(separator: ", "))).")
        }
        return .ok
    }

    static func reset(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let (tag, name) = try conversation(invocation)
        try invocation.ask("Begin \(name) anew? The agent forgets what was said in it.")
        let request = ClientRequest(.post, path(invocation) + "/reset").field("If-Match", tag)
        guard let session = try invocation.value(request) else { return .ok }
        tell(session, "begins anew:", invocation)
        return .ok
    }

    static func compact(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest(.post, path(invocation) + "/compact").field(
            "If-Match",
            try conversation(invocation).tag
        )
        guard let answer = try invocation.value(request) else { return .ok }
        if answer["state"]?.string == "running", answer["key"] == nil {
            invocation.print("The summary is being written. `ladle watch --types session` shows when it is there.")
        } else {
            tell(answer, "is shorter now:", invocation)
        }
        return .ok
    }

    static func delete(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let (tag, name) = try conversation(invocation)
        let what = invocation.command.has("--keep-transcript") ? "" : " and its transcript"
        try invocation.ask("Delete \(name)\(what)?")
        let request = ClientRequest(.delete, path(invocation)).field("If-Match", tag)
            .adding("force", invocation.command.has("--force") ? "true" : nil)
            .adding("transcript", invocation.command.has("--keep-transcript") ? "keep" : nil)
        guard let session = try invocation.value(request) else { return .ok }
        tell(session, "is deleted:", invocation)
        return .ok
    }

    // MARK: One session

    private static func path(_ invocation: Invocation) -> String {
        ClientRequest.path("v1", "sessions", invocation.command.arguments[0])
    }

    /// The tag of the current conversation, so that a change never affects its successor, and the session's key as a person reads it.
    private static func conversation(_ invocation: Invocation) throws(CommandFailure) -> (tag: String, name: String) {
        let response = try invocation.perform(.get(path(invocation)))
        let session = try? response.json()
        let (key, title) = (session?["key"]?.string ?? invocation.command.arguments[0], session?["title"]?.string)
        let isNamed = session?["titleFrom"]?.string != "key"
        let name = [key, isNamed ? title.map { "(\($0))" } : nil].compactMap(\.self).joined(separator: " ")
        return (response.head.fields.string(for: .etag) ?? "*", Printable.line(name))
    }

    private static func tell(_ session: JSONValue?, _ what: String, _ invocation: Invocation) {
        let key = session?["key"]?.string ?? invocation.command.arguments[0]
        let more = [session?["title"]?.string, session?["model"]?.string].compactMap(\.self)
        // The title is often the first words that somebody said in it.
        invocation.print(Printable.line("\(key) \(what) \(more.joined(separator: ", "))"))
    }
}
