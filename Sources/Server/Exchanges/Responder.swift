package import EventLoops

/// The responder's decision after the head and before the body.
package enum Admission: Sendable {
    /// The responder has answered; a body is not wanted.
    case answered
    /// Continue, with at most this many bytes of body.
    case takes(bodyBytes: Int)
    /// The decision depends on another service. No body is read before `Exchange.proceed` or an answer.
    case later
}

/// The program behind the server.
package protocol Responder: AnyObject {
    func admit(_ exchange: Exchange, on loop: isolated EventLoop) -> Admission
    /// The request is complete.
    func respond(to exchange: Exchange, on loop: isolated EventLoop)
    /// The caller in whose share of the memory a large body or answer is counted.
    func holder(of exchange: Exchange) -> MemoryHolder
    /// The answer has been handed to the connection; called for logs and metrics.
    func finished(_ exchange: Exchange, on loop: isolated EventLoop)
    /// A request was refused before it became an exchange.
    func refused(_ problem: Problem, requestID: String, connection: ConnectionInfo, on loop: isolated EventLoop)
}
