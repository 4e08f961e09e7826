/// A connection to the daemon, used by one thread.
package protocol ByteChannel: AnyObject {
    func send(_ bytes: [UInt8]) throws(ClientError)
    /// The next bytes; empty at the end. - Parameter milliseconds: how long to wait; nil waits without end.
    func receive(milliseconds: Int?) throws(ClientError) -> [UInt8]
}

/// The reason why the daemon did not answer.
package enum ClientError: Error, Equatable, Sendable {
    case notRunning(path: String)
    case notAllowed(path: String)
    case unreachable(path: String, reason: String)
    case closed
    case timeOut
    case badAnswer(String)

    package var message: String {
        switch self {
        case .notRunning(let path): "no ladle serve is running: nothing answers at \(path)"
        case .notAllowed(let path): "\(path) belongs to another user"
        case .unreachable(let path, let reason): "\(path) cannot be reached: \(reason)"
        case .closed: "ladle serve closed the connection before it had answered"
        case .timeOut: "ladle serve did not answer in time"
        case .badAnswer(let detail): "the answer is not HTTP: \(detail)"
        }
    }

    var exit: ExitCode {
        switch self {
        case .notRunning, .unreachable: .unavailable
        case .notAllowed: .noPermission
        case .closed, .timeOut: .temporary
        case .badAnswer: .internal
        }
    }

    var code: String {
        switch self {
        case .notRunning: "NOT_RUNNING"
        case .notAllowed: "SOCKET_NOT_ALLOWED"
        case .unreachable: "SOCKET_UNREACHABLE"
        case .closed: "CONNECTION_CLOSED"
        case .timeOut: "NO_ANSWER"
        case .badAnswer: "BAD_ANSWER"
        }
    }

    /// Whether the request may have been carried out all the same.
    static let unansweredCodes = [Self.closed.code, Self.timeOut.code]

    package var hint: String? {
        switch self {
        case .notRunning: "start it with: ladle serve    (or name its socket with --socket PATH)"
        case .notAllowed: "run the command as the user that runs ladle serve"
        case .unreachable: "ladle doctor"
        case .closed, .timeOut: "try again; the log of ladle serve says more"
        case .badAnswer: "check that --socket names the control socket of ladle serve"
        }
    }
}
