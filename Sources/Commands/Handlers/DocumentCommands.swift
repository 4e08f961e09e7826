import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let identity = document(
        "identity",
        "The agent's IDENTITY.md",
        fields: "name, creature, vibe, theme, emoji, avatar"
    )

    static let profile = document(
        "profile",
        "The agent's knowledge of its user, USER.md",
        fields: "name, callName, pronouns, timezone, notes, context"
    )

    private static func document(_ name: String, _ summary: String, fields: String) -> CommandSpec {
        let agent = OptionSpec("--agent", "NAME", "Agent; by default the gateway's", values: .listed(.agents))
        return CommandSpec(name, summary).with {
            $0.usual = "show"
            $0.subcommands = [
                client(
                    "show",
                    "Show it",
                    run: DocumentCommands.show,
                    [],
                    [
                        agent, OptionSpec("--refresh", nil, "Ask the gateway now"),
                        OptionSpec("--markdown", nil, "Print the file itself"),
                    ]
                ),
                client(
                    "set",
                    "Set fields: \(fields)",
                    run: DocumentCommands.set,
                    [ArgumentSpec("name=value", "A field and its new value; empty clears", repeats: true)],
                    [agent]
                )
                .with { $0.examples = ["ladle \(name) set name=Wren"] },
                client("edit", "Edit the file with $EDITOR", run: DocumentCommands.edit, [], [agent]),
            ]
        }
    }
}

/// `identity` and `profile`: the same three commands on two resources.
enum DocumentCommands {
    static func show(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = resource(invocation, .get).adding("refresh", invocation.command.has("--refresh") ? "true" : nil)
        if invocation.command.has("--markdown"), !invocation.json {
            let text = try invocation.perform(request.accepting("text/markdown")).body
            invocation.io.write(
                invocation.io.isOutputTerminal
                    ? Array((Printable.text(String(decoding: text, as: UTF8.self))).utf8) : text
            )
            return .ok
        }
        guard let answer = try invocation.value(request) else { return .ok }
        let io = invocation.io
        if answer["stale"]?.bool == true {
            io.writeError(
                io.errorStyle.warning("As of \(invocation.time.short(answer["asOf"]?.string)): the gateway is away.\n")
            )
        }
        var isEmpty = true
        let fields = (answer["fields"]?.members).map { Array($0) } ?? []
        for (name, value) in fields {
            isEmpty = false
            show(name, value, invocation)
        }
        if isEmpty { invocation.print("No field is set. Set one with: ladle \(name(invocation)) set name=NAME") }
        return .ok
    }

    private static func show(_ name: String, _ value: JSONValue, _ invocation: Invocation) {
        var lines = Printable.text(value.string ?? "").split(separator: "\n", omittingEmptySubsequences: false).map(
            String.init
        )
        if value.kind == .array {
            lines = value.elements.map {
                Printable.line(
                    "\($0["text"]?.string ?? "") (\($0["status"]?.string ?? ""), \($0["observed"]?.string ?? ""))"
                )
            }
        }
        for (index, line) in lines.enumerated() {
            invocation.print(
                invocation.style.dim(DisplayWidth.padded(index == 0 ? Printable.line(name) : "", 12)) + line
            )
        }
    }

    /// Sends a merge patch of single fields. The server applies it to the newest text, so it needs no version.
    static func set(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        var fields: [(String, String)] = []
        for argument in invocation.command.arguments {
            guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex else {
                throw CommandFailure(
                    UsageError(
                        "\"\(argument)\" is no NAME=VALUE",
                        hint: "for example: ladle \(name(invocation)) set name=Wren",
                        command: invocation.command.path
                    )
                )
            }
            fields.append((String(argument[..<equals]), String(argument[argument.index(after: equals)...])))
        }
        if let twice = fields.indices.first(where: { index in fields[..<index].contains { $0.0 == fields[index].0 } }) {
            throw CommandFailure(UsageError("\(fields[twice].0) is given twice", command: invocation.command.path))
        }
        var writer = JSONWriter()
        writer.object { body in for (name, value) in fields { body.member(name, value) } }
        let request = resource(invocation, .patch).field("If-Match", "*")
            .with(body: writer.bytes, as: "application/merge-patch+json")
        guard let answer = try invocation.value(request) else { return .ok }
        tellWritten(answer, invocation)
        return .ok
    }

    /// Opens the file in an editor. Changes made meanwhile by others are never overwritten.
    static func edit(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let io = invocation.io
        let current = try invocation.perform(
            resource(invocation, .get).accepting("text/markdown").adding("refresh", "true")
        )
        guard let tag = current.head.fields.string(for: .etag) else {
            throw CommandFailure(.internal, "NO_ETAG", "the API sent no version of the file")
        }
        let path: String
        let edited: [UInt8]
        do throws(FileFault) {
            path = try io.makeTemporary(current.body, suffix: ".md")
            let editor =
                [io.environment["VISUAL"], io.environment["EDITOR"]].compactMap(\.self).first { !$0.isEmpty } ?? "vi"
            let status = io.edit(path, with: editor)
            guard status == 0 else {
                throw FileFault("\(editor) ended with \(status); nothing is changed, your text is in \(path)")
            }
            edited = try io.readFile(path, limit: 4 << 20)
        } catch {
            throw CommandFailure(error)
        }
        if edited == current.body {
            io.remove(path)
            invocation.print("Nothing is changed.")
            return .ok
        }
        let request = resource(invocation, .put).field("If-Match", tag).with(body: edited, as: "text/markdown")
        let answer: JSONValue?
        do throws(CommandFailure) {
            answer = try invocation.value(request)
        } catch {
            let isConflict = ["PRECONDITION_FAILED", "WRITE_NOT_SEEN"].contains(error.code)
            throw CommandFailure(
                error.exit,
                error.code,
                isConflict ? "someone else changed the file meanwhile" : error.title,
                detail: error.detail,
                hint: "your text is kept in \(path)"
                    + (isConflict ? "; run the command again to start from the new file" : ""),
                document: error.document
            )
        }
        io.remove(path)
        if let answer { tellWritten(answer, invocation) }
        return .ok
    }

    private static func tellWritten(_ answer: JSONValue, _ invocation: Invocation) {
        let way = answer["path"]?.string == "chat" ? ", by asking the agent" : ""
        invocation.print("Written\(way).")
    }

    private static func resource(_ invocation: Invocation, _ method: HTTPMethod) -> ClientRequest {
        ClientRequest(method, "/v1/" + name(invocation)).adding("agent", invocation.command["--agent"])
    }

    private static func name(_ invocation: Invocation) -> String { invocation.command.path.first ?? "identity" }
}
