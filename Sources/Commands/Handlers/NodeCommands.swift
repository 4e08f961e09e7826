import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let nodes = CommandSpec("nodes", "The devices that lend the gateway what they can do").with {
        let id = ArgumentSpec("id", "Id of the node", values: .listed(.nodes))
        $0.usual = "list"
        $0.subcommands = [
            client("list", "List the nodes and what may be asked of them", run: NodeCommands.list, []),
            client("show", "Show one, with each command and why it is not done", run: NodeCommands.show, [id]),
            client(
                "invoke",
                "Have one do something",
                run: NodeCommands.invoke,
                [
                    id, ArgumentSpec("command", "Such as system.notify"),
                    ArgumentSpec("name=value", "What the command takes", optional: true, repeats: true),
                ],
                [OptionSpec("--timeout", "SECONDS", "How long the node may take; 20 by default"), .idempotencyKey]
            ),
        ]
        $0.examples = ["ladle nodes", "ladle nodes invoke 0d6f2b1c system.notify body='It is ready' title=Tea"]
    }
}

/// `ladle nodes`: lists the gateway's nodes and sends them commands.
enum NodeCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let answer = try invocation.value(.get("/v1/nodes")) else { return .ok }
        invocation.tellAge(answer)
        var table = TextTable("NODE", "NAME", "PLATFORM", "STATE", "MAY DO")
        for node in answer["nodes"].list {
            table.add(
                node["id"]?.string ?? "",
                node["name"]?.string ?? "",
                node["platform"]?.string ?? "",
                state(node),
                node["commands"].list.filter { $0["allowed"]?.bool == true }.compactMap { $0["name"]?.string }
                    .joined(separator: ", ")
            )
        }
        return invocation.print(table, orElse: "The gateway has no nodes.")
    }

    static func show(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let node = try invocation.value(.get(try path(invocation))) else { return .ok }
        let name = Printable.line(node["name"]?.string ?? "")
        invocation.print("\(Printable.line(node["id"]?.string ?? "")) \(invocation.style.bold(name))")
        let rows: [(String, String?)] = [
            ("state", state(node)), ("platform", node["platform"]?.string), ("model", node["model"]?.string),
            ("seen", node["lastSeenAt"]?.string.map { invocation.time.short($0) }),
            ("can", node["capabilities"].list.compactMap(\.string).joined(separator: ", ")),
        ]
        for (name, text) in rows {
            if let text, !text.isEmpty { invocation.print("  \(invocation.style.dim(name)) \(Printable.line(text))") }
        }
        var table = TextTable("COMMAND", "DONE")
        for command in node["commands"].list {
            table.add(command["name"]?.string ?? "", command["why"]?.string.map(why) ?? "yes")
        }
        return invocation.print(table, orElse: "What it can do is not known.")
    }

    static func invoke(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let words = invocation.command.arguments
        let params = try Self.params(words.dropFirst(2))
        let wait = try invocation.number("--timeout")
        if let wait, !(1...120).contains(wait) {
            throw CommandFailure(UsageError("--timeout is 1 to 120 seconds", command: invocation.command.path))
        }
        let key = invocation.command["--idempotency-key"] ?? AutomationCommands.newKey(invocation)
        let request = ClientRequest(.post, try path(invocation) + "/invoke").field("Idempotency-Key", key).json {
            body in
            body.member("command", words.count > 1 ? words[1] : "")
            if !params.isEmpty {
                body.object("params") { object in for (name, value) in params { object.member(name, raw: value) } }
            }
            body.member("timeoutMs", wait.map { $0 * 1_000 })
        }
        let patience = Int((wait ?? 20) + 45) * 1_000
        guard let answer = try invocation.value(request.accepting("application/json", patience: patience)) else {
            return .ok
        }
        let command = Printable.line(answer["command"]?.string ?? "")
        if answer["queued"]?.bool == true {
            invocation.print("\(command) is done once the app is in front. Do not repeat it.")
        } else if let result = answer["result"], !result.isNull {
            let text = answer["raw"]?.bool == true ? result.string ?? "" : String(decoding: result.raw, as: UTF8.self)
            invocation.print(Printable.line(text))
        } else {
            invocation.print("\(command) is done.")
        }
        return .ok
    }

    /// `title=Tea` is a text, `width=3` a number, `loud=true` a boolean; quotes make any of them a text.
    private static func params(_ words: ArraySlice<String>) throws(CommandFailure) -> [(String, [UInt8])] {
        var params: [(String, [UInt8])] = []
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].isEmpty, !params.contains(where: { $0.0 == parts[0] }) else {
                throw CommandFailure(
                    UsageError(
                        "\(Printable.line(word)) is no parameter",
                        hint: "write each once as NAME=VALUE, such as title=Tea",
                        command: ["nodes", "invoke"]
                    )
                )
            }
            params.append((String(parts[0]), value(String(parts[1]))))
        }
        return params
    }

    private static func value(_ text: String) -> [UInt8] {
        if let value = try? JSONDocument(parsing: text).root, value.kind != .null {
            var writer = JSONWriter()
            writer.copy(value)
            return writer.bytes
        }
        var writer = JSONWriter()
        writer.string(text)
        return writer.bytes
    }

    // MARK: Words

    private static func state(_ node: JSONValue) -> String {
        let state = node["state"]?.string ?? ""
        return node["awaitsApproval"]?.bool == true ? "\(state), not approved" : state
    }

    private static func why(_ reason: String) -> String {
        switch reason {
        case "not_declared": "no, the node cannot"
        case "gateway_policy": "no, by the gateway"
        case "ladle_policy": "no, by Ladle"
        default: "no, \(reason)"
        }
    }

    private static func path(_ invocation: Invocation) throws(CommandFailure) -> String {
        ClientRequest.path("v1", "nodes", try invocation.id(of: .nodes))
    }
}
