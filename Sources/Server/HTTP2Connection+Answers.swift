import EventLoops
import HTTP2
import HTTPModel

/// Answers and streams: what exchanges hand over goes to the session.
extension HTTP2Connection {
    func inviteBody(of exchange: Exchange, on id: HTTP2StreamID, loop: isolated EventLoop) {
        guard exchange.head.fields.has(.expect, token: "100-continue") else { return }
        session.inform(id, ResponseHead(.continue))
        flushSoon(on: loop)
    }

    func send(_ response: Response, to exchange: Exchange?, on id: HTTP2StreamID, loop: isolated EventLoop) {
        if let exchange, ContentCoding.concerns(response, from: server.limits.compressFrom) {
            var coded = response
            ContentCoding.apply(to: &coded, accepted: exchange.head)
            return sendWhole(coded, to: exchange, on: id, loop: loop)
        }
        sendWhole(response, to: exchange, on: id, loop: loop)
    }

    func dropAnswer(on id: HTTP2StreamID, _ code: HTTP2ErrorCode) {
        server.counters.refused["HTTP2_unreadAnswers", default: 0] += 1
        session.reset(id, code)
    }

    private func sendWhole(
        _ response: Response,
        to exchange: Exchange?,
        on id: HTTP2StreamID,
        loop: isolated EventLoop
    ) {
        // Asked for while there was room, and others came first.
        if session.waitingBytes > server.limits.answerBytes {
            dropAnswer(on: id, .enhanceYourCalm)
            return flushSoon(on: loop)
        }
        let status = response.head.status
        let hasBody = !response.body.isEmpty && exchange?.method != .head && !status.forbidsBody
        session.respond(
            id,
            response.head,
            length: status.forbidsContentLength ? nil : response.body.count,
            common: server.commonHTTP2(on: loop),
            end: !hasBody
        )
        if hasBody { session.send(response.body, on: id, end: true) }
        flushSoon(on: loop)
    }

    func begin(_ head: ResponseHead, on id: HTTP2StreamID, loop: isolated EventLoop) {
        session.respond(id, head, common: server.commonHTTP2(on: loop), end: false)
        flushSoon(on: loop)
    }

    func write(_ bytes: [UInt8], on id: HTTP2StreamID, end: Bool, loop: isolated EventLoop) {
        session.send(bytes, on: id, end: end)
        flushSoon(on: loop)
    }

    var isBehind: Bool { session.waitingBytes + socket.waitingBytes > Self.outputBytes }

    func pendingBytes(on id: HTTP2StreamID) -> Int { session.pendingBytes(on: id) }

    func consume(_ count: Int, on id: HTTP2StreamID) { session.consume(count, on: id) }

    func reset(_ id: HTTP2StreamID, _ code: HTTP2ErrorCode, on loop: isolated EventLoop) {
        session.reset(id, code)
        flushSoon(on: loop)
    }
}
