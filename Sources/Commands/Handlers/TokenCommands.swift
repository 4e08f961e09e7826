import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let token = CommandSpec("token", "Tokens for clients").with {
        let id = ArgumentSpec("id", "Id or name of the token", values: .listed(.tokens))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "create",
                "Make a token; it is shown once",
                run: TokenCommands.create,
                [],
                [
                    OptionSpec("--name", "NAME", "What the token is for"),
                    OptionSpec("--scopes", "LIST", "Scopes: read, send, identity, control, approvals, nodes, admin"),
                    OptionSpec("--session", "KEY", "Only this session", repeats: true, values: .listed(.sessions)),
                    OptionSpec("--paths", "LIST", "Only these paths of the API and what is below them"),
                    OptionSpec("--expires", "DURATION", "How long it is valid, such as 90d"),
                    OptionSpec(
                        "--openai",
                        "NAME",
                        "A key of this name for a program that speaks OpenAI's API, and for nothing else"
                    ),
                ]
            ).with {
                $0.examples = [
                    "ladle token create --openai open-webui",
                    "ladle token create --name kitchen --scopes read,send",
                    "ladle token create --name widget --scopes read --paths /v1/glance",
                ]
            },
            client("list", "List tokens", run: TokenCommands.list),
            client("rotate", "Replace the secret of a token", run: TokenCommands.rotate, [id]),
            client("revoke", "Revoke a token; its open streams close", run: TokenCommands.revoke, [id], [.yes]),
        ]
    }
}

enum TokenCommands {
    static func create(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        if let name = invocation.command["--openai"] { return try createKey(name, invocation) }
        guard let name = invocation.command["--name"], !name.isEmpty else {
            throw CommandFailure(
                UsageError("--name is missing: a name for the token", command: invocation.command.path)
            )
        }
        let scopes = invocation.command.words("--scopes")
        guard !scopes.isEmpty else {
            throw CommandFailure(
                UsageError(
                    "--scopes is missing: the permissions of the token",
                    hint: "for example --scopes read,send",
                    command: invocation.command.path
                )
            )
        }
        let sessions = invocation.command.all("--session")
        let paths = invocation.command.words("--paths")
        let expires = try invocation.milliseconds("--expires")
        let request = ClientRequest(.post, "/v1/tokens").json { body in
            body.member("name", name)
            body.array("scopes", of: scopes)
            if !sessions.isEmpty { body.array("sessions", of: sessions) }
            // A list without a path is a mistake, which Ladle reports.
            if invocation.command["--paths"] != nil { body.array("paths", of: paths) }
            body.member("expiresInSeconds", expires.map { $0 / 1000 })
        }
        guard let token = try invocation.value(request) else { return .ok }
        return show(token, invocation)
    }

    /// A key for programs that ask for a base URL and an API key.
    private static func createKey(_ name: String, _ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        for option in ["--name", "--scopes", "--paths"] where invocation.command.has(option) {
            throw CommandFailure(
                UsageError(
                    "--openai and \(option) exclude each other: the key is for OpenAI's API alone",
                    command: invocation.command.path
                )
            )
        }
        let sessions = invocation.command.all("--session")
        let expires = try invocation.milliseconds("--expires")
        let request = ClientRequest(.post, "/v1/tokens").json { body in
            body.member("name", name)
            body.array("scopes", of: ["send"])
            if !sessions.isEmpty { body.array("sessions", of: sessions) }
            body.array("paths", of: ["/openai", "/ollama"])
            body.member("expiresInSeconds", expires.map { $0 / 1000 })
        }
        guard let token = try invocation.value(request) else { return .ok }
        invocation.io.writeError(
            "The key is shown only now. It opens OpenAI's and Ollama's API (`openai.enabled`) and nothing else.\n"
        )
        let status = try? invocation.perform(.get("/v1/status")).json()
        let address = try PlaceFinder(command: invocation.command, io: invocation.io)
            .publicAddress(listeners: status?["listeners"].list.compactMap(\.string) ?? [])
        invocation.print("base URL  \(address)/openai/v1\nAPI key   \(Printable.line(token["token"]?.string ?? ""))")
        return .ok
    }

    static func rotate(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest(.post, try path(invocation) + "/rotate").json { _ in }
        guard let token = try invocation.value(request) else { return .ok }
        return show(token, invocation)
    }

    static func revoke(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let path = try path(invocation)
        try askBeforeTheLast(path, invocation)
        let response = try invocation.perform(ClientRequest(.delete, path))
        if invocation.json {
            invocation.print(response.body.isEmpty ? "{}" : String(decoding: response.body, as: UTF8.self))
        } else {
            invocation.print("Revoked. Its open streams are closed.")
        }
        return .ok
    }

    /// Asks before the last token goes that may make others: after that only the socket on this machine can.
    private static func askBeforeTheLast(_ path: String, _ invocation: Invocation) throws(CommandFailure) {
        guard invocation.mayAsk else { return }
        let answer = try? invocation.perform(.get("/v1/tokens")).json()
        let admins = (answer?["tokens"].list ?? []).filter { $0["scopes"].list.contains { $0.string == "admin" } }
        guard admins.count == 1, let last = admins.first else { return }
        let names = ["id", "name"].compactMap { last[$0]?.string }
        guard names.contains(where: { ClientRequest.path("v1", "tokens", $0) == path }) else { return }
        let name = Printable.line(names.last ?? "")
        try invocation.ask("Revoke \(name)? It is the last token with the scope admin.")
    }

    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let answer = try invocation.value(.get("/v1/tokens")) else { return .ok }
        let time = invocation.time
        var table = TextTable("ID", "NAME", "SCOPES", "SESSIONS", "PATHS", "USED", "EXPIRES")
        for token in answer["tokens"].list {
            table.add(
                token["id"]?.string ?? "",
                token["name"]?.string ?? "",
                token["scopes"].words,
                token["sessions"].words,
                token["paths"].words,
                token["lastUsedAt"]?.string.map { time.short($0) } ?? "never",
                token["expiresAt"]?.string.map { time.relative($0) } ?? "never"
            )
        }
        return invocation.print(
            table,
            orElse: "There are no tokens. Make one with: ladle token create --name NAME --scopes read,send"
        )
    }

    private static func show(_ token: JSONValue, _ invocation: Invocation) -> ExitCode {
        // Only the secret goes to standard output, so that it can be piped into a file.
        let style = invocation.io.errorStyle
        invocation.io.writeError(
            "Token \(Printable.line(token["name"]?.string ?? "")) (\(Printable.line(token["id"]?.string ?? ""))), "
                + "scopes \(Printable.line(token["scopes"].words))\(only(token["paths"])). \(style.bold("It is shown only now:"))\n"
        )
        invocation.print(Printable.line(token["token"]?.string ?? ""))
        return .ok
    }

    /// The rest of a sentence about a token or an application: its paths.
    static func only(_ paths: JSONValue?) -> String {
        paths.list.isEmpty ? "" : ", only for \(Printable.line(paths.words))"
    }

    private static func path(_ invocation: Invocation) throws(CommandFailure) -> String {
        ClientRequest.path("v1", "tokens", try invocation.id(of: .tokens))
    }
}
