import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let activity = client("activity", "Show the runs that are active now", run: RunCommands.activity)

    static let runs = client(
        "runs",
        "List runs, or show one",
        run: RunCommands.runs,
        [ArgumentSpec("run", "Id of one run", optional: true, values: .listed(.runs))],
        [
            OptionSpec("--active", nil, "Only active runs"),
            OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
            OptionSpec("--limit", "N", "How many"),
        ]
    )

    static let abort = client(
        "abort",
        "Stop a run, or all runs of a session",
        run: RunCommands.abort,
        [ArgumentSpec("run", "Id of the run", optional: true, values: .listed(.runs))],
        [OptionSpec("--session", "KEY", "Stop the runs of this session", values: .listed(.sessions))]
    )
}

enum RunCommands {
    static func activity(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let answer = try invocation.value(.get("/v1/activity")) else { return .ok }
        invocation.print(invocation.style.bold(Printable.line(answer["headline"]?.string ?? "idle")))
        for run in answer["runs"].list {
            invocation.print(heading(run, invocation))
            for step in run["steps"].list {
                let state = step["state"]?.string
                if state == "running" || state == "waiting" {
                    invocation.print("  " + StepText.line(step, invocation.style, advice: CommandHint.translated))
                }
            }
        }
        return .ok
    }

    static func runs(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        if !invocation.command.arguments.isEmpty {
            let id = try invocation.id(of: .runs)
            guard let run = try invocation.value(.get(ClientRequest.path("v1", "runs", id))) else { return .ok }
            invocation.print(heading(run, invocation))
            for step in run["steps"].list {
                invocation.print("  " + StepText.line(step, invocation.style, advice: CommandHint.translated))
            }
            if let text = run["text"]?.string, !text.isEmpty {
                invocation.print(invocation.io.isOutputTerminal ? Printable.text(text) : text)
            }
            if let error = RunEnd(run).errorText { invocation.print(invocation.style.bad(Printable.line(error))) }
            return .ok
        }
        let request = ClientRequest.get("/v1/runs").adding("active", invocation.command.has("--active") ? "true" : nil)
            .adding("session", invocation.command["--session"])
            .adding("limit", try invocation.number("--limit").map(String.init))
        guard let answer = try invocation.value(request) else { return .ok }
        let time = invocation.time
        var table = TextTable("ID", "STATE", "SESSION", "AT", "TEXT")
        for run in answer["runs"].list {
            table.add(
                run["id"]?.string ?? "",
                run["state"]?.string ?? "",
                run["session"]?.string ?? "",
                time.short(run["startedAt"]?.string),
                RunEnd(run).errorText ?? run["text"]?.string ?? ""
            )
        }
        return invocation.print(table, orElse: "No runs.")
    }

    static func abort(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let path: String
        if !invocation.command.arguments.isEmpty {
            path = ClientRequest.path("v1", "runs", try invocation.id(of: .runs), "abort")
        } else if let session = invocation.command["--session"] {
            path = ClientRequest.path("v1", "sessions", session, "abort")
        } else {
            throw CommandFailure(
                UsageError(
                    "name a run, or a session with --session",
                    hint: "ladle runs --active lists the runs",
                    command: ["abort"]
                )
            )
        }
        guard let answer = try invocation.value(ClientRequest(.post, path).json { _ in }) else { return .ok }
        let stopsLater = !answer["entries"].list.isEmpty
        let isStopped = answer["aborted"]?.bool == true
        invocation.print(isStopped ? "Stopped." : stopsLater ? "Asked to stop." : "Nothing was running.")
        if let detail = answer["detail"]?.string { invocation.print(Printable.line(detail)) }
        return .ok
    }

    private static func heading(_ run: JSONValue, _ invocation: Invocation) -> String {
        let style = invocation.style
        let state = run["state"]?.string ?? "?"
        let started = invocation.time.short(run["startedAt"]?.string)
        return "\(style.state(Printable.line(state))) \(Printable.line(run["session"]?.string ?? "")) "
            + style.dim("\(Printable.line(run["id"]?.string ?? "")) \(started)")
    }
}
