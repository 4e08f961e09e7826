import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Runs
import Server
import Service

/// `GET /v1/sessions`, `GET /v1/sessions/{key}` and `GET /v1/agents`: the targets for messages and subscriptions.
enum SessionOperations {
    static let routes = [
        Route("listAgents", .get, "/v1/agents", scope: .read, query: ["refresh"], handler: agents),
        Route(
            "listSessions",
            .get,
            "/v1/sessions",
            scope: .read,
            query: ["active", "agent", "archived", "before", "kind", "limit", "refresh", "search"],
            isPage: true,
            handler: list
        ),
        Route(
            "createSession",
            .post,
            "/v1/sessions",
            scope: .control,
            body: Route.json,
            handler: Route.flow(NewSessionRequest.handle)
        ),
        Route(
            "deleteSession",
            .delete,
            "/v1/sessions/{key}",
            scope: .control,
            query: ["force", "transcript"],
            handler: Route.flow(SessionChanges.delete)
        ),
        Route("getSession", .get, "/v1/sessions/{key}", scope: .read, query: ["refresh"], handler: get),
        Route(
            "patchSession",
            .patch,
            "/v1/sessions/{key}",
            scope: .control,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            handler: Route.flow(SessionChanges.patch)
        ),
        Route(
            "compactSession",
            .post,
            "/v1/sessions/{key}/compact",
            scope: .control,
            body: .unused,
            handler: Route.flow(SessionChanges.compact)
        ),
        Route("markSessionRead", .put, "/v1/sessions/{key}/read", scope: .read, body: Route.json, handler: read),
        Route(
            "resetSession",
            .post,
            "/v1/sessions/{key}/reset",
            scope: .control,
            body: .unused,
            handler: Route.flow(SessionChanges.reset)
        ),
    ]

    private struct Query {
        var kinds: Set<String>
        var agent: String?
        var words: String?
        var isActive: Bool?
        var isArchived: Bool
        var before: Place?
        var limit: Int

        init(_ call: Call) throws(Problem) {
            kinds = try Self.kinds(of: call.text("kind"))
            agent = try AgentParameter.query(of: call)
            words = call.text("search")?.lowercased()
            isActive = call.text("active") == nil ? nil : try call.flag("active")
            isArchived = try call.flag("archived")
            limit = try call.number("limit", in: 1...SessionModel.mostSessions, default: 200)
            if let text = call.text("before") {
                guard let place = Place(text) else { throw .noPlace("before", "session") }
                before = place
            }
        }

        private static func kinds(of text: String?) throws(Problem) -> Set<String> {
            guard let text else { return SessionInfo.kindsOfPeople }
            if text == "all" { return Set(SessionInfo.kinds) }
            let names = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
            for name in names where !SessionInfo.kinds.contains(name) {
                let near = NearestName.of(name, in: SessionInfo.kinds).map { " Did you mean \($0)?" } ?? ""
                let all = SessionInfo.kinds.joined(separator: ", ")
                throw .badParameter("kind", "`kind` is all, or some of \(all), by comma." + near)
            }
            return Set(names)
        }

        func mayShow(_ info: SessionInfo) -> Bool {
            if let agent, info.agent != agent { return false }
            if (info.isArchived ?? false) != isArchived { return false }
            guard let words else { return true }
            return [info.title, info.label, info.key].contains { $0?.lowercased().containsText(words) ?? false }
        }
    }

    /// A place in the list: after the session with this time and key.
    private struct Place {
        let time: Int64
        let key: String

        init?(_ text: String) {
            guard let bytes = Base64.decode(text, as: .url) else { return nil }
            let parts = bytes.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, let time = Int64(String(decoding: parts[0], as: UTF8.self)) else { return nil }
            self.time = time
            key = String(decoding: parts[1], as: UTF8.self)
        }

        init(_ info: SessionInfo) {
            time = info.updatedAt?.milliseconds ?? 0
            key = info.key
        }

        var text: String { Base64.encode(Array("\(time) \(key)".utf8), as: .url) }

