import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Ledger
import ReadableText
import Server
import Service

/// `GET /v1/usage`, `GET /v1/usage/cost` and `GET /v1/usage/sessions`.
enum UsageOperations {
    static let routes = [
        Route("getUsage", .get, "/v1/usage", scope: .read, produces: [.json, .plain], handler: get),
        Route(
            "getUsageCost",
            .get,
            "/v1/usage/cost",
            scope: .read,
            query: ["agent", "from", "to", "tz"],
            handler: Route.flow(cost)
        ),
        Route(
            "listSessionUsage",
            .get,
            "/v1/usage/sessions",
            scope: .read,
            query: ["from", "limit", "to"],
            isPage: true,
            handler: Route.flow(sessions)
        ),
    ]

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard call.caller.sessions == nil else { throw .ofAllSessions }
        api.services.usage.read(on: loop) { result in
            switch result {
            case .success(let usage): answer(call, usage, api, on: loop)
            case .failure(.unsupported): call.fail(.unsupported(.usageLimits, api), on: loop)
            case .failure(.gateway(let fault)): call.fail(Problem(fault, doing: "read the usage"), on: loop)
            }
        }
    }

    private static func answer(
        _ call: Call,
        _ usage: UsageService.Snapshot,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        // The remaining time changes constantly, so the tag leaves it out.
        var lasting = JSONWriter()
        usage.write(to: &lasting, showsTimeLeft: false)
        guard call.wantsText, let value = AnswerForm.of(lasting.bytes) else {
            let response = Response.json { usage.write(to: &$0, showsTimeLeft: true) }
            return call.respond(response, tag: EntityTag(ofBytes: lasting.bytes), on: loop)
        }
        let time = ReadableTime(now: loop.wallClock.milliseconds, utcOffset: api.services.utcOffset)
        call.respondTagged(.text(.ok, UsageText.line(value, time) + "\n"), on: loop)
    }

    // MARK: Days

    static func cost(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        guard call.caller.sessions == nil else { throw .ofAllSessions }
        let period = try await period(call, api, on: loop)
        let agent = try AgentParameter.query(of: call)
        let answer: UsageReports.Costs
        do throws(UsageReports.Fault) {
            answer = try await api.services.usageReports.cost(period, agent: agent, on: loop)
        } catch {
            throw problem(error, api)
        }
        report(call, period, answer.at, isLive: answer.isLive, api, on: loop) { object in
            object.member("agent", agent)
            answer.value.writeMembers(to: &object)
        }
    }

    // MARK: Sessions

    static func sessions(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let limit = try call.number("limit", in: 1...UsageReports.mostSessions, default: 50)
        let period = try await period(call, api, on: loop)
        let answer: KeptAnswer<UsageReports.SessionReport>
        do throws(UsageReports.Fault) {
            let own = call.caller.sessions
            answer = try await api.services.usageReports.sessions(period, only: own, limit: limit, on: loop)
        } catch {
            throw problem(error, api)
        }
        let rows = answer.value.rows.filter { call.caller.mayUse(session: $0.key) }.prefix(limit)
        report(call, period, answer.at, isLive: answer.isLive, api, on: loop) { object in
            object.array("sessions", of: rows)
            object.member("totals", rows.totals)
            object.member("complete", answer.value.isComplete)
        }
    }

    // MARK: Both

    private static func period(
        _ call: Call,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) async throws(Problem) -> UsagePeriod {
        let from = try date("from", of: call)
        let to = try date("to", of: call)
        let name = call.text("tz")
        var offset = api.services.utcOffset
        if let name {
            guard let zone = await api.services.timeZones.find(name, on: loop) else { throw .noTimeZone }
            offset = { zone.offset(at: $0) }
        }
        do throws(UsagePeriod.Fault) {
            return try UsagePeriod(from: from, to: to, zone: name, now: loop.wallClock, offset: offset)
        } catch {
            throw .badPeriod(error)
        }
    }

    private static func date(_ name: String, of call: Call) throws(Problem) -> CivilDate? {
        guard let text = call.text(name) else { return nil }
        guard let date = CivilDate(iso: text) else {
            throw .badParameter(name, "`\(name)` is a day such as 2026-11-23.")
        }
        guard date.year >= 1970 else { throw .invalidField(name, "`\(name)` is a day from 1970 on.") }
        return date
    }

    private static func report(
        _ call: Call,
        _ period: UsagePeriod,
        _ at: Timestamp,
        isLive: Bool,
        _ api: HTTPAPI,
        on loop: isolated EventLoop,
        _ body: (inout JSONWriter) -> Void
    ) {
        let isApproximate = period.spansChange && !api.services.usageReports.knowsZone(of: period)
        call.respondTagged(
            .object { object in
                object.member("from", period.from.iso)
                object.member("to", period.to.iso)
                object.member("tz", period.zone)
                object.member("utcOffset", period.offsetText)
                object.member("tzApprox", isApproximate)
                body(&object)
                object.member("live", isLive)
                object.member("asOf", at)
            },
            on: loop
        )
    }

    private static func problem(_ fault: UsageReports.Fault, _ api: HTTPAPI) -> Problem {
        switch fault {
        case .unsupported: .unsupported(.usageCost, api)
        case .allAgentsOnly: .unsupported(.usageAgents, api)
        case .gateway(let fault): Problem(fault, doing: "read the usage")
        }
    }
}

extension Problem {
    /// The refusal for a token that is limited to sessions.
    fileprivate static let ofAllSessions = Problem(
        .sessionNotAllowed,
        "The credential is limited to sessions, and this is about all of them: GET /v1/usage/sessions has its own."
    )

    fileprivate static let noTimeZone = Problem.invalidField(
        "tz",
        "`tz` is a time zone that the host of Ladle knows, such as Europe/Berlin.",
        hint: "the host's time zones are in /usr/share/zoneinfo; the package is called tzdata"
    )

    fileprivate static func badPeriod(_ fault: UsagePeriod.Fault) -> Problem {
        switch fault {
        case .endsBeforeItBegins: .invalidField("from", "`from` is a day that is not after `to`.")
        case .tooLong: .invalidField("from", "From `from` to `to` there are at most \(UsagePeriod.mostDays) days.")
        }
    }
}
