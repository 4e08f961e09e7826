import Basics
import HTTPModel
import JSONBytes
import ReadableText

extension CommandSpec {
    static let approvals = CommandSpec("approvals", "What the agent wants to do and may not do by itself").with {
        let id = ArgumentSpec("id", "Id of the approval", values: .listed(.approvals))
        $0.usual = "list"
        $0.subcommands = [
            client(
                "list",
                "Show what waits for a decision",
                run: ApprovalCommands.list,
                [],
                [
                    OptionSpec("--all", nil, "Also what does not wait any more"),
                    OptionSpec("--session", "KEY", "Only this session", values: .listed(.sessions)),
                    OptionSpec("--limit", "N", "How many"),
                ]
            ),
            client("show", "Show one, and what became of it", run: ApprovalCommands.show, [id]),
            client(
                "allow",
                "Allow it; shows it at a terminal, and asks",
                run: ApprovalCommands.allow,
                [id],
                [
                    OptionSpec("--always", nil, "From now on, without a question; needs the scope admin"),
                    OptionSpec("--sha256", "HASH", "Only the question with this commandSha256; nothing is asked"),
                ]
            ),
            client("deny", "Deny it", run: ApprovalCommands.deny, [id]),
        ]
        $0.examples = ["ladle approvals", "ladle approvals allow 23f3fcf8"]
    }
}

/// `ladle approvals`: lists pending approvals and decides them.
enum ApprovalCommands {
    static func list(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let request = ClientRequest.get("/v1/approvals").adding("session", invocation.command["--session"])
            .adding("state", invocation.command.has("--all") ? "all" : nil)
            .adding("limit", try invocation.number("--limit").map(String.init))
        guard let answer = try invocation.value(request) else { return .ok }
        let approvals = answer["approvals"].list
        for approval in approvals { show(approval, invocation) }
        if approvals.isEmpty { invocation.print("Nothing waits for a decision.") }
        tellGaps(of: answer, scope: "operator.approvals", invocation)
        return .ok
    }

    /// Explains why there may be more approvals than the list shows.
    static func tellGaps(of answer: JSONValue, scope: String, _ invocation: Invocation) {
        guard let note = note(answer, scope) else { return }
        invocation.io.writeError(invocation.io.errorStyle.warning(note + "\n"))
    }

    private static func note(_ answer: JSONValue, _ scope: String) -> String? {
        switch answer["reason"]?.string {
        case "offline": "The gateway is away: what still waits there is not known."
        case "scope_missing": "Ladle may not see what waits. The gateway's scope \(scope) is missing: ladle doctor"
        case "listed_unavailable": "This gateway has no list: here is what it asked for while Ladle was connected."
        case "too_many": "The gateway holds back more than Ladle keeps at a time: the rest comes as these end."
        case "unanswered": "The gateway did not tell its list: here is what it asked for while Ladle was connected."
        default: nil
        }
    }

    static func show(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        let path = ClientRequest.path("v1", "approvals", try invocation.id(of: .approvals))
        guard let approval = try invocation.value(.get(path)) else { return .ok }
        show(approval, invocation)
        return .ok
    }

    private static func show(_ approval: JSONValue, _ invocation: Invocation) {
        let text = ApprovalText(approval, invocation.time, invocation.style)
        show(approval, text.end, text.question, invocation)
    }

    /// Shows an approval or a question: its id, end, session and times in one line, and its lines below.
    static func show(_ item: JSONValue, _ end: String, _ lines: [String], _ invocation: Invocation) {
        let style = invocation.style
        let text = ApprovalText(item, invocation.time, style)
        let isPending = item["state"]?.string == "pending"
        let times = [text.since, isPending ? text.until : nil].compactMap(\.self).joined(separator: ", ")
        let session = item["session"]?.string.map { Printable.line($0) + " " } ?? ""
        invocation.print("\(ApprovalText.id(item)) \(end) \(session)" + style.dim(times))
        for line in lines { invocation.print("  " + line) }
    }

    static func allow(_ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        try decide(invocation.command.has("--always") ? "allow-always" : "allow-once", invocation)
    }

    static func deny(_ invocation: Invocation) throws(CommandFailure) -> ExitCode { try decide("deny", invocation) }

    private static func decide(_ decision: String, _ invocation: Invocation) throws(CommandFailure) -> ExitCode {
        // Only an approval that exists now: the server accepts only whole ids, and only this question.
        let id = try invocation.id(of: .approvals)
        let asked = try answer(.get(ClientRequest.path("v1", "approvals", id)), invocation)
        if decision != "deny" { try confirm(asked, invocation) }
        guard let approval = try invocation.value(request(decision, asked)) else { return .ok }
        let end = ApprovalText(approval, invocation.time, invocation.style).end
        invocation.print("\(ApprovalText.id(approval)) is \(end): \(ApprovalText.title(approval))")
        return .ok
    }

    /// Makes sure that the question is the one which the person has seen: one id may ask one thing after another.
    private static func confirm(_ asked: JSONValue, _ invocation: Invocation) throws(CommandFailure) {
        if let hash = invocation.command["--sha256"] {
            guard hash == asked["commandSha256"]?.string else {
                throw CommandFailure(
                    .temporary,
                    "APPROVAL_CHANGED",
                    "the approval asks something else than that; nothing was decided",
                    hint: "ladle approvals show \(Printable.argument(ApprovalText.id(asked)))"
                )
            }
            return
        }
        let io = invocation.io
        guard io.isInputTerminal, io.isErrorTerminal, !invocation.json, asked["state"]?.string == "pending" else {
            return
        }
        for line in ApprovalText(asked, invocation.time, io.errorStyle).question { io.writeError("  \(line)\n") }
        guard io.confirms("Allow it?") else {
            throw CommandFailure(
                .temporary,
                "NOT_ALLOWED",
                "nothing was decided",
                hint: "to deny it: ladle approvals deny \(Printable.argument(ApprovalText.id(asked)))"
            )
        }
    }

    /// The approval after the decision.
    /// - Parameter asked: the approval as it was shown.
    static func decide(
        _ decision: String,
        _ asked: JSONValue,
        _ invocation: Invocation
    ) throws(CommandFailure) -> JSONValue {
        try answer(request(decision, asked), invocation)
    }

    private static func answer(_ request: ClientRequest, _ invocation: Invocation) throws(CommandFailure) -> JSONValue {
        let response = try invocation.perform(request)
        do throws(ClientError) {
            return try response.json()
        } catch {
            throw CommandFailure(error)
        }
    }

    private static func request(_ decision: String, _ asked: JSONValue) -> ClientRequest {
        ClientRequest(.post, ClientRequest.path("v1", "approvals", asked["id"]?.string ?? "")).json { body in
            body.member("decision", decision)
            body.member("commandSha256", asked["commandSha256"]?.string)
        }
    }
}
