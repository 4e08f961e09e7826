import Basics
import HTTPModel
import JSONBytes
import ReadableText

enum PairingCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        guard let answer = try invocation.value(.get("/v1/pairing")) else { return .ok }
        guard let requests = answer["requests"], requests.count > 0 else {
            invocation.print("Nobody asks to be paired.")
            return .ok
        }
        let time = invocation.time
        var table = TextTable("CODE", "NAME", "SCOPES", "FROM", "EXPIRES")
        for request in requests.elements {
            table.add(
                request["code"]?.string ?? "",
                request["name"]?.string ?? "",
                request["scopes"].words,
                request["from"]?.string ?? "",
                time.relative(request["expiresAt"]?.string)
            )
        }
        invocation.print(table.text(width: invocation.io.tableWidth, style: invocation.style))
        return .ok
    }

    static func approve(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try decide("approve", "is let in; it fetches its token now.", invocation)
    }

    static func reject(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try decide("reject", "is sent away.", invocation)
    }

    private static func decide(
        _ verb: String,
        _ result: String,
        _ invocation: Invocation
    ) throws(CommandFailure) -> ExitCode {
        let code = (invocation.command.arguments.first ?? "").uppercased()
        let scopes = (invocation.command["--scopes"] ?? "").split(separator: ",").map(String.init)
        let request = ClientRequest(.post, ClientRequest.path("v1", "pairing", verb)).json { body in
            body.member("code", code)
            if !scopes.isEmpty { body.array("scopes", of: scopes) }
        }
        guard let answer = try invocation.value(request) else { return .ok }
        invocation.print("\(Printable.line(answer["name"]?.string ?? code)) \(result)")
        return .ok
    }
}
