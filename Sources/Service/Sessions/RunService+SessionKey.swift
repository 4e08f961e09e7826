package import Basics
import Gateway

extension RunService {
    /// The canonical form of a session's name, or the reason why it names none.
    package func key(named text: String) throws(SessionKey.Problem) -> SessionKey { try defaults.canonical(text) }
}
