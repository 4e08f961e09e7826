package import EventLoops

/// What a responder says when it has seen the head and nothing of the body.
package enum Admission: Sendable {
    /// It has answered; the body, if any, is not wanted.
    case answered
    /// Go on, with at most so many bytes of body.
    case takes(bodyBytes: Int)
    /// Somebody else has to be asked first: nothing of the body is taken before `Exchange.proceed` or an answer.
    case later
}

/// The program behind the server.
package protocol Responder: AnyObject {
    func admit(_ exchange: Exchange, on loop: isolated EventLoop) -> Admission
    /// The request is complete.
    func respond(to exchange: Exchange, on loop: isolated EventLoop)
    /// The answer is on its way, for logs and metrics.
    func finished(_ exchange: Exchange, on loop: isolated EventLoop)
    /// A request that never became an exchange was refused.
    func refused(_ problem: Problem, requestID: String, connection: ConnectionInfo, on loop: isolated EventLoop)
}
