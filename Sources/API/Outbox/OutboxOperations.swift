import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Server
import Service

/// `GET /v1/outbox` and `GET /v1/outbox/{id}`.
enum OutboxOperations {
    static let routes = [
        Route(
            "listOutbox",
            .get,
            "/v1/outbox",
            scope: .read,
            query: ["before", "limit", "session", "state"],
            isPage: true,
            handler: Route.flow(list)
        ),
        Route(
            "cancelEntry",
            .delete,
            "/v1/outbox/{id}",
            scope: .send,
            query: ["force"],
            handler: EntryOperations.cancel
        ),
        Route("getEntry", .get, "/v1/outbox/{id}", scope: .read, handler: get),
        Route(
            "retryEntry",
            .post,
            "/v1/outbox/{id}/retry",
            scope: .send,
            body: .unused,
            handler: EntryOperations.retry
        ),
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let query = try query(of: call, api)
        let found: OutboxReader.Page?
        do { found = try await api.services.outboxReader.page(query, on: loop) } catch { throw .storage(error) }
        guard let page = found else { throw .noPlace("before", "entry") }
        answer(call, page, limit: query.limit, api.outbox, on: loop)
    }

    private static func query(of call: Call, _ api: HTTPAPI) throws(Problem) -> OutboxReader.Query {
        let limit = try call.number("limit", in: 1...500, default: 50)
        var states: [OutboxState] = []
        if let text = call.text("state") {
            for name in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let state = OutboxState(rawValue: String(name)) else {
                    let names = OutboxState.allCases.map(\.rawValue)
                    let near = NearestName.of(String(name), in: names).map { " Did you mean \($0)?" } ?? ""
                    throw .badParameter(
                        "state",
                        "An entry's state is one of \(names.joined(separator: ", "))." + near
                    )
                }
                states.append(state)
            }
        }
        let before = call.text("before")
        if let before, !UUIDv7.isWellFormed(before) {
            throw .badParameter("before", "`before` is the id of an entry.")
        }
        let sessions = try call.onlySessions(of: api.runs)
        return OutboxReader.Query(sessions: sessions, states: states, before: before, limit: limit)
    }

    private static func answer(
        _ call: Call,
        _ page: OutboxReader.Page,
        limit: Int,
        _ outbox: OutboxService,
        on loop: isolated EventLoop
    ) {
        let response = Response.object { object in
            object.member("pending", page.counts.pending)
            object.member("unconfirmed", page.counts.unconfirmed)
            object.member("failed", page.counts.failed)
            object.array("entries") { list in
                for entry in page.entries {
                    entry.write(to: &list, blockedReason: outbox.blockedReason(session: entry.session))
                }
            }
            if page.entries.count == limit { object.member("before", page.entries.last?.id) }
        }
        call.respondTagged(response, on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try read(api, call, on: loop) { entry, attempts in
            let reason = api.outbox.blockedReason(session: entry.session)
            let response = Response.json { entry.write(to: &$0, blockedReason: reason, attempts: attempts) }
            call.respond(response, tag: entry.tag, on: loop)
        }
    }

    /// Reads the entry named in the path. If it does not exist or the caller may not see it, the request is answered
    /// here.
    static func read(
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop,
        then use: @escaping (OutboxEntry, [OutboxAttempt]) throws(Problem) -> Void
    ) throws(Problem) {
        let noEntry = Problem(.entryNotFound, "There is no such entry in the outbox.")
        guard UUIDv7.isWellFormed(call.pathID) else { throw noEntry }
        api.services.outboxReader.read(call.pathID, on: loop) { result in
            switch result {
            // A caller that may not see an entry gets the same answer as for a missing one.
            case .success((let entry, let attempts)?) where call.caller.mayUse(session: entry.session):
                call.attempt(on: loop) { () throws(Problem) in try use(entry, attempts) }
            case .success: call.fail(noEntry, on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
        }
    }
}

extension OutboxEntry {
    var tag: EntityTag { EntityTag(String(version)) }
}
