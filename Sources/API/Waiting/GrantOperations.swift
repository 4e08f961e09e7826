import Access
import EventLoops
import HTTPModel
import JSONBytes
import Server
import Service

/// `/v1/approvals/grants`: the permissions of automations to run a command without asking. They belong to no session, so a token limited to
/// sessions is refused.
enum GrantOperations {
    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        guard call.caller.sessions == nil else { throw .ofNoSession }
        let grants: [StandingGrant]
        do throws(GatewayFault) {
            grants = try await api.services.approvalMemory.grants(on: loop)
        } catch {
            throw Problem(error, doing: "list the permissions")
        }
        call.respondTagged(.object { $0.array("grants", of: grants) }, on: loop)
    }

    static func revoke(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) async throws(Problem) {
        guard call.caller.sessions == nil else { throw .ofNoSession }
        let id = call.pathID
        do throws(GatewayFault) {
            guard try await api.services.approvalMemory.revoke(id, on: loop) else {
                return call.fail(.noGrant, on: loop)
            }
        } catch {
            let wait = call.untilNextTry(api, on: loop)
            let hint = "GET /v1/approvals/grants shows whether it is revoked"
            throw Problem(error, changing: "revoke it", isRepeatable: true, hint: hint, retryAfterMs: wait)
        }
        call.respond(
            .object { object in
                object.member("id", id)
                object.member("revoked", true)
            },
            on: loop
        )
    }
}

extension Problem {
    fileprivate static let noGrant = Problem(
        .grantNotFound,
        "There is no permission of this whole id.",
        field: "id"
    )
}
