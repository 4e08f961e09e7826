import Access
import Basics
import Runs
import Server
import Service

extension RunService {
    /// The canonical form of a session's name in a request.
    func session(named text: String, _ field: String) throws(Problem) -> String {
        do throws(SessionKey.Problem) {
            return try key(named: text).text
        } catch {
            let detail = "`\(field)` is a session key such as main or agent:main:main\(error.reason)."
            throw Problem(.badParameter, detail, hint: error.remedy(for: text), field: field)
        }
    }
}

extension HTTPAPI {
    /// A message to a session begins it, if there is none of the name. Its name is then shown to everyone, so it
    /// has to be one that a screen shows and a shell takes as it is.
    func checkMayBegin(_ session: String, _ field: String) throws(Problem) {
        let key = SessionKey(canonical: session)
        guard let refused = key.untypable, !services.sessionModel.has(key) else { return }
        throw .invalidField(
            field,
            "There is no session \(Printable.escaped(session.shortened).text), and a new one has no quotes, $, backtick, backslash "
                + "or invisible character in its name.",
            hint: "leave out \(Printable.escaped(String(refused)).text)"
        )
    }
}

extension SessionKey.Problem {
    /// The end of a sentence that says how a key looks.
    fileprivate var reason: String {
        switch self {
        case .empty: "; this one is empty"
        case .tooLong(let limit): " of at most \(limit) bytes"
        case .blank: "; this one has a blank in it"
        case .control(let scalar): "; this one has the control character \(Self.shown(String(scalar))) in it"
        case .malformed: "; behind `agent:` stand an agent's id, a colon and a name"
        }
    }

    /// The change that makes a key of the text; nil if `reason` says it.
    fileprivate func remedy(for text: String) -> String? {
        switch self {
        case .blank: "write - for each blank: \(Self.shown(text.trimmingBlanks().replacing(" ", with: "-")))"
        case .control(let scalar): "leave out \(Self.shown(String(scalar)))"
        case .empty, .tooLong, .malformed: nil
        }
    }

    private static func shown(_ text: String) -> String { Printable.escaped(text).text }
}

extension Call {
    /// The `session` parameter as a filter; nil means all sessions. Without the parameter, a caller limited to sessions
    /// sees only its own.
    func onlySessions(of runs: RunService) throws(Problem) -> [String?] {
        if let text = text("session") {
            let session = try runs.session(named: text, "session")
            guard caller.mayUse(session: session) else { throw Problem(.foreignSession) }
            return [session]
        }
        return caller.sessions?.texts ?? [nil]
    }
}
