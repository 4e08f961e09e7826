import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Ledger
import Observability
import Runs
import Server
import Service

/// `GET /v1/approvals`, `GET /v1/approvals/{id}` and `POST /v1/approvals/{id}`, and the rows of what stands under them.
enum ApprovalOperations {
    static let routes = [
        Route(
            "showApprovalLink",
            .get,
            "/v1/act/{secret}",
            scope: nil,
            produces: [.plain],
            handler: Route.flow(ApprovalLinkOperations.show)
        ),
        Route(
            "actOnApproval",
            .post,
            "/v1/act/{secret}",
            scope: nil,
            body: .unused,
            handler: Route.flow(ApprovalLinkOperations.act)
        ),
        Route(
            "listApprovals",
            .get,
            "/v1/approvals",
            scope: .read,
            query: ["before", "kind", "limit", "session", "state"],
            isPage: true,
            handler: Route.flow(list)
        ),
        Route(
            "listApprovalGrants",
            .get,
            "/v1/approvals/grants",
            scope: .approvals,
            handler: Route.flow(GrantOperations.list)
        ),
        Route(
            "revokeApprovalGrant",
            .delete,
            "/v1/approvals/grants/{id}",
            scope: .approvals,
            handler: Route.flow(GrantOperations.revoke)
        ),
        Route("getApproval", .get, "/v1/approvals/{id}", scope: .read, handler: Route.flow(get)),
        Route(
            "decideApproval",
            .post,
            "/v1/approvals/{id}",
            scope: .approvals,
            body: Route.json,
            grantsOrLimits: true,
            handler: Route.flow(decide)
        ),
        Route(
            "linkApproval",
            .post,
            "/v1/approvals/{id}/links",
            scope: .approvals,
            body: Route.json,
            grantsOrLimits: true,
            handler: Route.flow(ApprovalLinkOperations.make)
        ),
    ]

    /// The list that a request asks for.
    private enum List: String, CaseIterable {
        case pending, resolved, all, history

        /// Nil for the gateway's own memory.
        var filter: WaitingFilter? { WaitingFilter(rawValue: rawValue) }
    }

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let state: List = try call.choice("state") ?? .pending
        guard let filter = state.filter else { return try await history(api, call, loop) }
        let query = ApprovalReader.Query(
            sessions: try call.onlySessions(of: api.runs),
            filter: filter,
            kind: try call.choice("kind"),
            before: call.text("before"),
            limit: try call.number("limit", in: 1...200, default: 50)
        )
        let found: ApprovalReader.Page?
        do { found = try await api.services.approvalReader.page(query, on: loop) } catch { throw .storage(error) }
        guard let page = found else { throw .noPlace("before", "approval") }
        let service = api.services.approvals
        let pending = service.pendingCount(of: call.caller.sessions)
        call.respond(now: service.gatewayTime(on: loop), on: loop) { writer, now in
            writer.object { object in
                object.array("approvals") { list in
                    for approval in page.approvals { approval.write(to: &list, now: now) }
                }
                object.member("pending", pending)
                service.writeSight(to: &object, startedAt: api.startedAt)
                if page.hasMore { object.member("before", page.approvals.last?.id) }
            }
        }
    }

    /// The decisions of the last thirty days as the gateway remembers them, those of other clients too.
    private static func history(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let before = call.text("before")
        guard before.map({ $0.utf8.count <= longestPlace }) ?? true else { throw .noPlace("before", "approval") }
        let sessions = try call.onlySessions(of: api.runs)
        let kind: Approval.Kind? = try call.choice("kind")
        // The gateway gives pages of at most a hundred.
        let limit = min(try call.number("limit", in: 1...200, default: 50), 100)
        let page: ApprovalMemory.Page
        do throws(GatewayFault) {
            page = try await api.services.approvalMemory.ended(
                of: sessions,
                kind: kind,
                before: before,
                limit: limit,
                on: loop
            )
        } catch {
            if case .refused(let refusal) = error, refusal.isInvalid, before != nil {
                throw .noPlace("before", "approval")
            }
            throw Problem(error, doing: "read the decisions")
        }
        let pending = api.services.approvals.pendingCount(of: call.caller.sessions)
        call.respondTagged(
            .object { object in
                object.array("approvals", of: page.approvals)
                object.member("pending", pending)
                object.member("live", true)
                object.member("complete", true)
                object.member("before", page.next)
            },
            on: loop
        )
    }

    /// In bytes: the gateway's places have at most 512 characters.
    private static let longestPlace = 2_048

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        answer(call, try await find(api, call, on: loop), api, on: loop)
    }

    private static func answer(_ call: Call, _ approval: Approval, _ api: HTTPAPI, on loop: isolated EventLoop) {
        call.respond(now: api.services.approvals.gatewayTime(on: loop), on: loop, approval.write(to:now:))
    }

    /// The approval whose full id is in the path. A caller that may not see it gets the same answer as for a missing one.
    static func find(_ api: HTTPAPI, _ call: Call, on loop: isolated EventLoop) async throws(Problem) -> Approval {
        let found: Approval?
        do { found = try await api.services.approvalReader.find(call.pathID, on: loop) } catch { throw .storage(error) }
        guard let found, call.caller.mayUse(session: found.session) else { throw .noApproval }
        return found
    }

    // MARK: Deciding

    static func decide(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let wish = try Wish(call)
        let asked = try await find(api, call, on: loop)
        call.decision = AuditRecord.Decision(wish.decision.shortened, command: asked.commandSHA256)
        guard wish.isAbout(asked) else { throw .approvalChanged(asked) }
        guard let decision = Approval.Decision(rawValue: wish.decision),
            !asked.isPending || asked.decisions.contains(decision)
        else { throw .notOffered(asked.isPending ? asked.decisions : []) }
        // "Allow always" writes the host's policy, so it needs admin rights.
        if decision == .allowAlways, case .refused(let refusal) = call.caller.decide(.admin) { throw Problem(refusal) }
        let (approvals, name) = (api.services.approvals, call.caller.shortName)
        if wish.days != nil, approvals.takesGrantDays == false { throw .noGrantDays(api) }
        var outcome = await loop.wait {
            approvals.decide(
                asked.id,
                decision,
                of: wish.question,
                days: wish.days,
                by: name,
                on: loop,
                completion: $0
            )
        }
        // Only the database has this approval, so it has ended.
        if case .notFound = outcome { outcome = ApprovalService.Outcome(asked, decision) }
        answer(call, try decided(outcome, call, api), api, on: loop)
    }

    /// The approval after the decision.
    static func decided(
        _ outcome: ApprovalService.Outcome,
        _ call: Call,
        _ api: HTTPAPI
    ) throws(Problem) -> Approval {
        switch outcome {
        case .decided(let approval): return approval
        case .ended(let approval): throw .approvalResolved(approval)
        case .tooLate(let approval): throw .approvalExpired(approval)
        case .changed(let approval): throw .approvalChanged(approval)
        case .notFound: throw .noApproval
        case .notOffered(let approval): throw .notOffered(approval.decisions)
        case .unsupported: throw .unsupported(.approvals, api)
        case .notReady: throw .notAsked
        case .failed(.unanswered):
            let path = "GET /v1/approvals/\(PercentCoding.encode(call.pathID)) shows how it ended"
            throw Problem(.gatewayTimeout, unanswered, hint: path)
        case .failed(let fault): throw Problem(fault, doing: "decide")
        }
    }

    static let unanswered = "The gateway did not answer; whether it has the decision is not known yet."

    /// The decision in the request body; the approval checks whether it offers that decision.
    struct Wish {
        let decision: String
        /// The hash of the question shown to the person.
        let question: String?
        /// How long "allow always" holds; nil for ever.
        let days: Int?

        init(_ call: Call) throws(Problem) {
            let body = try call.jsonObject(of: ["commandSha256", "decision", "grantExpiresInDays"])
            guard let text = body["decision"]?.string else {
                let names = Approval.Decision.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidField("decision", "`decision` is one of \(names).")
            }
            decision = text
            question = body["commandSha256"]?.string
            guard question != nil || body["commandSha256"] == nil else {
                throw .invalidField("commandSha256", "`commandSha256` is a text, as the approval has it.")
            }
            let term = body["grantExpiresInDays"].flatMap { $0.isNull ? nil : $0 }
            days = term?.int.flatMap { Self.terms.contains($0) ? Int($0) : nil }
            guard term == nil || days != nil else {
                let detail = "`grantExpiresInDays` is a whole number from 1 to \(Self.terms.upperBound)."
                throw .invalidField("grantExpiresInDays", detail)
            }
            guard days == nil || decision == Approval.Decision.allowAlways.rawValue else {
                let detail = "`grantExpiresInDays` stands beside the decision allow-always alone."
                throw .invalidField("grantExpiresInDays", detail, hint: "leave it out, or decide allow-always")
            }
        }

        /// As gateways take them.
        private static let terms: ClosedRange<Int64> = 1...3_650

        func isAbout(_ approval: Approval) -> Bool { question == nil || question == approval.commandSHA256 }
    }

}

