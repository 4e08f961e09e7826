import Basics
import JSONBytes
import ReadableText

/// The lists whose rows a command line names: for completions, and for ids of which only a part is typed.
package enum ListedNames: String, CaseIterable, Sendable {
    case entries, runs, approvals, questions, automations, nodes, sinks, sessions, agents, tokens, codes, contexts

    /// A Tab must not hang.
    private static let patienceMilliseconds = 2000

    private var list: (request: ClientRequest, member: String, key: String)? {
        switch self {
        case .entries: (.get("/v1/outbox").adding("limit", "500"), "entries", "id")
        case .runs: (.get("/v1/runs").adding("limit", "200").adding("brief", "true"), "runs", "id")
        case .approvals: (.get("/v1/approvals").adding("limit", "200"), "approvals", "id")
        case .questions: (.get("/v1/questions"), "questions", "id")
        case .sinks: (.get("/v1/notifications/sinks"), "sinks", "name")
        case .automations: (.get("/v1/automations"), "automations", "id")
        case .nodes: (.get("/v1/nodes"), "nodes", "id")
        case .sessions: (.get("/v1/sessions"), "sessions", "key")
        case .agents: (.get("/v1/agents"), "agents", "id")
        case .tokens: (.get("/v1/tokens"), "tokens", "id")
        case .codes: (.get("/v1/pairing"), "requests", "code")
        case .contexts: nil
        }
    }

    /// The longest name that a shell offers: the longest of a session.
    private static let longestWord = SessionKey.limit

    /// The words that a shell may offer. A name that a shell could read as more than a word is left out: others choose
    /// the names of sessions, tokens and devices.
    func words(_ invocation: Invocation) throws(CommandFailure) -> [String] {
        try names(invocation).filter { $0.utf8.count <= Self.longestWord && Printable.isWord($0) }
    }

    private func names(_ invocation: Invocation) throws(CommandFailure) -> [String] {
        guard let rows = try rows(invocation) else {
            return try invocation.finder.contexts().contexts.map(\.name) + [ContextFile.local]
        }
        // A token can also be given by its name, which is easier to remember.
        return rows.compactMap { (self == .tokens ? $0["name"] : $0[list?.key ?? ""])?.string }
    }

    /// The fewest characters that stand for an id.
    private static let shortestPart = 4

    /// The whole id if only its end or its beginning was typed. Ids begin with a clock, so that those of one minute differ
    /// only towards the end. Other words are left to the server, which also accepts names.
    func completed(_ word: String, _ invocation: Invocation) throws(CommandFailure) -> String {
        var part = word.lowercased()[...]
        if part.hasPrefix("…") { part.removeFirst() }
        if part.hasSuffix("…") { part.removeLast() }
        guard (Self.shortestPart..<36).contains(part.count), part.allSatisfy({ $0.isHexDigit || $0 == "-" }) else {
            return word
        }
        let rows = try rows(invocation) ?? []
        // A token is also known by its name, which may look like a part of another one's id.
        if self == .tokens, rows.contains(where: { $0["name"]?.string == word }) { return word }
        let ids = rows.compactMap { $0[list?.key ?? ""]?.string }
        guard !ids.contains(word) else { return word }
        let found = ids.filter { id in
            let id = id.lowercased()
            return id.hasSuffix(part) || id.hasPrefix(part)
        }
        guard found.count > 1 else { return found.first ?? word }
        let names = found.prefix(3).joined(separator: ", ")
        throw CommandFailure(
            UsageError(
                "\(part) is part of \(found.count) ids: \(names)\(found.count > 3 ? ", …" : "")",
                hint: "type more of it",
                command: invocation.command.path
            )
        )
    }

    private func rows(_ invocation: Invocation) throws(CommandFailure) -> [JSONValue]? {
        guard let (request, member, _) = list else { return nil }
        let patience = invocation.command.name == "complete" ? Self.patienceMilliseconds : nil
        let response = try invocation.perform(request.accepting("application/json", patience: patience))
        do throws(ClientError) {
            return try response.json()[member].list
        } catch {
            throw CommandFailure(error)
        }
    }
}
