import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service
import TLS

/// `/v1/automations`: the jobs that the gateway runs by their schedules. They belong to no session, so a token limited
/// to sessions is refused.
enum AutomationOperations {
    static let routes = [
        Route(
            "listAutomations",
            .get,
            "/v1/automations",
            scope: .read,
            query: ["agent", "before", "enabled", "limit", "refresh"],
            isPage: true,
            handler: list
        ),
        Route("getAutomation", .get, "/v1/automations/{id}", scope: .read, query: ["refresh"], handler: get),
        Route(
            "patchAutomation",
            .patch,
            "/v1/automations/{id}",
            scope: .control,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            handler: Route.flow(patch)
        ),
        Route(
            "runAutomation",
            .post,
            "/v1/automations/{id}/run",
            scope: .control,
            body: .unused,
            query: ["wait"],
            handler: Route.flow(run)
        ),
        Route(
            "listAutomationRuns",
            .get,
            "/v1/automations/{id}/runs",
            scope: .read,
            query: ["before", "limit"],
            isPage: true,
            handler: Route.flow(runs)
        ),
        Route(
            "wakeAgent",
            .post,
            "/v1/wake",
            scope: .send,
            body: Route.json,
            handler: Route.flow(WakeOperation.handle)
        ),
    ]

    /// Keys the tags, so that nobody can guess a job's text from its tag.
    private static let secret = SecureRandom.bytes(16)

