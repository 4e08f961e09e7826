import JSONBytes

/// A row of `ladle top` that can be chosen.
enum TopItem: Hashable {
    /// An approval is named with its question, since one id may ask one thing after another.
    case approval(String)
    case question(String)
    case run(String)
    case session(String)
    case entry(String)
}

extension TopModel {
    /// All that can be chosen, in the order of the screen: decisions, sessions with their runs, the outbox.
    var items: [TopItem] {
        approvals.map { .approval(ApprovalText.question($0)) } + questions.map { .question($0["id"]?.string ?? "") }
            + sessionRows.map(\.item) + entries.map { .entry($0["id"]?.string ?? "") }
    }

    /// A session with one of its runs, or without.
    struct SessionRow {
        let key: String
        let session: JSONValue?
        let run: Run?

        var item: TopItem { run.map { .run($0.id) } ?? .session(key) }
    }

    /// Runs first, then the sessions in which nothing runs.
    var sessionRows: [SessionRow] {
        let active = runs.map { run in
            SessionRow(key: run.session, session: session(run.session), run: run)
        }
        let busy = Set(runs.map(\.session))
        return active
            + sessions.compactMap { session in
                guard let key = session["key"]?.string, !busy.contains(key) else { return nil }
                return SessionRow(key: key, session: session, run: nil)
            }
    }

    func session(_ key: String) -> JSONValue? { sessions.first { $0["key"]?.string == key } }
    func run(_ id: String) -> Run? { runs.first { $0.id == id } }
    func approval(_ name: String) -> JSONValue? { approvals.first { ApprovalText.question($0) == name } }
    func question(_ id: String) -> JSONValue? { questions.first { $0["id"]?.string == id } }
    func entry(_ id: String) -> JSONValue? { entries.first { $0["id"]?.string == id } }

    /// The run that a row stands for.
    func run(of item: TopItem) -> Run? {
        switch item {
        case .run(let id): run(id)
        case .session(let key): runs.first { $0.session == key }
        default: nil
        }
    }
}
