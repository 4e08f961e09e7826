package import HTTPModel

/// The life of a server connection, one exchange at a time: what may be read, what the response must say about the
/// connection, and what comes after it. No bytes and no clock; the caller does what the answers say.
///
/// Two rules decide every hard case. A response that begins before its request has ended closes the connection: the
/// rest of the body could be read as the next request (the 0.CL class). And after a refusal nothing is read as HTTP.
package struct HTTP1ConnectionState: Sendable, Equatable {
    /// What follows the last byte of a response.
    package enum Next: Sendable, Equatable {
        /// Take the next request, which may be in the buffer already.
        case readRequest
        /// Shut down the sending side and read on without looking, for at most this many bytes, so that the client
        /// gets the response before a reset; then close.
        case discardThenClose(limit: Int)
        case close
    }

    /// How to write the response.
    package struct Plan: Sendable, Equatable {
        package var bodyEnd: HTTP1BodyEnd
        package var connection: HTTP1ConnectionField
        /// Send the head only.
        package var omitsBody: Bool

        package init(bodyEnd: HTTP1BodyEnd, connection: HTTP1ConnectionField, omitsBody: Bool) {
            self.bodyEnd = bodyEnd
            self.connection = connection
            self.omitsBody = omitsBody
        }
    }

    private enum Phase: Sendable, Equatable {
        case awaitingRequest
        case exchange
        case closed
    }

    /// What a client may still have in flight when it is told off: one full window of a fast sender.
    package static let discardLimit = 262_144

    private var phase = Phase.awaitingRequest
    private var method = HTTPMethod.get
    private var version = HTTPVersion.http11
    private var clientKeepsAlive = true
    private var requestEnded = true
    private var awaitsContinue = false
    private var responseStarted = false
    private var closesAfterResponse = false
    private var isDraining = false
    /// Requests answered, for a limit on how long one client keeps a connection.
    package private(set) var exchangeCount = 0

    package init() {}

    /// Whether the parser may be asked for the next request. False while one is being answered: pipelined requests
    /// wait in the socket.
    package var mayReadRequest: Bool { phase == .awaitingRequest && !isDraining }
    package var isInExchange: Bool { phase == .exchange }
    package var isClosed: Bool { phase == .closed }
    /// Whether body bytes of the current request are still to come.
    package var expectsBody: Bool { phase == .exchange && !requestEnded }

    /// A head has been parsed.
    package mutating func receiveHead(_ head: borrowing RequestHead, framing: RequestFraming) {
        guard phase == .awaitingRequest else { return }
        phase = .exchange
        method = head.method
        version = head.version
        clientKeepsAlive = framing.keepAlive
        requestEnded = framing.body == .none
        awaitsContinue = framing.expectsContinue
        responseStarted = false
        closesAfterResponse = false
    }

    /// Body bytes have come: the client did not wait for 100.
    package mutating func receiveBody() { awaitsContinue = false }

    package mutating func receiveRequestEnd() {
        requestEnded = true
        awaitsContinue = false
    }

    /// The handler wants the body. True once: send `100 Continue` now.
    package mutating func shouldSendContinue() -> Bool {
        guard awaitsContinue, !responseStarted else { return false }
        awaitsContinue = false
        return true
    }

    /// A response begins.
    /// - Parameter length: of the body; nil for a stream.
    /// - Parameter closing: the handler wants the connection closed, as for every refusal before a handler.
    package mutating func startResponse(status: HTTPStatus, length: Int?, closing: Bool = false) -> Plan {
        responseStarted = true
        let omitsBody = HTTP1Encoder.omitsBody(method: method, status: status)
        var bodyEnd: HTTP1BodyEnd
        if status.forbidsBody {
            bodyEnd = .none
        } else if let length {
            bodyEnd = .length(length)
        } else {
            bodyEnd = version == .http11 ? .chunked : .close
        }
        closesAfterResponse = closing || isDraining || !clientKeepsAlive || !requestEnded
        if bodyEnd == .close {
            closesAfterResponse = true
            if omitsBody { bodyEnd = .none }
        }
        let connection: HTTP1ConnectionField =
            closesAfterResponse ? .close : version == .http10 ? .keepAlive : .implied
        return Plan(bodyEnd: bodyEnd, connection: connection, omitsBody: omitsBody)
    }

    /// The last byte of the response has been handed to the socket.
    package mutating func endResponse() -> Next {
        exchangeCount += 1
        guard closesAfterResponse || isDraining else {
            phase = .awaitingRequest
            return .readRequest
        }
        phase = .closed
        return requestEnded ? .close : .discardThenClose(limit: Self.discardLimit)
    }

    /// The parser or a gate refused the request. The plan is for the one response that still goes out, unless a
    /// response had begun: then there is none and the connection just closes.
    package mutating func refuse(status: HTTPStatus, length: Int) -> Plan? {
        let began = phase == .exchange && responseStarted
        if phase == .awaitingRequest {
            // The head is not known, so the answer must suit any request.
            method = .get
            version = .http11
        }
        phase = .exchange
        requestEnded = false
        if began {
            closesAfterResponse = true
            return nil
        }
        return startResponse(status: status, length: length, closing: true)
    }

    /// The server stops: no further request is taken; the current one is answered with `Connection: close` if its
    /// head has not gone yet. True when the connection is idle and can be closed at once.
    package mutating func drain() -> Bool {
        isDraining = true
        if phase == .awaitingRequest { phase = .closed }
        return phase == .closed
    }
}
