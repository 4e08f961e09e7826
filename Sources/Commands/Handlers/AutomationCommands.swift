import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let automations = CommandSpec("automations", "The jobs that the gateway runs by their schedules").with {
        let id = ArgumentSpec("id", "Id of the automation", values: .listed(.automations))
        let limit = OptionSpec("--limit", "N", "How many")
        $0.usual = "list"
        $0.subcommands = [
            client("list", "List the automations of the gateway", run: AutomationCommands.list, [], [limit]),
            client("show", "Show one", run: AutomationCommands.show, [id]),
            client("runs", "List the runs of one that have ended", run: AutomationCommands.runs, [id], [limit]),
            client("run", "Run one now", run: AutomationCommands.run, [id], [.idempotencyKey]),
            client("enable", "Let one run by its schedule", run: AutomationCommands.enable, [id]),
            client("disable", "Let one run no more by its schedule", run: AutomationCommands.disable, [id]),
        ]
        $0.examples = ["ladle automations", "ladle automations run 5b1f0a7c"]
    }

    static let wake = client(
        "wake",
        "Tell the agent something without waiting for a reply",
        run: AutomationCommands.wake,
        [ArgumentSpec("text", "What happened", repeats: true)],
        [
            .session, OptionSpec("--later", nil, "At its next turn; without it the agent gets a turn now"),
            .idempotencyKey,
        ]
    ).with { $0.examples = ["ladle wake the washing machine is done"] }
}

/// `ladle automations` and `ladle wake`: the gateway's scheduled jobs, and a line for the agent.
enum AutomationCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let limit = try invocation.number("--limit").map(String.init)
        let request = ClientRequest.get("/v1/automations").adding("limit", limit)
        guard let answer = try invocation.value(request) else { return .ok }
        invocation.tellAge(answer)
        var table = TextTable("AUTOMATION", "NAME", "WHEN", "NEXT", "LAST")
        for automation in answer["automations"].list {
            table.add(
                automation["id"]?.string ?? "",
                automation["name"]?.string ?? "",
                automation["schedule"]?["text"]?.string ?? "",
                next(automation, invocation),
                last(automation, invocation)
            )
        }
        return invocation.print(table, orElse: "There are no automations.")
    }

    static func show(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let automation = try invocation.value(.get(try path(invocation))) else { return .ok }
        let name = automation["name"]?.string ?? ""
        invocation.print("\(automation["id"]?.string ?? "") \(invocation.style.bold(Printable.line(name)))")
        let rows: [(String, String?)] = [
            ("description", automation["description"]?.string), ("when", automation["schedule"]?["text"]?.string),
            ("next", next(automation, invocation)), ("last", last(automation, invocation)),
            ("error", automation["last"]?["error"]?.string), ("session", automation["session"]?.string),
            ("says", automation["payload"]?["text"]?.string),
        ]
        for (name, text) in rows {
            if let text, !text.isEmpty { invocation.print("  \(invocation.style.dim(name)) \(Printable.line(text))") }
        }
        return .ok
    }

    static func runs(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let limit = try invocation.number("--limit").map(String.init)
        let request = ClientRequest.get(try path(invocation) + "/runs").adding("limit", limit)
        guard let answer = try invocation.value(request) else { return .ok }
        var table = TextTable("ENDED", "STATUS", "TOOK", "ERROR")
        for run in answer["runs"].list {
            table.add(
                invocation.time.short(run["endedAt"]?.string),
                run["status"]?.string ?? "",
                run["durationMs"]?.int.map { "\($0) ms" } ?? "",
                run["error"]?.string ?? ""
            )
        }
        return invocation.print(table, orElse: "It has not run yet.")
    }

    static func run(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let key = invocation.command["--idempotency-key"] ?? newKey(invocation)
        let request = ClientRequest(.post, try path(invocation) + "/run").field("Idempotency-Key", key)
        guard let answer = try invocation.value(request) else { return .ok }
        let name = Printable.line(answer["automation"]?.string ?? "")
        invocation.print("\(name) runs: ladle watch --types automation shows how it ends")
        return .ok
    }

    static func enable(_ invocation: Invocation) throws(CommandFailure) -> ExitCode { try set(true, invocation) }

    static func disable(_ invocation: Invocation) throws(CommandFailure) -> ExitCode { try set(false, invocation) }

    private static func set(_ isEnabled: Bool, _ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest(.patch, try path(invocation)).field("If-Match", "*").json {
            $0.member("enabled", isEnabled)
        }
        guard let automation = try invocation.value(request) else { return .ok }
        invocation.print("\(Printable.line(automation["id"]?.string ?? "")) next runs \(next(automation, invocation))")
        return .ok
    }

    static func wake(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        var request = ClientRequest(.post, "/v1/wake").json { body in
            body.member("text", invocation.command.arguments.joined(separator: " "))
            body.member("mode", invocation.command.has("--later") ? "next-heartbeat" : nil)
            body.member("session", invocation.command["--session"])
        }
        if let key = invocation.command["--idempotency-key"] { request = request.field("Idempotency-Key", key) }
        guard let answer = try invocation.value(request) else { return .ok }
        let when = answer["mode"]?.string == "now" ? "now" : "at its next turn"
        invocation.print("The agent hears of it \(when), in \(Printable.line(answer["session"]?.string ?? "")).")
        return .ok
    }

    // MARK: Words

    private static func next(_ automation: JSONValue, _ invocation: Invocation) -> String {
        if automation["running"]?.bool == true { return "running" }
        guard automation["enabled"]?.bool ?? true else { return "off" }
        return automation["nextRunAt"]?.string.map { invocation.time.short($0) } ?? "never"
    }

    private static func last(_ automation: JSONValue, _ invocation: Invocation) -> String {
        guard let last = automation["last"] else { return "" }
        return "\(last["status"]?.string ?? "") \(invocation.time.short(last["at"]?.string))"
    }

    private static func path(_ invocation: Invocation) throws(CommandFailure) -> String {
        ClientRequest.path("v1", "automations", try invocation.id(of: .automations))
    }

    /// A new key for each call of the command: the server sees a repeat only after a lost connection.
    static func newKey(_ invocation: Invocation) -> String {
        "cli-\(invocation.io.nowMilliseconds)-\(UInt64.random(in: 0...UInt64.max))"
    }
}
