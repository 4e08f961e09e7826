/// The reason why the daemon did not answer.
package enum ClientError: Error, Equatable, Sendable {
    case notRunning(ServerPlace.Address)
    /// A server runs, but the file of its socket was deleted.
    case deleted(path: String)
    case notAllowed(path: String)
    case unreachable(ServerPlace.Address, reason: String)
    /// The server's certificate is not the expected one.
    case notTrusted(ServerPlace.Address, reason: String)
    case closed
    case timeOut
    case badAnswer(String)

    package var message: String {
        switch self {
        case .notRunning(let address): "no ladle serve is running: nothing answers at \(address)"
        case .deleted(let path): "ladle serve is running, but \(path) was deleted, perhaps with its state directory"
        case .notAllowed(let path): "\(path) belongs to another user"
        case .unreachable(let address, let reason): "\(address) cannot be reached: \(reason)"
        case .notTrusted(let address, let reason): "\(address) is not trusted: \(reason)"
        case .closed: "ladle serve closed the connection before it had answered"
        case .timeOut: "ladle serve did not answer in time"
        case .badAnswer(let detail): "the answer is not HTTP: \(detail)"
        }
    }

    var exit: ExitCode {
        switch self {
        case .notRunning, .deleted, .unreachable: .unavailable
        case .notAllowed, .notTrusted: .noPermission
        case .closed, .timeOut: .temporary
        case .badAnswer: .internal
        }
    }

    var code: String {
        switch self {
        case .notRunning: "NOT_RUNNING"
        case .deleted: "SOCKET_DELETED"
        case .notAllowed: "SOCKET_NOT_ALLOWED"
        case .unreachable(.unix, _): "SOCKET_UNREACHABLE"
        case .unreachable(.tcp, _): "HOST_UNREACHABLE"
        case .notTrusted: "NOT_TRUSTED"
        case .closed: "CONNECTION_CLOSED"
        case .timeOut: "NO_ANSWER"
        case .badAnswer: "BAD_ANSWER"
        }
    }

    /// A server that is being restarted fails so.
    var isOfRestart: Bool {
        switch self {
        case .closed, .timeOut, .notRunning, .unreachable, .deleted: true
        case .notAllowed, .notTrusted, .badAnswer: false
        }
    }

    /// Codes after which the request may have been carried out anyway.
    static let unansweredCodes = [Self.closed.code, Self.timeOut.code]

    package var hint: String? {
        switch self {
        case .notRunning(.unix): "start it with: ladle serve    (or say where it is: --state DIR, --socket PATH)"
        case .notRunning(.tcp): "start it on that host with: ladle serve    (its addresses: ladle doctor)"
        case .deleted: "put the directory back where it was, or stop ladle serve and start it again"
        case .notAllowed: "run the command as the user that runs ladle serve"
        case .unreachable(.unix, _): "ladle doctor"
        case .unreachable(.tcp, _): "ladle context list    (shows the places that are known)"
        case .notTrusted: "name the certificate with --pin SHA256    (ladle serve prints its SHA-256 at the start)"
        case .closed, .timeOut: "try again; the log of ladle serve says more"
        case .badAnswer: "check that the address is that of ladle serve"
        }
    }
}
