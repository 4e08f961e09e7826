import Basics
import JSONBytes

/// The JSON object of a command. A member that the command does not know is refused by name: it is a misspelt one,
/// and without it the command would mean something else.
struct CommandBody {
    /// Members of every command, which do not go to the API.
    private static let own = ["id", "at"]
    private static let ofMessage = ["text", "session", "thinking", "mode", "attachments", "ttlSeconds", "notBefore"]
    private static let ofSession = ["label", "model", "thinking", "verbose", "unread", "pinned", "archived"]
    private static let longestID = 256

    let root: JSONValue

    init(_ root: JSONValue) { self.root = root }

    // MARK: Commands

    /// - Parameter expiry: the seconds that the broker leaves of the message's time. The shorter of both times holds.
    func send(expiry: Int64?) throws(BrokerRefusal) -> [UInt8] {
        try refuseOthers(than: Self.ofMessage + Self.own + ["wait"])
        let given = root["ttlSeconds"]
        guard given == nil || given?.isNull == true || given?.int != nil else {
            throw .field("ttlSeconds", "`ttlSeconds` is a whole number.")
        }
        return JSONWriter.bytes(capacity: 512) { object in
            for (name, value) in root.members where Self.ofMessage.contains(name) && name != "ttlSeconds" {
                object.key(name)
                object.copy(value)
            }
            if let seconds = [given?.int, expiry].compactMap({ $0 }).min() { object.member("ttlSeconds", seconds) }
        }
    }

    func abort() throws(BrokerRefusal) -> BrokerCommand.Action {
        try refuseOthers(than: ["run", "session", "all"] + Self.own)
        let run = try string("run", limit: Self.longestID)
        let session = try string("session", limit: SessionKey.limit)
        let isAll = try all()
        switch (run, session, isAll) {
        case (let run?, nil, false): return .request(.abort(run: run))
        case (nil, let session?, false): return .request(.abort(session: session))
        case (nil, nil, true): return .abortAll
        default: throw .field("run", #"The command has one of `run`, `session` and `"all":true`."#)
        }
    }

    func retry() throws(BrokerRefusal) -> BrokerCommand.Action {
        try refuseOthers(than: ["entry"] + Self.own)
        guard let entry = try string("entry", limit: Self.longestID) else { return .retryFailed }
        return .request(.retry(entry: entry))
    }

    func decision() throws(BrokerRefusal) -> BrokerCommand.Action {
        try refuseOthers(than: ["decision", "commandSha256"] + Self.own)
        guard let id = try string("id", limit: Self.longestID) else {
            throw .field("id", "`id` is missing: the id of the approval.", hint: "The topic approvals lists them.")
        }
        let hash = try string("commandSha256", limit: 64)
        guard let decision = try string("decision", limit: 64) else {
            throw .field("decision", "`decision` is missing: allow-once or deny.")
        }
        if decision == "allow-always" {
            throw BrokerRefusal(
                .decisionNotAllowed,
                "`allow-always` is not taken from a broker, behind which nobody is known by name.",
                hint: "Send allow-once, or decide with Ladle itself.",
                field: "decision"
            )
        }
        guard decision == "allow-once" || decision == "deny" else {
            throw .field(
                "decision",
                "`decision` is allow-once or deny.",
                hint: NearestName.of(decision, in: ["allow-once", "deny"]).map { "Did you mean `\($0)`?" }
            )
        }
        let body = JSONWriter.bytes { object in
            object.member("decision", decision)
            object.member("commandSha256", hash)
        }
        return .request(.decide(approval: id, body: body))
    }

    func denyAll() throws(BrokerRefusal) -> BrokerCommand.Action {
        try refuseOthers(than: ["all"] + Self.own)
        guard try all() else { throw .field("all", #"The command is `{"all":true}`."#) }
        return .denyAll
    }

    func change() throws(BrokerRefusal) -> BrokerCommand.Action {
        try refuseOthers(than: ["session"] + Self.ofSession + Self.own)
        guard let session = try string("session", limit: SessionKey.limit) else {
            throw .field("session", "`session` is missing: the key of the session.")
        }
        guard root.members.contains(where: { Self.ofSession.contains($0.key) }) else {
            throw .field(
                "model",
                "The command changes nothing.",
                hint: "It has one or more of \(Self.ofSession.joined(separator: ", "))."
            )
        }
        let body = JSONWriter.bytes { object in
            for (name, value) in root.members where Self.ofSession.contains(name) {
                object.key(name)
                object.copy(value)
            }
        }
        return .request(.change(session: session, body: body))
    }

    // MARK: Members

    /// A text that is not empty; nil if the member is missing or null.
    func string(_ name: String, limit: Int) throws(BrokerRefusal) -> String? {
        guard let value = root[name], !value.isNull else { return nil }
        guard let text = value.string, !text.isEmpty, text.utf8.count <= limit else {
            throw .field(name, "`\(name)` is a text of 1 to \(limit) bytes.")
        }
        return text
    }

    func flag(_ name: String) throws(BrokerRefusal) -> Bool? {
        guard let value = root[name], !value.isNull else { return nil }
        guard let flag = value.bool else { throw .field(name, "`\(name)` is true or false.") }
        return flag
    }

    func time(_ name: String) throws(BrokerRefusal) -> Timestamp? {
        guard let text = try string(name, limit: 64) else { return nil }
        guard let time = Timestamp(rfc3339: text) else {
            throw .field(name, "`\(name)` is a time such as 2026-11-22T10:17:11Z.")
        }
        return time
    }

    /// `false` would be a command to do nothing; it is a mistake.
    private func all() throws(BrokerRefusal) -> Bool {
        guard let flag = try flag("all") else { return false }
        guard flag else { throw .field("all", "`all` is true, or missing.") }
        return true
    }

    private func refuseOthers(than known: [String]) throws(BrokerRefusal) {
        for (name, _) in root.members where !known.contains(where: { $0.isSameText(as: name) }) {
            let shown = Printable.escaped(name.shortened).text
            throw .field(
                shown,
                "This command has no member `\(shown)`.",
                hint: NearestName.of(name, in: known).map { "Did you mean `\($0)`?" }
                    ?? "Its members are \(known.sorted().joined(separator: ", "))."
            )
        }
    }
}
