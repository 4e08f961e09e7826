import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let clients = CommandSpec("clients", "Devices that ask for a token").with {
        let code = ArgumentSpec("code", "The code the device shows", values: .listed(.codes))
        $0.usual = "list"
        $0.subcommands = [
            client("list", "List pairing requests", run: PairingCommands.list),
            client(
                "approve",
                "Give a device its token; shows what it asks for, and asks",
                run: PairingCommands.approve,
                [code],
                [
                    OptionSpec("--scopes", "LIST", "Grant these of the scopes it asks for, without a question"),
                    OptionSpec("--paths", "LIST", "Grant only these paths of the API and what is below them"),
                ]
            ),
            client("reject", "Refuse a device", run: PairingCommands.reject, [code]),
        ]
    }
}

enum PairingCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let answer = try invocation.value(.get("/v1/pairing")) else { return .ok }
        let time = invocation.time
        var table = TextTable("CODE", "NAME", "SCOPES", "PATHS", "FROM", "EXPIRES")
        for request in answer["requests"].list {
            table.add(
                request["code"]?.string ?? "",
                request["name"]?.string ?? "",
                request["scopes"].words,
                request["paths"].words,
                request["from"]?.string ?? "",
                time.relative(request["expiresAt"]?.string)
            )
        }
        return invocation.print(table, orElse: "Nobody asks to be paired.")
    }

    /// Scopes with which a device can change the agent, its host's files or access. The others only read and write
    /// messages.
    private static let strong: Set<String> = ["admin", "control", "identity", "approvals", "nodes"]

    /// Shows the application, and approves it after a confirmation: on a terminal by an answer, in a script by
    /// `--scopes`. In a script, scopes that only read and send need no confirmation.
    static func approve(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let code = code(invocation)
        let request = try find(code, invocation)
        let asked = request["scopes"]?.elements.compactMap(\.string) ?? []
        let named = scopes(invocation)
        let list = asked.joined(separator: ",")
        if !invocation.json {
            let name = Printable.line(request["name"]?.string ?? code)
            let place = Printable.line(request["from"]?.string ?? "an unknown address")
            let only = TokenCommands.only(request["paths"])
            let text = "\(name) from \(place) asks for the scopes \(Printable.line(list))\(only).\n"
            if named.isEmpty { invocation.io.writeError(text) }
        }
        if named.isEmpty {
            if invocation.io.isInputTerminal, invocation.io.isErrorTerminal, !invocation.json {
                guard invocation.io.confirms("Give it a token with them?") else {
                    throw CommandFailure(
                        .temporary,
                        "NOT_APPROVED",
                        "nothing was granted",
                        hint: "to refuse it: ladle clients reject \(code)"
                    )
                }
            } else if !strong.isDisjoint(with: asked) {
                let much = asked.filter(strong.contains).joined(separator: ", ")
                throw CommandFailure(
                    .usage,
                    "SCOPES_NEEDED",
                    "it asks for \(Printable.line(much)), and nobody is at a terminal to say yes",
                    hint: "name what you grant: ladle clients approve \(code) --scopes \(Printable.line(list))"
                )
            }
        }
        // Only the scopes and paths that were shown, even if the request has changed since.
        let asksPaths = request["paths"].list.compactMap(\.string)
        let paths = invocation.command["--paths"] == nil ? asksPaths : invocation.command.words("--paths")
        return try decide(
            "approve",
            code,
            named.isEmpty ? asked : named,
            paths: invocation.command["--paths"] == nil && paths.isEmpty ? nil : paths,
            "is let in; it fetches its token now.",
            invocation
        )
    }

    private static func find(_ code: String, _ invocation: Invocation) throws(CommandFailure) -> JSONValue {
        let response = try invocation.perform(.get("/v1/pairing"))
        let list: JSONValue
        do throws(ClientError) {
            list = try response.json()
        } catch {
            throw CommandFailure(error)
        }
        guard let found = list["requests"]?.elements.first(where: { $0["code"]?.string == code }) else {
            throw CommandFailure(
                .usage,
                "UNKNOWN_CODE",
                "no device waits under the code \(Printable.line(code))",
                hint: "those that wait: ladle clients"
            )
        }
        return found
    }

    private static func code(_ invocation: Invocation) -> String {
        (invocation.command.arguments.first ?? "").uppercased()
    }

    private static func scopes(_ invocation: Invocation) -> [String] {
        invocation.command.words("--scopes")
    }

    static func reject(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try decide("reject", code(invocation), [], "is sent away.", invocation)
    }

    private static func decide(
        _ verb: String,
        _ code: String,
        _ scopes: [String],
        paths: [String]? = nil,
        _ result: String,
        _ invocation: Invocation
    ) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest(.post, ClientRequest.path("v1", "pairing", verb)).json { body in
            body.member("code", code)
            if !scopes.isEmpty { body.array("scopes", of: scopes) }
            if let paths { body.array("paths", of: paths) }
        }
        guard let answer = try invocation.value(request) else { return .ok }
        invocation.print("\(Printable.line(answer["name"]?.string ?? code)) \(result)")
        return .ok
    }
}
