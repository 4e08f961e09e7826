import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let outbox = CommandSpec("outbox", "Messages that wait or are on their way").with {
        let id = ArgumentSpec("id", "Id of the entry", values: .listed(.entries))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "List entries",
                run: OutboxCommands.list,
                [],
                [
                    OptionSpec(
                        "--only",
                        "STATE",
                        "Only entries in this state",
                        values: .words([
                            "queued", "sending", "retrying", "accepted", "unconfirmed", "delivered", "failed",
                            "cancelled", "expired",
                        ])
                    ),
                    OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
                    OptionSpec("--limit", "N", "How many"),
                ]
            ),
            client("show", "Show an entry and its attempts", run: OutboxCommands.show, [id]),
            client("retry", "Send an entry again", run: OutboxCommands.retry, [id]),
            client(
                "cancel",
                "Cancel an entry",
                run: OutboxCommands.cancel,
                [id],
                [OptionSpec("--force", nil, "Forget an entry that may have been delivered")]
            ),
            CommandSpec("recover", "Show the messages of a damaged database, and restore or discard them").with {
                $0.options = [
                    .json, .state,
                    OptionSpec("--restore", nil, "Put its entries into the outbox again"),
                    OptionSpec("--discard", nil, "Give up its entries"),
                ]
            },
        ]
    }
}

enum OutboxCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let only = invocation.command["--only"]
        let request = ClientRequest.get("/v1/outbox").adding("session", invocation.command["--session"])
            .adding("limit", try invocation.number("--limit").map(String.init))
        guard let answer = try invocation.value(request.adding("state", only)) else { return .ok }
        let time = invocation.time
        var entries = answer["entries"].list
        if only == nil {
            // Entries in progress come first, in the order of sending; the others stay newest first.
            let first = try invocation.value(request.adding("state", underWay.joined(separator: ",")))
            let others = entries.filter { !underWay.contains($0["state"]?.string ?? "") }
            entries = first?["entries"].list.reversed() ?? []
            entries += others
        }
        var table = TextTable("ID", "STATE", "SESSION", "TRIES", "NEXT", "TEXT")
        for entry in entries {
            table.add(
                entry["id"]?.string ?? "",
                entry["state"]?.string ?? "",
                entry["session"]?.string ?? "",
                entry["attemptCount"]?.int.map(String.init) ?? "",
                entry["blockedReason"]?.string ?? time.relative(entry["nextAttemptAt"]?.string),
                entry["text"]?.string ?? entry["kind"]?.string ?? ""
            )
        }
        return invocation.print(table, orElse: "The outbox is empty.")
    }

    private static let underWay = ["queued", "sending", "retrying", "accepted", "unconfirmed"]

    static func show(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let entry = try invocation.value(.get(try path(invocation))) else { return .ok }
        let time = invocation.time
        var rows: [(String, String?)] = ["id", "kind", "session", "state", "text"].map { ($0, entry[$0]?.string) }
        rows.append(("tries", entry["attemptCount"]?.int.map(String.init)))
        for name in ["createdAt", "updatedAt", "notBefore", "nextAttemptAt", "expiresAt"] {
            rows.append((name, entry[name]?.string.map { "\(time.short($0)) (\(time.relative($0)))" }))
        }
        rows += ["runId", "mode", "joinedRun", "proof", "blockedReason"].map { ($0, entry[$0]?.string) }
        rows.append(("error", entry["error"].map { "\($0["code"]?.string ?? ""): \($0["detail"]?.string ?? "")" }))
        for (name, value) in rows {
            if let value {
                invocation.print(invocation.style.dim(DisplayWidth.padded(name, 15)) + Printable.line(value))
            }
        }
        guard let attempts = entry["attempts"], attempts.count > 0 else { return .ok }
        var table = TextTable("AT", "OUTCOME", "CODE", "WAIT", "DETAIL")
        for attempt in attempts.elements {
            table.add(
                time.short(attempt["at"]?.string),
                attempt["class"]?.string ?? "",
                attempt["code"]?.string ?? "",
                attempt["delayMs"]?.int.map(ReadableTime.span) ?? "",
                attempt["detail"]?.string ?? ""
            )
        }
        invocation.print("\n" + table.text(width: invocation.io.tableWidth, style: invocation.style))
        return .ok
    }

    static func retry(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest(.post, try path(invocation) + "/retry").json { _ in }
        guard let entry = try invocation.value(request) else { return .ok }
        invocation.print("\(id(entry)) is \(Printable.line(entry["state"]?.string ?? "queued")) again.")
        return .ok
    }

    static func cancel(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest(.delete, try path(invocation))
            .adding("force", invocation.command.has("--force") ? "true" : nil)
        guard let entry = try invocation.value(request) else { return .ok }
        invocation.print("\(id(entry)) is \(Printable.line(entry["state"]?.string ?? "cancelled")).")
        return .ok
    }

    private static func path(_ invocation: Invocation) throws(CommandFailure) -> String {
        ClientRequest.path("v1", "outbox", try invocation.id(of: .entries))
    }

    private static func id(_ entry: JSONValue) -> String { Printable.line(entry["id"]?.string ?? "The entry") }
}
