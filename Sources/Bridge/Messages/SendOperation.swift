import Access
import Basics
import EventLoops
import Exchanges
import HTTPModel
import JSONBytes
import Outbox
import Store
import TLS

/// `POST /v1/messages`: the message is on disk before the answer.
enum SendOperation {
    static func handle(_ bridge: Bridge, _ call: Call, _ loop: isolated EventLoop) {
        do throws(Problem) {
            let type = try call.bodyType()
            var text = ""
            var session = call.text("session") ?? "main"
            if type.isJSON {
                let body = try call.jsonObject()
                guard let value = body["text"]?.string else {
                    throw .unprocessable("text", "`text` is the message, a string.")
                }
                text = value
                session = body["session"]?.string ?? session
            } else {
                text = String(decoding: call.exchange.body, as: UTF8.self)
            }
            let message = text
            let key = try bridge.session(named: session, "session")
            try bridge.access.admitSend(call.exchange, by: call.caller, to: key, on: loop)
            let now = loop.wallClock
            let id = UUIDv7.make(milliseconds: now.milliseconds, random: SecureRandom.bytes(10))
            let entry = OutboxEntry(
                id: id,
                session: key,
                text: text,
                createdAt: now,
                expiresAt: now.adding(milliseconds: 48 * 3_600_000),
                payloadBytes: text.utf8.count
            )
            bridge.pipeline.commit(cost: text.utf8.count + 1024, on: loop) { transaction in
                try transaction.enqueue(entry, payload: OutboxTable.Payload(text: message, body: nil))
            } completion: { result in
                switch result {
                case .success(.accepted(let entry)):
                    bridge.outbox?.enqueued(entry, on: loop)
                    call.respond(.json(.accepted, entry).adding(.location, "/v1/outbox/\(entry.id)"), on: loop)
                default:
                    call.fail(.storeUnavailable("\(result)"), on: loop)
                }
            }
        } catch {
            call.fail(error, on: loop)
        }
    }
}

extension Call {
    func bodyType() throws(Problem) -> MediaType {
        guard let field = head.fields[.contentType] else { return .plain }
        do throws(HeaderValueError) {
            return try MediaType(parsing: field)
        } catch {
            throw Problem(.badRequest, "BAD_HEADER", "Bad header", error.description, field: "Content-Type")
        }
    }
}