extension Caller {
    /// The caller's name for people: the token's name, the tailnet login, or the owner.
    var shortName: String {
        switch self {
        case .owner: "owner"
        case .token(let caller): caller.name
        case .tailnet(let caller): caller.name
        case .ticket(let buyer, _): buyer.shortName
        case .broker: "mqtt"
        case .nobody: "nobody"
        }
    }
}

extension Problem {
    /// Without the field, the gateway would allow it for ever.
    static func noGrantDays(_ api: HTTPAPI) -> Problem {
        var problem = unsupported(.approvalsGrants, api)
        problem.field = "grantExpiresInDays"
        problem.hint = "leave out grantExpiresInDays, and the decision holds for ever"
        return problem
    }

    static let noApproval = Problem(.approvalNotFound, "There is no approval of this whole id.")

    static func approvalResolved(_ approval: Approval) -> Problem {
        let how =
            switch approval.state {
            case .allowed, .denied: "was \(approval.state.rawValue) by \(approval.decidedBy ?? "somebody")"
            case .cancelled: "was cancelled with what asked for it"
            default: "does not wait any more; how it ended is not known"
            }
        return Problem(.approvalResolved, "The approval \(how).").adding(member: "approval") { $0.value(approval) }
    }

    static func approvalChanged(_ approval: Approval) -> Problem {
        Problem(
            .approvalChanged,
            "The approval asks something else than what was shown; nothing was decided.",
            field: "commandSha256"
        ).adding(member: "approval") { $0.value(approval) }
    }

    static func approvalExpired(_ approval: Approval) -> Problem {
        Problem(.approvalExpired, "The time to decide is over.").adding(member: "approval") { $0.value(approval) }
    }

    static func notOffered(_ decisions: [Approval.Decision]) -> Problem {
        let names = decisions.map(\.rawValue)
        let detail = names.isEmpty ? "It takes no decision." : "It takes one of \(names.joined(separator: ", "))."
        return Problem(.decisionNotAllowed, detail, field: "decision").adding(member: "decisions") {
            $0.array(of: names)
        }
    }
}