        func isBefore(_ info: SessionInfo) -> Bool {
            let other = Place(info)
            return (other.time, key) < (time, other.key)
        }
    }

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        if call.answersWarm(api, on: loop) { return }
        let query = try Query(call)
        let refresh = try call.flag("refresh")
        api.services.sessionModel.read(refresh: refresh, on: loop) { result in
            switch result {
            case .success(let list): answer(call, list, query, api, on: loop)
            case .failure(let fault): call.fail(Problem(fault, doing: "list sessions"), on: loop)
            }
        }
    }

    private static func answer(
        _ call: Call,
        _ list: SessionModel.List,
        _ query: Query,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        var hidden: [String: Int] = [:]
        var shown: [SessionView] = []
        var isMore = false
        let active = SessionSet(api.runs.runs(activeOnly: true).map(\.session.text))
        // A caller limited to sessions sees only its own.
        for info in list.rows where call.caller.mayUse(session: info.key) && query.mayShow(info) {
            if let wanted = query.isActive, active.contains(info.key) != wanted { continue }
            guard query.kinds.contains(info.kindName) else {
                hidden[info.kindName, default: 0] += 1
                continue
            }
            if let before = query.before, !before.isBefore(info) { continue }
            guard shown.count < query.limit else {
                isMore = true
                continue
            }
            shown.append(SessionView(info, for: call.caller, isActive: active.contains(info.key), api, on: loop))
        }
        let response = Response.object { object in
            object.array("sessions", of: shown)
            if isMore, let last = shown.last { object.member("before", Place(last.info).text) }
            object.object("hidden") { counts in
                for (kind, count) in hidden.sorted(by: { $0.key < $1.key }) { counts.member(kind, count) }
            }
            object.member("live", list.isLive)
            if !list.isLive { object.member("asOf", list.asOf ?? api.startedAt) }
        }
        call.respondTagged(response, warming: api, on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        if call.answersWarm(api, on: loop) { return }
        let key = try call.session(api)
        let refresh = try call.flag("refresh")
        show(key, refresh: refresh, api, call, on: loop)
    }

    /// `PUT /v1/sessions/{key}/read`: marks the last message the caller has read.
    static func read(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let key = try call.session(api)
        let message = try messageID(in: call)
        api.services.readMarks.set(call.caller.identity, in: key, to: message, on: loop) { result in
            switch result {
            case .success(true): show(key, api, call, on: loop)
            case .success(false) where message == nil: show(key, api, call, on: loop)
            case .success(false): call.fail(.noPlace("messageId", "message"), on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
        }
    }

    /// The message id; nil without a body, which means that everything was read.
    private static func messageID(in call: Call) throws(Problem) -> String? {
        guard !call.exchange.body.isEmpty else { return nil }
        let body = try call.jsonObject(of: ["messageId"])
        guard let id = body["messageId"]?.string, !id.isEmpty, id.utf8.count <= 512 else {
            throw .invalidField("messageId", "`messageId` is the id of the last message that was read.")
        }
        return id
    }

    private static func show(
        _ key: String,
        refresh: Bool = false,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) {
        api.services.sessionModel.read(refresh: refresh, on: loop) { result in
            switch result {
            case .success(let list):
                if let info = list.rows.first(where: { $0.key.isSameText(as: key) }) {
                    return call.answer(info, api, on: loop)
                }
                // A gateway that tells of no new session has one in which a run was just seen.
                guard !refresh, list.isLive, !api.runs.runs(session: key).isEmpty else {
                    return call.fail(.noSession, on: loop)
                }
                show(key, refresh: true, api, call, on: loop)
            case .failure(let fault): call.fail(Problem(fault, doing: "read the session"), on: loop)
            }
        }
    }

    static func agents(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        if call.answersWarm(api, on: loop) { return }
        let refresh = try call.flag("refresh")
        api.services.agents.read(refresh: refresh, on: loop) { result in
            switch result {
            case .success(let list): answer(call, list, api, on: loop)
            case .failure(let fault): call.fail(Problem(fault, doing: "list agents"), on: loop)
            }
        }
    }

    private static func answer(_ call: Call, _ list: AgentList.List, _ api: HTTPAPI, on loop: isolated EventLoop) {
        let response = Response.object { object in
            object.array("agents") { items in
                for agent in list.rows where call.caller.mayUse(agent: agent.id) { agent.write(to: &items) }
            }
            object.member("live", list.isLive)
            if !list.isLive { object.member("asOf", list.asOf ?? api.startedAt) }
        }
        call.respondTagged(response, warming: api, on: loop)
    }
}
