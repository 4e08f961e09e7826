import Basics
import Configuration
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let notify = CommandSpec("notify", "What you are told, and where: phone, webhook, desktop").with {
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "Show what was told, and how it was delivered",
                run: NotifyCommands.list,
                [],
                [
                    OptionSpec("--sinks", nil, "Show the sinks instead, with their state"),
                    OptionSpec(
                        "--delivery",
                        "STATE",
                        "Only what has a delivery in this state",
                        values: .words(["pending", "held", "sent", "failed", "dropped"])
                    ),
                    OptionSpec("--limit", "N", "How many"),
                ]
            ),
            notifyAdd,
            client(
                "test",
                "Send a message to a sink at once",
                run: NotifyCommands.test,
                [ArgumentSpec("sink", "Name or id of the sink", values: .listed(.sinks))]
            ),
            client(
                "send",
                "Say something to your sinks, from a script",
                run: NotifyCommands.send,
                [ArgumentSpec("title", "What to say", repeats: true)],
                [
                    OptionSpec("--text", "TEXT", "More than the title"),
                    OptionSpec("--priority", "N", "From 1 to 5; 3 by default"),
                    OptionSpec("--sink", "NAME", "Only this sink; may be given several times", values: .listed(.sinks)),
                ]
            ),
        ]
        $0.examples = [
            "ladle notify add phone ntfy https://ntfy.sh TOPIC", "ladle notify test phone",
            "ladle notify send 'the washing is done'", "ladle mute 2h",
        ]
    }

    static let mute = client(
        "mute",
        "Be silent for a while, but for what is urgent",
        run: NotifyCommands.mute,
        [ArgumentSpec("duration", "Such as 2h; 1h by default; off ends it", optional: true)]
    ).with { $0.examples = ["ladle mute 2h", "ladle mute off"] }
}

/// `ladle notify`: the history of notifications and a note of one's own; and `ladle mute`.
enum NotifyCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        if invocation.command.has("--sinks") { return try sinks(invocation) }
        let request = ClientRequest.get("/v1/notifications").adding("state", invocation.command["--delivery"])
            .adding("limit", try invocation.number("--limit").map(String.init))
        guard let answer = try invocation.value(request) else { return .ok }
        var table = TextTable("AT", "TYPE", "TITLE", "SENT", "ID")
        for one in answer["notifications"].list {
            let deliveries = one["deliveries"].list
            let states = deliveries.compactMap { $0["state"]?.string }
            let sent = states.count { $0 == "sent" }
            let rest = Set(states.filter { $0 != "sent" }).sorted().joined(separator: ", ")
            table.add(
                invocation.time.short(one["at"]?.string),
                one["type"]?.string ?? "",
                one["title"]?.string ?? "",
                states.isEmpty ? "no sink" : "\(sent) of \(states.count)" + (rest.isEmpty ? "" : " (\(rest))"),
                one["id"]?.string ?? ""
            )
        }
        if let until = answer["mutedUntil"]?.string {
            invocation.print("Muted until \(invocation.time.short(until)).")
        }
        return invocation.print(table, orElse: "Nothing was told yet.")
    }

    private static func sinks(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let answer = try invocation.value(.get("/v1/notifications/sinks")) else { return .ok }
        var table = TextTable("NAME", "KIND", "STATE", "WHERE", "ERROR")
        for sink in answer["sinks"].list {
            let isOn = sink["enabled"]?.bool ?? true
            table.add(
                sink["name"]?.string ?? "",
                sink["kind"]?.string ?? "",
                isOn ? sink["state"]?.string ?? "" : "off",
                [sink["url"]?.string, sink["topic"]?.string].compactMap(\.self).joined(separator: " "),
                sink["lastError"]?.string ?? ""
            )
        }
        return invocation.print(
            table,
            orElse: "There is no sink: nothing is sent. Make one: ladle notify add phone ntfy https://ntfy.sh TOPIC"
        )
    }

    static func test(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let name = invocation.command.arguments.first ?? ""
        let path = ClientRequest.path("v1", "notifications", "sinks", name, "test")
        let request = ClientRequest(.post, path).json { _ in }
        guard let answer = try invocation.value(request) else { return .ok }
        if answer["ok"]?.bool == true {
            invocation.print("\(Printable.line(name)) took it.")
            return .ok
        }
        let error = answer["error"]?.string.map { Printable.line($0) } ?? "it failed"
        invocation.io.writeError(
            invocation.io.errorStyle.warning("\(Printable.line(name)) did not take it: \(error)\n")
        )
        return .temporary
    }

    static func send(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let title = invocation.command.arguments.joined(separator: " ")
        let priority = try invocation.number("--priority")
        let text = invocation.command["--text"]
        let sinks = invocation.command.all("--sink")
        var request = ClientRequest(.post, "/v1/notifications").json { body in
            body.member("title", title)
            body.member("text", text)
            body.member("priority", priority)
            if !sinks.isEmpty { body.array("sinks", of: sinks) }
        }
        // Marks a note sent from a notification's program: it must not cause a further notification, without end.
        if let type = invocation.io.environment["LADLE_TYPE"] { request = request.field("webhook-id", type) }
        guard let answer = try invocation.value(request) else { return .ok }
        let count = answer["sinks"].list.count
        invocation.print(count == 1 ? "It goes to 1 sink." : "It goes to \(count) sinks.")
        return .ok
    }

    static func mute(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let text = invocation.command.arguments.first ?? "1h"
        guard text != "off" else {
            _ = try invocation.perform(ClientRequest(.delete, "/v1/notifications/mute"))
            invocation.print(invocation.json ? "{}" : "Not muted.")
            return .ok
        }
        guard let milliseconds = ConfigurationUnits.milliseconds(text), milliseconds >= 1000 else {
            throw CommandFailure(
                UsageError("\(text) is no duration", hint: "ladle mute 2h", command: invocation.command.path)
            )
        }
        let request = ClientRequest(.post, "/v1/notifications/mute").json {
            $0.member("forSeconds", milliseconds / 1000)
        }
        guard let answer = try invocation.value(request) else { return .ok }
        invocation.print("Muted until \(invocation.time.short(answer["mutedUntil"]?.string)), but for priority 5.")
        return .ok
    }
}
