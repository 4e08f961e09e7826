import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import ReadableText
import Runs
import Server
import Service

/// `GET /v1/messages`.
enum MessageOperations {
    static let routes = [
        Route(
            "listMessages",
            .get,
            "/v1/messages",
            scope: .read,
            produces: [.json, .plain],
            query: ["after", "before", "limit", "refresh", "session"],
            isPage: true,
            handler: Route.flow(list)
        ),
        Route(
            "sendMessage",
            .post,
            "/v1/messages",
            scope: .send,
            body: .message,
            produces: [.json, .plain, .eventStream],
            query: ["force", "mode", "session", "thinking", "wait"],
            handler: Route.flow(AcceptMessage.handle)
        ),
        Route(
            "speakMessage",
            .get,
            "/v1/messages/{id}/speech",
            scope: .read,
            produces: SpeechOperation.types,
            query: ["session"],
            handler: Route.flow(SpeechOperation.handle)
        ),
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        if call.answersWarm(api, on: loop) { return }
        let query = MessagePages.Query(
            session: try api.runs.session(named: call.text("session") ?? "main", "session"),
            limit: try call.number("limit", in: 1...500, default: 50),
            before: try place("before", call),
            after: try place("after", call)
        )
        guard call.caller.mayUse(session: query.session) else { throw Problem(.foreignSession) }
        let refresh = try call.flag("refresh")
        var page: MessagePages.Page
        do throws(MessagePages.Fault) {
            page = try await api.services.messagePages.read(query, refresh: refresh, on: loop)
        } catch {
            switch error {
            case .noPlace(let name): throw .noPlace(name, "message")
            case .service(let fault): throw Problem(fault, doing: "read messages")
            }
        }
        if !page.isLive { page.asOf = page.asOf ?? api.startedAt }
        answer(call, page, query.session, api, on: loop)
    }

    private static func place(_ name: String, _ call: Call) throws(Problem) -> MessagePages.Place? {
        guard let text = call.text(name) else { return nil }
        guard let place = MessagePages.Place(text) else {
            throw .badParameter(name, "`\(name)` is a place as an earlier answer gave it, or the id of a message.")
        }
        return place
    }

    static func text(_ messages: [ChatMessage], asOf: Timestamp?) -> String {
        var lines = asOf.map { ["# as of \($0.rfc3339): the gateway is away"] } ?? []
        for message in messages {
            guard let message = AnswerForm.of(message) else { continue }
            lines += MessageText.lines(message, at: message["at"]?.string ?? "", .plain)
        }
        return lines.isEmpty ? "no messages\n" : lines.joined(separator: "\n") + "\n"
    }

    private static func answer(
        _ call: Call,
        _ page: MessagePages.Page,
        _ session: String,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        if call.wantsText {
            let response = Response.text(.ok, text(page.messages, asOf: page.asOf))
            return call.respondTagged(response, warming: api, on: loop)
        }
        call.respondTagged(
            .object { object in
                object.member("session", session)
                object.array("messages", of: page.messages)
                object.member("before", page.before?.text)
                object.member("after", page.after?.text)
                object.member("live", page.isLive)
                object.member("asOf", page.asOf)
            },
            warming: api,
            on: loop
        )
    }
}
