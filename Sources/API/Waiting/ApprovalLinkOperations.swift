import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Ledger
import Runs
import Server
import Service

/// `POST /v1/approvals/{id}/links` and `/v1/act/{secret}`: one tap in a notification makes one decision, once, by POST.
/// A GET shows the question.
enum ApprovalLinkOperations {
    static func make(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard api.settings.hasApprovalLinks else {
            throw Problem(.notFound, "One-tap links are off.", hint: "ladle serve --approvals-links")
        }
        let wish = try ApprovalOperations.Wish(call)
        ApprovalOperations.find(api, call, on: loop) { approval throws(Problem) in
            try make(of: approval, wish, api, call, on: loop)
        }
    }

    private static func make(
        of approval: Approval,
        _ wish: ApprovalOperations.Wish,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) throws(Problem) {
        call.decision = AuditRecord.Decision(wish.decision.shortened, command: approval.commandSHA256)
        guard wish.isAbout(approval) else { throw .approvalChanged(approval) }
        guard api.services.approvals.sight.isLive else { throw .notAsked }
        guard approval.isPending else { throw .over(approval) }
        // A permanent permission is too much for a single tap.
        let offered = approval.decisions.filter { $0 != .allowAlways }
        guard let decision = Approval.Decision(rawValue: wish.decision), offered.contains(decision) else {
            throw .notOffered(offered)
        }
        let (name, token) = (call.caller.shortName, call.caller.tokenID)
        api.services.approvalLinks.make(approval, decision, by: name, token: token, on: loop) { result in
            switch result {
            case .success(.made(let secret)):
                let response = Response.object(.created) { object in
                    object.member("url", "/v1/act/\(secret.reveal())")
                    object.member("decision", decision.rawValue)
                    object.member("expiresAt", approval.expiresAt)
                }
                call.respond(response.unkept, on: loop)
            case .success(.refused): call.fail(.tooManyLinks, on: loop)
            case .failure(let error): call.fail(.storage(error), on: loop)
            }
        }
    }

    // MARK: Using

    /// The whole question, for a person whose notification has no room for it. Link previews send a GET too, so it
    /// decides nothing and leaves the link as it is.
    static func show(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try find(api, call, on: loop) { link, approval throws(Problem) in
            guard link.question == approval.commandSHA256 else { throw .noLink }
            let end =
                approval.isPending
                ? "It waits until \(approval.expiresAt.rfc3339). A POST to this link decides once: \(link.decision.rawValue)."
                : "It does not wait any more: \(approval.state.rawValue)."
            call.respond(Response.text(.ok, "\(approval.question)\n\n\(end)\n").unkept, on: loop)
        }
    }

    static func act(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try find(api, call, on: loop) { link, approval throws(Problem) in
            call.decision = AuditRecord.Decision(link.decision.rawValue, command: approval.commandSHA256)
            // A link stays valid while its decision cannot be sent.
            guard api.services.approvals.sight.isLive else { throw .notAsked }
            api.services.approvalLinks.use(link, on: loop) { result in
                switch result {
                case .success(true): decide(link, api, call, on: loop)
                case .success(false): call.fail(.noLink, on: loop)
                case .failure(let error): call.fail(.storage(error), on: loop)
                }
            }
        }
    }

    /// The secret is the authorization: it was given to one person for one decision. The answer reveals only what the
    /// link is about.
    private static func find(
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop,
        then use: @escaping (ApprovalLinks.Found, Approval) throws(Problem) -> Void
    ) throws(Problem) {
        guard api.settings.hasApprovalLinks else { throw .noLink }
        api.services.approvalLinks.find(call.pathID, on: loop) { result in
            switch result {
            case .failure(let error): call.fail(.storage(error), on: loop)
            case .success(nil):
                call.subject = "unknown"
                call.fail(wrong(call, api, on: loop), on: loop)
            case .success(let link?):
                call.attempt(on: loop) { () throws(Problem) in
                    call.subject = link.approval
                    call.actor = "link:\(link.token.map { "token:\($0)" } ?? link.sender)"
                    // A link expires with the token that made it.
                    if let token = link.token,
                        api.access.authenticator.tokens[id: token]?.isExpired(now: loop.wallClock) != false
                    {
                        throw .noLink
                    }
                    guard let approval = api.services.approvals.approval(link.approval, on: loop) else { throw .noLink }
                    try use(link, approval)
                }
            }
        }
    }

    /// Wrong secrets count like wrong tokens. Right ones do not wait for them: behind a proxy, or in one household, the address of
    /// somebody who guesses is also that of the owner.
    private static func wrong(_ call: Call, _ api: HTTPAPI, on loop: isolated EventLoop) -> Problem {
        let key = api.settings.peer(call.exchange.connection).limitKey
        let verdict = api.access.authenticator.limiter.take(.auth, key, now: loop.wallClock.milliseconds)
        return verdict.allowed ? .noLink : Problem(.rateLimited(.auth, verdict))
    }

    private static func decide(
        _ link: ApprovalLinks.Found,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) {
        let (approval, sender) = (link.approval, link.sender)
        api.services.approvals.decide(approval, link.decision, of: link.question, by: sender, on: loop) { outcome in
            switch outcome {
            case .decided(let approval):
                let response = Response.object { object in
                    object.member("id", approval.id)
                    object.member("state", approval.state.rawValue)
                    object.member("decision", approval.decision?.rawValue)
                }
                call.respond(response.unkept, on: loop)
            case .ended(let approval): call.fail(Problem.approvalResolved(approval).withoutMembers, on: loop)
            case .tooLate(let approval): call.fail(Problem.approvalExpired(approval).withoutMembers, on: loop)
            case .changed(let approval): call.fail(Problem.approvalChanged(approval).withoutMembers, on: loop)
            case .failed(.unanswered): call.fail(Problem(.gatewayTimeout, ApprovalOperations.unanswered), on: loop)
            case .notFound: call.fail(.noLink, on: loop)
            case .notOffered(let decisions): call.fail(.notOffered(decisions), on: loop)
            case .unsupported: call.fail(.unsupported(.approvals, api), on: loop)
            case .notReady: call.fail(.notAsked, on: loop)
            case .failed(let fault): call.fail(Problem(fault, doing: "decide"), on: loop)
            }
        }
    }
}

extension Problem {
    fileprivate static let noLink = Problem(
        .approvalNotFound,
        "The link was used, or what it is about does not wait any more."
    )

    fileprivate static let tooManyLinks = Problem(
        .approvalResolved,
        "It has as many links as it may have, or does not wait any more."
    )

    fileprivate static func over(_ approval: Approval) -> Problem {
        approval.state == .expired ? .approvalExpired(approval) : .approvalResolved(approval)
    }

    fileprivate var withoutMembers: Problem {
        var copy = self
        copy.members = []
        return copy
    }
}
