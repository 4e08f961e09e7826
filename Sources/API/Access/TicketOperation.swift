import Access
import EventLoops
import HTTPModel
import JSONBytes
import Server

/// `POST /v1/tickets`: buys one read of one path, for clients that cannot set headers.
enum TicketOperation {
    static let routes = [
        Route(
            "createTicket",
            .post,
            "/v1/tickets",
            scope: .read,
            body: Route.json,
            grantsOrLimits: true,
            handler: handle
        )
    ]

    static func handle(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard let path = try call.jsonObject(of: ["path"])["path"]?.string else {
            throw .invalidField("path", "`path` is what the ticket opens, such as /v1/events.")
        }
        guard case .route(let route, _) = api.route(.get, path), route.scope == .read else {
            throw .invalidField("path", "A ticket opens a path that is read with scope read, without its query.")
        }
        // The leader knows nothing of tickets that are bought here.
        if api.follower != nil, path != "/v1/events" {
            throw .invalidField("path", "This host follows another one: here a ticket opens /v1/events.")
        }
        // A ticket permits no more than the credential that buys it.
        if case .refused(let refusal) = call.caller.decide(path: Array(path.utf8)[...]) { throw Problem(refusal) }
        switch api.access.authenticator.tickets.issue(to: call.caller, path: path, now: loop.wallClock) {
        case .failure(.notAllowed): throw Problem(.missingScope(.read))
        case .failure(.tooMany):
            throw Problem(.tooManyTickets, "More tickets wait to be used than one caller may have.")
        case .success(let ticket):
            let response = Response.object(.created) { object in
                object.member("ticket", ticket.secret.reveal())
                object.member("path", path)
                object.member("expiresAt", ticket.expiresAt)
            }
            call.respond(response.unkept, on: loop)
        }
    }
}
