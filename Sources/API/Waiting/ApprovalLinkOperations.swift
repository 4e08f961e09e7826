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
    static func make(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        guard api.settings.hasApprovalLinks else {
            throw Problem(.notFound, "One-tap links are off.", hint: "ladle serve --approvals-links")
        }
        let wish = try ApprovalOperations.Wish(call)
        let approval = try await ApprovalOperations.find(api, call, on: loop)
        call.decision = AuditRecord.Decision(wish.decision.shortened, command: approval.commandSHA256)
        guard wish.isAbout(approval) else { throw .approvalChanged(approval) }
        guard api.services.approvals.sight.isLive else { throw .notAsked }
        guard approval.isPending else { throw .over(approval) }
        // A permanent permission is too much for a single tap.
        let offered = approval.decisions.filter { $0 != .allowAlways }
        guard let decision = Approval.Decision(rawValue: wish.decision), offered.contains(decision) else {
            throw .notOffered(offered)
        }
        let (links, name, token) = (api.services.approvalLinks, call.caller.shortName, call.caller.tokenID)
        let secret: Secret?
        do {
            secret = try await links.make(approval, decision, by: name, token: token, on: loop)
        } catch {
            throw .storage(error)
        }
        guard let secret else { throw .tooManyLinks }
        let response = Response.object(.created) { object in
            object.member("url", "/v1/act/\(secret.reveal())")
            object.member("decision", decision.rawValue)
            object.member("expiresAt", approval.expiresAt)
        }
        call.respond(response.unkept, on: loop)
    }

    // MARK: Using

    /// The whole question, for a person whose notification has no room for it. Link previews send a GET too, so it
    /// decides nothing and leaves the link as it is.
    static func show(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let (link, approval) = try await find(api, call, on: loop)
        guard link.question == approval.commandSHA256 else { throw .noLink }
        let end =
            approval.isPending
            ? "It waits until \(approval.expiresAt.rfc3339). A POST to this link decides once: \(link.decision.rawValue)."
            : "It does not wait any more: \(approval.state.rawValue)."
        call.respond(Response.text(.ok, "\(approval.question)\n\n\(end)\n").unkept, on: loop)
    }

    static func act(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        let (link, asked) = try await find(api, call, on: loop)
        call.decision = AuditRecord.Decision(link.decision.rawValue, command: asked.commandSHA256)
        let approvals = api.services.approvals
        // A link stays valid while its decision cannot be sent.
        guard approvals.sight.isLive else { throw .notAsked }
        let isFirst: Bool
        do { isFirst = try await api.services.approvalLinks.use(link, on: loop) } catch { throw .storage(error) }
        guard isFirst else { throw .noLink }
        let outcome = await loop.wait {
            approvals.decide(asked.id, link.decision, of: link.question, by: link.sender, on: loop, completion: $0)
        }
        let approval = try decided(outcome, call, api)
        let response = Response.object { object in
            object.member("id", approval.id)
            object.member("state", approval.state.rawValue)
            object.member("decision", approval.decision?.rawValue)
        }
        call.respond(response.unkept, on: loop)
    }

    /// The approval after the decision. A problem shows nothing of it.
    private static func decided(
        _ outcome: ApprovalService.Outcome,
        _ call: Call,
        _ api: HTTPAPI
    ) throws(Problem) -> Approval {
        if case .notFound = outcome { throw .noLink }
        if case .failed(.unanswered) = outcome { throw Problem(.gatewayTimeout, ApprovalOperations.unanswered) }
        do throws(Problem) {
            return try ApprovalOperations.decided(outcome, call, api)
        } catch {
            var problem = error
            problem.members.removeAll { $0.name == "approval" }
            throw problem
        }
    }

    /// The secret is the authorization: it was given to one person for one decision. The answer reveals only what the
    /// link is about.
    private static func find(
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) async throws(Problem) -> (ApprovalLinks.Found, Approval) {
        guard api.settings.hasApprovalLinks else { throw .noLink }
        let found: ApprovalLinks.Found?
        do { found = try await api.services.approvalLinks.find(call.pathID, on: loop) } catch { throw .storage(error) }
        guard let link = found else {
            call.subject = "unknown"
            throw wrong(call, api, on: loop)
        }
        call.subject = link.approval
        call.actor = "link:\(link.token.map { "token:\($0)" } ?? link.sender)"
        // A link expires with the token that made it.
        if let token = link.token,
            api.access.authenticator.tokens[id: token]?.isExpired(now: loop.wallClock) != false
        {
            throw .noLink
        }
        guard let approval = api.services.approvals.item(link.approval, on: loop) else { throw .noLink }
        return (link, approval)
    }

    /// Wrong secrets count like wrong tokens. Right ones do not wait for them: behind a proxy, or in one household, the address of
    /// somebody who guesses is also that of the owner.
    private static func wrong(_ call: Call, _ api: HTTPAPI, on loop: isolated EventLoop) -> Problem {
        let key = api.settings.peer(call.exchange.connection).limitKey
        let verdict = api.access.authenticator.limiter.take(.auth, key, now: loop.wallClock.milliseconds)
        return verdict.allowed ? .noLink : Problem(.rateLimited(.auth, verdict))
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
}
