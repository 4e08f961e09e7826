import Access
import Basics
import Runs
import Server
import Service

extension RunService {
    /// The canonical form of a session's name in a request.
    func session(named text: String, _ field: String) throws(Problem) -> String {
        guard let key = session(named: text) else {
            throw .badParameter(field, "`\(field)` is a session key such as main or agent:main:main.")
        }
        return key
    }
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
