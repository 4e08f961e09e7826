import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service

/// `GET /v1/runs`, `GET /v1/runs/{id}` and `GET /v1/activity`.
enum RunOperations {
    static let routes = [
        Route("getActivity", .get, "/v1/activity", scope: .read, produces: [.json, .plain], handler: activity),
        Route(
            "listRuns",
            .get,
            "/v1/runs",
            scope: .read,
            query: ["active", "before", "brief", "limit", "session"],
            isPage: true,
            handler: Route.flow(list)
        ),
        Route("getRun", .get, "/v1/runs/{id}", scope: .read, produces: [.json, .plain], handler: Route.flow(get)),
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let limit = try call.number("limit", in: 1...200, default: 50)
        let sessions = try call.onlySessions(of: api.runs)
        let before = call.text("before")
        let isBrief = try call.flag("brief")
        let isActive = call.text("active") == nil ? nil : try call.flag("active")
        let archive = api.services.runArchive
        if isActive == true {
            let page = archive.activePage(sessions: sessions, before: before, limit: limit)
            return try answer(call, page, isBrief: isBrief, skipsActive: false, on: loop)
        }
        let page: RunArchive.Page?
        do {
            page = try await archive.page(sessions: sessions, before: before, limit: limit, on: loop)
        } catch {
            throw .storage(error)
        }
        try answer(call, page, isBrief: isBrief, skipsActive: isActive == false, on: loop)
    }

    private static func answer(
        _ call: Call,
        _ page: RunArchive.Page?,
        isBrief: Bool,
        skipsActive: Bool,
        on loop: isolated EventLoop
    ) throws(Problem) {
        guard let page else { throw .noPlace("before", "run") }
        call.respondTagged(
            .object { object in
                object.array("runs") { list in
                    for run in page.runs where !(skipsActive && run.state.isActive) {
                        if isBrief { run.writeBriefly(to: &list) } else { list.value(run) }
                    }
                }
                if page.hasMore { object.member("before", page.runs.last?.id) }
            },
            on: loop
        )
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        switch try await find(api, call, isListed: true, on: loop) {
        case .run(let run):
            if call.wantsText { return call.respond(.text(.ok, Printable.document(run.text) + "\n"), on: loop) }
            call.respondTagged(.json(.ok, run), on: loop)
        case .waiting(let entry):
            let detail = "The message is \(entry.state.rawValue) and has no run\(entry.state.hasEnded ? "" : " yet")."
            throw Problem(.runNotFound, detail, hint: "GET /v1/outbox/\(entry.id)")
        }
    }

    /// Finds the run named in the path. A caller that may not see it gets the same answer as for a missing one.
    /// - Parameter isListed: the run as lists show it is meant, and not the one that goes on with its message.
    static func find(
        _ api: HTTPAPI,
        _ call: Call,
        isListed: Bool = false,
        on loop: isolated EventLoop
    ) async throws(Problem) -> RunArchive.Found {
        let (archive, id) = (api.services.runArchive, call.pathID)
        let found: RunArchive.Found?
        do {
            found = isListed ? try await archive.listed(id, on: loop) : try await archive.find(id, on: loop)
        } catch {
            throw .storage(error)
        }
        guard let found, call.caller.mayUse(session: found.session) else {
            throw Problem(.runNotFound, "There is no such run.")
        }
        return found
    }

    static func activity(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let view = api.services.activity(for: call.caller)
        if call.wantsText {
            let text = Response.text(.ok, view.plainText(now: loop.wallClock))
            return call.respondTagged(text.adding(.cacheControl, "no-cache"), on: loop)
        }
        call.respondTagged(.json(.ok, view).adding(.cacheControl, "no-cache"), on: loop)
    }
}

extension Run {
    /// In Unicode scalars: a character may have any number of them.
    private static let briefText = 200

    /// Writes the run without its steps and with the beginning of its text: whole runs may have a megabyte each.
    fileprivate func writeBriefly(to writer: inout JSONWriter) {
        var run = self
        run.text = String(text.unicodeScalars.prefix(Self.briefText))
        if run.text.utf8.count < text.utf8.count { run.isTruncated = true }
        run.write(to: &writer, includingSteps: false)
    }
}

extension Services {
    /// The active runs that a caller may see, and the number of waiting approvals.
    func activity(for caller: Caller) -> ActivityView {
        ActivityView(
            runs.runs(activeOnly: true).filter { caller.mayUse(session: $0.session.text) },
            approvals: approvals.pendingCount(of: caller.sessions)
        )
    }
}