    // MARK: Reading

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try check(call)
        if call.answersWarm(api, on: loop) { return }
        let isEnabled = call.text("enabled") == nil ? nil : try call.flag("enabled")
        let agent = try AgentParameter.query(of: call)
        let limit = try call.number("limit", in: 1...1_000, default: 200)
        let refresh = try call.flag("refresh")
        api.services.automations.read(refresh: refresh, on: loop) { result in
            switch result {
            case .success(let list): answer(call, list, isEnabled, agent, limit, api, on: loop)
            case .failure(let fault): call.fail(Problem(fault, doing: "list automations"), on: loop)
            }
        }
    }

    private static func answer(
        _ call: Call,
        _ list: AutomationService.List,
        _ isEnabled: Bool?,
        _ agent: String?,
        _ limit: Int,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        var rows = list.rows[...]
        if let before = call.text("before") {
            guard let place = rows.firstIndex(where: { $0.id == before }) else {
                return call.fail(.noPlace("before", "automation"), on: loop)
            }
            rows = rows[(place + 1)...]
        }
        let fitting = rows.filter { row in
            (isEnabled == nil || row.isEnabled == isEnabled)
                && (agent == nil || (row.agent ?? api.documents.defaultAgent) == agent)
        }
        let shown = fitting.prefix(limit)
        let showsWork = showsWork(to: call)
        let response = Response.object { object in
            object.array("automations") { items in
                for row in shown { row.write(to: &items, showsWork: showsWork) }
            }
            object.member("live", list.isLive)
            if !list.isLive { object.member("asOf", list.asOf ?? api.startedAt) }
            if shown.count < fitting.count { object.member("before", shown.last?.id) }
        }
        call.respondTagged(response, warming: api, on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try check(call)
        if call.answersWarm(api, on: loop) { return }
        let refresh = try call.flag("refresh")
        let id = call.pathID
        api.services.automations.read(refresh: refresh, on: loop) { result in
            switch result {
            case .success(let list):
                guard let row = list.rows.first(where: { $0.id == id }) else {
                    return call.fail(.noAutomation, on: loop)
                }
                let response = Response.json { row.write(to: &$0, showsWork: showsWork(to: call)) }
                let tag = list.isLive ? Self.tag(of: row, response) : EntityTag(ofBytes: response.body)
                call.respondTagged(response, tag: tag, warming: api, on: loop)
            case .failure(let fault): call.fail(Problem(fault, doing: "read the automation"), on: loop)
            }
        }
    }

    static func runs(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        try check(call)
        let id = try id(of: call)
        let limit = try call.number("limit", in: 1...200, default: 50)
        var place = RunPlace(offset: 0, endedAt: .max)
        if let text = call.text("before") {
            guard let found = RunPlace(text) else { throw .noPlace("before", "run") }
            place = found
        }
        do throws(AutomationService.Refusal) {
            let automations = api.services.automations
            let page = try await automations.runs(of: id, limit: limit, offset: place.offset, on: loop)
            answer(call, page, place, on: loop)
        } catch {
            throw problem(error, doing: "list the runs", isRepeatable: true, call, api, on: loop)
        }
    }

    /// A place in the list of runs. The gateway counts from the newest run, so each new run shifts the others.
    private struct RunPlace {
        let offset: Int
        /// The last run that was shown.
        let endedAt: Int64

        init(offset: Int, endedAt: Int64) {
            self.offset = offset
            self.endedAt = endedAt
        }

        init?(_ text: String) {
            guard let bytes = Base64.decode(text, as: .url) else { return nil }
            let parts = String(decoding: bytes, as: UTF8.self).split(separator: " ").map { Int64($0) }
            guard parts.count == 2, let offset = parts[0], let endedAt = parts[1], (0...1_000_000).contains(offset)
            else { return nil }
            self.init(offset: Int(offset), endedAt: endedAt)
        }

        var text: String { Base64.encode(Array("\(offset) \(endedAt)".utf8), as: .url) }
    }

    private static func answer(
        _ call: Call,
        _ page: AutomationService.RunPage,
        _ place: RunPlace,
        on loop: isolated EventLoop
    ) {
        let showsWork = showsWork(to: call)
        let shown = page.runs.filter { ($0.endedAt?.milliseconds ?? 0) < place.endedAt }
        let next = RunPlace(
            offset: place.offset + page.runs.count,
            endedAt: shown.last?.endedAt?.milliseconds ?? place.endedAt
        )
        call.respondTagged(
            .object { object in
                object.member("automation", call.pathID)
                object.array("runs") { items in
                    for run in shown { run.write(to: &items, showsWork: showsWork) }
                }
                if page.hasMore { object.member("before", next.text) }
            },
            on: loop
        )
    }

    // MARK: Changing

    static func patch(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        try check(call)
        let id = try id(of: call)
        let body = try call.jsonObject(of: ["enabled"])
        guard let isEnabled = body["enabled"]?.bool else {
            throw .invalidField("enabled", "`enabled` is true or false.")
        }
        let condition = try call.requiredIfMatch()
        do throws(AutomationService.Refusal) {
            let automations = api.services.automations
            let row = try await automations.enable(id, isEnabled, if: { matches(condition, $0) }, on: loop)
            let response = Response.json { row.write(to: &$0, showsWork: showsWork(to: call)) }
            call.respond(response, tag: tag(of: row, response), on: loop)
        } catch {
            throw problem(error, doing: "change the automation", isRepeatable: true, call, api, on: loop)
        }
    }

    static func run(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        try check(call)
        try NotificationOperations.refuseEcho(call)
        let id = try id(of: call)
        let automations = api.services.automations
        let waitMs = call.text("wait") == nil ? nil : Int64(try call.number("wait", in: 1...600, default: 1)) * 1_000
        let response = try await OnceOnly.perform(api, call, meaning: id, isKeyRequired: true, on: loop) {
            do throws(AutomationService.Refusal) {
                let started = try await automations.run(id, waitMs: waitMs, on: loop)
                let response = Response.object(started.ended == nil ? .accepted : .ok) { object in
                    object.member("automation", id)
                    object.member("runId", started.runID)
                    guard let run = started.ended else { return }
                    object.key("run")
                    run.write(to: &object, showsWork: showsWork(to: call))
                }
                return .done(response.adding(.location, "/v1/automations/\(PercentCoding.encode(id))/runs"))
            } catch {
                let action = "run the automation"
                let problem = problem(error, doing: action, isRepeatable: false, call, api, on: loop)
                return .failed(problem, isKept: error.mayHaveActed)
            }
        }
        call.respond(response, on: loop)
    }

    // MARK: Both

    private static func check(_ call: Call) throws(Problem) {
        guard call.caller.sessions == nil else { throw .ofNoSession }
    }

    /// The job's id. The gateway accepts no slashes in it.
    private static func id(of call: Call) throws(Problem) -> String {
        let id = call.pathID
        guard !id.isEmpty, id.utf8.count <= 256, !id.utf8.contains(where: { $0 == 0x2F || $0 == 0x5C || $0 < 0x20 })
        else { throw .noAutomation }
        return id
    }

    /// Whether the caller may see a job's text and command, which may hold secrets.
    private static func showsWork(to call: Call) -> Bool { call.caller.decide(.admin) == .allowed }

    /// The tag has two parts: one for the job's definition, checked by changes, and one for the whole answer, compared
    /// by caches.
    private static func tag(of row: Automation, _ response: Response) -> EntityTag {
        EntityTag("\(identity(of: row)).\(EntityTag(ofBytes: response.body).value)")
    }

    private static func identity(of row: Automation) -> String {
        Hex.encode(Array(Digest.sha256(secret + row.definition).prefix(8)))
    }

    private static func matches(_ condition: EntityTagCondition, _ row: Automation) -> Bool {
        guard case .tags(let tags) = condition else { return true }
        return tags.contains { tag in !tag.isWeak && tag.value.prefix { $0 != "." } == identity(of: row) }
    }

    private static func problem(
        _ refusal: AutomationService.Refusal,
        doing action: String,
        isRepeatable: Bool,
        _ call: Call,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) -> Problem {
        switch refusal {
        case .notFound: return .noAutomation
        case .running: return Problem(.alreadyRunning, "The automation runs already.")
        case .moved:
            let detail = "The automation is not the version that If-Match names."
            return Problem(.preconditionFailed, detail, field: "If-Match")
        case .gateway(let fault):
            let hint = "GET /v1/automations/\(PercentCoding.encode(call.pathID)) shows how it stands"
            let wait = call.untilNextTry(api, on: loop)
            return Problem(fault, changing: action, isRepeatable: isRepeatable, hint: hint, retryAfterMs: wait)
        }
    }
}

extension AutomationService.Refusal {
    /// Whether the gateway was asked, and either acted or refused for good.
    fileprivate var mayHaveActed: Bool {
        switch self {
        case .notFound, .moved: false
        case .running: true
        case .gateway(let fault): fault.mayHaveActed
        }
    }
}

extension GatewayFault {
    /// Whether the gateway was asked, and either acted or refused for good.
    var mayHaveActed: Bool {
        switch self {
        case .refused, .unanswered, .unreadable: true
        case .missingScope, .unsupported, .tooLarge, .notConnected, .notNow: false
        }
    }
}

extension Problem {
    static let noAutomation = Problem(.automationNotFound, "There is no automation of this whole id.")
}
