import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Server
import TLS

/// `/v1/tokens`: created, listed, renewed and revoked by callers with scope `admin`.
enum TokenOperations {
    static let routes = [
        Route("listTokens", .get, "/v1/tokens", scope: .admin, handler: list),
        Route(
            "createToken",
            .post,
            "/v1/tokens",
            scope: .admin,
            body: Route.json,
            grantsOrLimits: true,
            handler: create
        ),
        Route("revokeToken", .delete, "/v1/tokens/{id}", scope: .admin, produces: [], handler: revoke),
        Route("rotateToken", .post, "/v1/tokens/{id}/rotate", scope: .admin, body: .unused, handler: rotate),
    ]

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let records = api.access.authenticator.tokens.records
        call.respond(.object { $0.array("tokens", of: records) }.unkept, on: loop)
    }

    static func create(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let token = try TokenForm.newToken(try call.jsonObject(of: TokenForm.fields), api, now: loop.wallClock)
        let (record, secret) = TokenRecord.issue(token, now: loop.wallClock, random: SecureRandom.bytes(10))
        call.subject = record.id
        api.access.save(record, on: loop) { result in
            answer(call, .created, record, secret, result, on: loop)
        }
    }

    static func rotate(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        guard let known = find(api, call) else { throw unknown }
        let (record, secret) = known.rotated()
        call.subject = record.id
        api.access.save(record, isRotation: true, on: loop) { result in
            if case .success = result {
                guard api.access.authenticator.tokens[id: record.id] != nil else {
                    return call.fail(unknown, on: loop)
                }
                api.access.endWork(ofToken: record.id, reason: "token_rotated", except: call.exchange, on: loop)
            }
            answer(call, .ok, record, secret, result, on: loop)
        }
    }

    static func revoke(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let leaving = api.access.isLeaving(call.pathID) ? call.pathID : nil
        guard let id = find(api, call)?.id ?? leaving else { throw unknown }
        call.subject = id
        api.access.revoke(id, asked: call.exchange, on: loop) { result in
            switch result {
            case .success: call.respond(Response(.noContent), on: loop)
            case .failure(let error): call.fail(.storeUnavailable(error), on: loop)
            }
        }
    }

    private static func find(_ api: HTTPAPI, _ call: Call) -> TokenRecord? {
        api.access.authenticator.tokens.find(call.pathID)
    }

    private static var unknown: Problem {
        Problem(.unknownToken, "There is no token of this id, or several of this name.")
    }

    private static func answer(
        _ call: Call,
        _ status: HTTPStatus,
        _ record: TokenRecord,
        _ secret: Secret,
        _ result: Result<Void, any Error>,
        on loop: isolated EventLoop
    ) {
        switch result {
        case .success:
            let response = Response.object(status) { record.writeMembers(to: &$0, secret: secret) }
            call.respond(response.unkept, on: loop)
        case .failure(let error): call.fail(.storeUnavailable(error), on: loop)
        }
    }
}

extension TokenRecord {
    /// Writes the token with its secret, which is shown only this once.
    func writeMembers(to writer: inout JSONWriter, secret: Secret) {
        writeRights(to: &writer)
        writer.member("createdAt", createdAt)
        writer.member("expiresAt", expiresAt)
        writer.member("token", secret.reveal())
    }
}

extension Response {
    /// The response, barred from caches and compression because it holds a secret.
    var unkept: Response {
        var copy = adding(.cacheControl, "no-store")
        copy.mayCompress = false
        return copy
    }
}
