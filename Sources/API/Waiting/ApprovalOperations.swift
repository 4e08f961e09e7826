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

/// `GET /v1/approvals`, `GET /v1/approvals/{id}` and `POST /v1/approvals/{id}`.
enum ApprovalOperations {
    static let routes = [
        Route(
            "showApprovalLink",
            .get,
            "/v1/act/{secret}",
            scope: nil,
            produces: [.plain],
            handler: ApprovalLinkOperations.show
        ),
        Route(
            "actOnApproval",
            .post,
            "/v1/act/{secret}",
            scope: nil,
            body: .unused,
            handler: ApprovalLinkOperations.act
        ),
        Route(
            "listApprovals",
            .get,
            "/v1/approvals",
            scope: .read,
            query: ["before", "kind", "limit", "session", "state"],
            handler: list
        ),
        Route("getApproval", .get, "/v1/approvals/{id}", scope: .read, handler: get),
        Route(
            "decideApproval",
            .post,
            "/v1/approvals/{id}",
            scope: .approvals,
            body: Route.json,
            grantsOrLimits: true,
            handler: decide
        ),
        Route(
            "linkApproval",
            .post,
            "/v1/approvals/{id}/links",
            scope: .approvals,
            body: Route.json,
            grantsOrLimits: true,
            handler: ApprovalLinkOperations.make
        ),
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let query = ApprovalReader.Query(
            sessions: try call.onlySessions(of: api.runs),
            filter: try call.choice("state") ?? .pending,
            kind: try call.choice("kind"),
            before: call.text("before"),
            limit: try call.number("limit", in: 1...200, default: 50)
        )
        api.services.approvalReader.page(query, on: loop) { result in
            switch result {
            case .success(let page?): answer(call, page, api, on: loop)
            case .success: call.fail(.noPlace("before", "approval"), on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
        }
    }

    private static func answer(
        _ call: Call,
        _ page: ApprovalReader.Page,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        let service = api.services.approvals
        let now = service.gatewayTime(on: loop)
        let pending = service.pendingCount(of: call.caller.sessions)
        func write(_ writer: inout JSONWriter, now: Timestamp?) {
            writer.object { object in
                object.array("approvals") { list in
                    for approval in page.approvals { approval.write(to: &list, now: now) }
                }
                object.member("pending", pending)
                object.member("live", service.sight.isConnected)
                object.member("complete", service.sight == .whole && !service.isOverfull)
                object.member("reason", service.sight.reason ?? (service.isOverfull ? "too_many" : nil))
                if !service.sight.isConnected { object.member("asOf", service.asOf ?? api.startedAt) }
                if page.hasMore { object.member("before", page.approvals.last?.id) }
            }
        }
        // The remaining time changes constantly, so the tag leaves it out.
        var lasting = JSONWriter()
        write(&lasting, now: nil)
        call.respond(.json { write(&$0, now: now) }, tag: EntityTag(ofBytes: lasting.bytes), on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        find(api, call, on: loop) { answer(call, $0, api, on: loop) }
    }

    private static func answer(_ call: Call, _ approval: Approval, _ api: HTTPAPI, on loop: isolated EventLoop) {
        let now = api.services.approvals.gatewayTime(on: loop)
        var lasting = JSONWriter()
        approval.write(to: &lasting)
        call.respond(.json { approval.write(to: &$0, now: now) }, tag: EntityTag(ofBytes: lasting.bytes), on: loop)
    }

    /// The approval whose full id is in the path. If it does not exist or the caller may not see it, the request is
    /// answered here.
    static func find(
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop,
        then use: @escaping (Approval) throws(Problem) -> Void
    ) {
        api.services.approvalReader.find(call.pathID, on: loop) { result in
            switch result {
            // A caller that may not see an approval gets the same answer as for a missing one.
            case .success(let approval?) where call.caller.mayUse(session: approval.session):
                call.attempt(on: loop) { () throws(Problem) in try use(approval) }
            case .success: call.fail(.noApproval, on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
        }
    }

    // MARK: Deciding

    static func decide(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let wish = try Wish(call)
        find(api, call, on: loop) { approval throws(Problem) in try decide(approval, wish, api, call, on: loop) }
    }

    /// The decision in the request body; the approval checks whether it offers that decision.
    struct Wish {
        let decision: String
        /// The hash of the question shown to the person.
        let question: String?

        init(_ call: Call) throws(Problem) {
            let body = try call.jsonObject(of: ["commandSha256", "decision"])
            guard let text = body["decision"]?.string else {
                let names = Approval.Decision.allCases.map(\.rawValue).joined(separator: ", ")
                throw .invalidField("decision", "`decision` is one of \(names).")
            }
            decision = text
            question = body["commandSha256"]?.string
            guard question != nil || body["commandSha256"] == nil else {
                throw .invalidField("commandSha256", "`commandSha256` is a text, as the approval has it.")
            }
        }

        func isAbout(_ approval: Approval) -> Bool { question == nil || question == approval.commandSHA256 }
    }

    static let unanswered = "The gateway did not answer; whether it has the decision is not known yet."

    private static func decide(
        _ approval: Approval,
        _ wish: Wish,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) throws(Problem) {
        call.decision = AuditRecord.Decision(wish.decision.shortened, command: approval.commandSHA256)
        guard wish.isAbout(approval) else { throw .approvalChanged(approval) }
        guard let decision = Approval.Decision(rawValue: wish.decision),
            !approval.isPending || approval.decisions.contains(decision)
        else { throw .notOffered(approval.isPending ? approval.decisions : []) }
        // "Allow always" writes the host's policy, so it needs admin rights.
        if decision == .allowAlways, case .refused(let refusal) = call.caller.decide(.admin) { throw Problem(refusal) }
        let name = call.caller.shortName
        api.services.approvals.decide(approval.id, decision, of: wish.question, by: name, on: loop) { outcome in
            switch outcome {
            case .decided(let approval): answer(call, approval, api, on: loop)
            // Only the database has this approval, so it has ended.
            case .notFound: settle(call, ApprovalService.Outcome(approval, decision), api, on: loop)
            default: settle(call, outcome, api, on: loop)
            }
        }
    }

    private static func settle(
        _ call: Call,
        _ outcome: ApprovalService.Outcome,
        _ api: HTTPAPI,
        on loop: isolated EventLoop
    ) {
        switch outcome {
        case .decided(let approval): answer(call, approval, api, on: loop)
        case .ended(let approval): call.fail(.approvalResolved(approval), on: loop)
        case .tooLate(let approval): call.fail(.approvalExpired(approval), on: loop)
        case .changed(let approval): call.fail(.approvalChanged(approval), on: loop)
        case .notFound: call.fail(.noApproval, on: loop)
        case .notOffered(let decisions): call.fail(.notOffered(decisions), on: loop)
        case .unsupported: call.fail(.unsupported(.approvals, api), on: loop)
        case .notReady: call.fail(.notAsked, on: loop)
        case .failed(.unanswered):
            let path = "GET /v1/approvals/\(PercentCoding.encode(call.pathID)) shows how it ended"
            call.fail(Problem(.gatewayTimeout, unanswered, hint: path), on: loop)
        case .failed(let fault): call.fail(Problem(fault, doing: "decide"), on: loop)
        }
    }
}

extension PendingLists.Sight {
    /// Whether the gateway is connected and has been asked for its approvals.
    var isConnected: Bool { self != .offline && self != .asking }

    var reason: String? {
        switch self {
        case .whole: nil
        case .unlisted: "listed_unavailable"
        case .scopeMissing: "scope_missing"
        case .unanswered, .asking: "unanswered"
        case .offline: "offline"
        }
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
        case .nobody: "nobody"
        }
    }
}

extension Problem {
    static let notAsked = Problem(
        .gatewayUnavailable,
        "The gateway cannot be asked now what waits; nothing was decided.",
        retryAfterMs: 1000
    )

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
