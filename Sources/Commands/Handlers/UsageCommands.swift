import Basics
import JSONBytes
import ReadableText

extension CommandSpec {
    static let models = client(
        "models",
        "List the models that the gateway can use",
        run: UsageCommands.models,
        [],
        [OptionSpec("--view", "NAME", "Which ones", values: .words(["default", "configured", "all"]))]
    )

    static let usage = CommandSpec("usage", "What is used up of subscriptions, and what tokens cost").with {
        let days = [
            OptionSpec("--from", "DAY", "The first day, such as 2026-11-01; by default 30 days are shown"),
            OptionSpec("--to", "DAY", "The last day; today by default"),
        ]
        $0.usual = "show"
        $0.subcommands = [
            client("show", "Show how far each subscription is used up, and what today cost", run: UsageCommands.show),
            client(
                "cost",
                "Show tokens and cost by day",
                run: UsageCommands.cost,
                [],
                days + [
                    OptionSpec("--tz", "ZONE", "Time zone of the days, such as Europe/Berlin; by default the server's"),
                    OptionSpec("--agent", "NAME", "Only this agent", values: .listed(.agents)),
                ]
            ),
            client(
                "sessions",
                "Show tokens and cost by session, the latest first",
                run: UsageCommands.sessions,
                [],
                days + [OptionSpec("--limit", "N", "How many")]
            ),
        ]
        $0.examples = ["ladle usage", "ladle usage cost --from 2026-11-01"]
    }
}

/// `ladle models` and `ladle usage`: available models, and the usage so far.
enum UsageCommands {
    static func models(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest.get("/v1/models").adding("view", invocation.command["--view"])
        guard let answer = try invocation.value(request) else { return .ok }
        invocation.tellAge(answer)
        var table = TextTable("MODEL", "NAME", "ALIAS", "CONTEXT", "")
        for model in answer["models"].list {
            let marks = [
                model["default"]?.bool == true ? "default" : nil,
                model["available"]?.bool == false ? "not available" : nil,
            ]
            table.add(
                model["id"]?.string ?? "",
                model["name"]?.string ?? "",
                model["alias"]?.string ?? "",
                model["contextTokens"]?.int.map(String.init) ?? "",
                marks.compactMap(\.self).joined(separator: ", ")
            )
        }
        return invocation.print(table, orElse: "There are no models.")
    }

    // MARK: Subscriptions

    static func show(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let usage = try invocation.value(.get("/v1/usage")) else { return .ok }
        if usage["stale"]?.bool == true {
            let asOf = usage["asOf"]?.string
            let note = asOf.map { "As of \(invocation.time.short($0)); the gateway is being asked." }
            let text = note ?? "The gateway has not told yet; ask again in a minute."
            invocation.io.writeError(invocation.io.errorStyle.warning(text + "\n"))
        }
        var table = TextTable("PROVIDER", "PLAN", "WINDOW", "USED", "RESETS")
        for provider in usage["providers"].list {
            let name = provider["name"]?.string ?? ""
            let plan = provider["plan"]?.string ?? ""
            if let error = provider["error"]?.string {
                table.add(name, plan, "", "failed: \(error)", "")
                continue
            }
            for window in provider["windows"].list {
                table.add(
                    name,
                    plan,
                    window["name"]?.string ?? "",
                    UsageText.percent(window["usedPercent"]),
                    invocation.time.short(window["resetsAt"]?.string)
                )
            }
        }
        if !table.isEmpty { _ = invocation.print(table, orElse: "") }
        if let today = usage["today"] {
            invocation.print("today: \(UsageText.figures(today))")
        } else if table.isEmpty {
            invocation.print("Nothing is known of the usage.")
        }
        return .ok
    }

    // MARK: Days and sessions

    static func cost(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let command = invocation.command
        let request = period("/v1/usage/cost", invocation).adding("tz", command["--tz"])
            .adding("agent", command["--agent"])
        guard let answer = try invocation.value(request) else { return .ok }
        tellState(answer, invocation)
        var table = TextTable("DAY", "TOKENS", "COST")
        for day in answer["days"].list { add(day, named: day["date"]?.string, to: &table) }
        return finish(table, answer, invocation)
    }

    static func sessions(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let limit = try invocation.number("--limit").map(String.init)
        let request = period("/v1/usage/sessions", invocation).adding("limit", limit)
        guard let answer = try invocation.value(request) else { return .ok }
        tellState(answer, invocation)
        var table = TextTable("SESSION", "TOKENS", "COST")
        for session in answer["sessions"].list { add(session, named: session["key"]?.string, to: &table) }
        return finish(table, answer, invocation)
    }

    private static func period(_ path: String, _ invocation: Invocation) -> ClientRequest {
        .get(path).adding("from", invocation.command["--from"]).adding("to", invocation.command["--to"])
    }

    private static func tellState(_ answer: JSONValue, _ invocation: Invocation) {
        invocation.tellAge(answer)
        let style = invocation.io.errorStyle
        if answer["complete"]?.bool == false {
            invocation.io.writeError(style.warning("The gateway still counts; ask again in a minute.\n"))
        }
        if answer["tzApprox"]?.bool == true {
            let offset = Printable.line(answer["utcOffset"]?.string ?? "")
            invocation.io.writeError(style.warning("The clocks changed meanwhile: days are those of UTC\(offset).\n"))
        }
    }

    private static func add(_ row: JSONValue, named name: String?, to table: inout TextTable) {
        table.add(name ?? "", row["tokens"]?.int.map(String.init) ?? "?", UsageText.cost(row))
    }

    private static func finish(_ table: TextTable, _ answer: JSONValue, _ invocation: Invocation) -> ExitCode {
        let code = invocation.print(table, orElse: "Nothing was used.")
        if !table.isEmpty, let totals = answer["totals"] { invocation.print("in all: \(UsageText.figures(totals))") }
        return code
    }
}
