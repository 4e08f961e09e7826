import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Server
import TLS

/// `/v1/pairing`: a device without a token requests one, a person on the host decides, the device collects it.
enum PairingOperations {
    static let routes = [
        Route("listPairing", .get, "/v1/pairing", scope: .admin, handler: list),
        Route(
            "applyForPairing",
            .post,
            "/v1/pairing",
            scope: nil,
            body: .upTo(PairingOperations.bodyBytes, types: [.json]),
            grantsOrLimits: true,
            handler: apply
        ),
        Route(
            "approvePairing",
            .post,
            "/v1/pairing/approve",
            scope: .admin,
            body: Route.json,
            grantsOrLimits: true,
            handler: approve
        ),
        Route(
            "rejectPairing",
            .post,
            "/v1/pairing/reject",
            scope: .admin,
            body: Route.json,
            grantsOrLimits: true,
            handler: reject
        ),
        Route("pollPairing", .get, "/v1/pairing/{id}", scope: nil, handler: poll),
    ]

    /// Room for a name, some scopes and the most paths allowed.
    static let bodyBytes = 8 << 10

    static func apply(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let peer = api.settings.peer(call.exchange.connection)
        let body: JSONValue
        do throws(Problem) {
            body = try call.jsonObject(of: ["name", "scopes", "paths", "secret"])
        } catch {
            try api.access.admitApplication(call.exchange, from: peer, on: loop)
            throw error
        }
        if let secret = body["secret"] {
            call.isBodySecret = true
            guard let text = secret.string else {
                throw .invalidField("secret", "`secret` is the code that `ladle pair` shows, a string.")
            }
            return try InvitationOperations.redeem(text, from: peer, api, call, on: loop)
        }
        try api.access.admitApplication(call.exchange, from: peer, on: loop)
        guard let name = body["name"]?.string else {
            throw .invalidField("name", "`name` is what the host's owner will see, a string.")
        }
        let paths = try TokenForm.paths(body["paths"], api)
        let scopes = try ScopeSet(asked: body["scopes"])
        let token = try TokenForm.check(name, scopes, nil, paths, now: loop.wallClock)
        let place = "\(peer.limitKey)"
        switch api.access.pairing.apply(token, from: peer.description, place: place, now: loop.wallClock) {
        case .failure:
            throw Problem(.tooManyApplications, "As many applications wait as there is room for.")
        case .success(let receipt):
            call.subject = receipt.code
            api.tell(.waiting, receipt.request, on: loop)
            let response = Response.object(.accepted) { object in
                object.member("id", receipt.id.reveal())
                object.member("code", receipt.code)
                object.member("expiresAt", receipt.expiresAt)
                object.member("approve", "ladle clients approve \(receipt.code)")
            }
            call.respond(response.unkept, on: loop)
        }
    }

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let requests = api.access.pairing.pending(now: loop.wallClock)
        call.respond(.object { $0.array("requests", of: requests) }.unkept, on: loop)
    }

    static func poll(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let id = Array(call.pathID.utf8)
        switch api.access.pairing.poll(id, now: loop.wallClock) {
        case nil: throw Problem(.unknownPairing, "There is no such application, or it is over.")
        case .pending(let expiresAt): respond(call, "pending", expiresAt: expiresAt, on: loop)
        case .rejected: respond(call, "rejected", on: loop)
        case .superseded: respond(call, "superseded", on: loop)
        case .delivered: respond(call, "delivered", on: loop)
        case .busy: respond(call, "busy", on: loop)
        case .deliver where call.exchange.method == .head:
            // An answer to HEAD has no room for the token, which is shown once.
            api.access.pairing.deliveryFailed(id)
            respond(call, "approved", on: loop)
        case .deliver(let token): deliver(token, to: id, api, call, loop)
        }
    }

    private static func deliver(
        _ token: NewToken,
        to id: [UInt8],
        _ api: HTTPAPI,
        _ call: Call,
        _ loop: isolated EventLoop
    ) {
        let (record, secret) = TokenRecord.issue(token, now: loop.wallClock, random: SecureRandom.bytes(10))
        call.audit = api.access.audit
        call.subject = record.id
        api.access.save(record, on: loop) { result in
            switch result {
            case .success:
                api.access.pairing.delivered(id)
                let response = Response.object { object in
                    object.member("status", "approved")
                    record.writeMembers(to: &object, secret: secret)
                }
                call.respond(response.unkept, on: loop)
            case .failure(let error):
                api.access.pairing.deliveryFailed(id)
                call.fail(.storeUnavailable(error), on: loop)
            }
        }
    }

    private static func respond(
        _ call: Call,
        _ status: String,
        expiresAt: Timestamp? = nil,
        on loop: isolated EventLoop
    ) {
        let response = Response.object { object in
            object.member("status", status)
            object.member("expiresAt", expiresAt)
        }
        call.respond(response.unkept, on: loop)
    }

    static func approve(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try decide(api, call, .approved, on: loop) { code, body throws(Problem) in
            var scopes: ScopeSet?
            if let list = body["scopes"], !list.isNull { scopes = try ScopeSet(asked: list) }
            if scopes?.isEmpty == true { throw .invalidField("scopes", "An approval grants at least one scope.") }
            let paths = try TokenForm.paths(body["paths"], api)
            let approver = call.caller.tokenID
            return api.access.pairing.approve(code, scopes: scopes, paths: paths, by: approver, now: loop.wallClock)
        }
    }

    static func reject(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        try decide(api, call, .rejected, on: loop) { code, _ throws(Problem) in
            api.access.pairing.reject(code, now: loop.wallClock)
        }
    }

    private static func decide(
        _ api: HTTPAPI,
        _ call: Call,
        _ decision: PairingNews,
        on loop: isolated EventLoop,
        _ change: (String, JSONValue) throws(Problem) -> Result<PairingRequest, PairingRequests.Refusal>
    ) throws(Problem) {
        let body = try call.jsonObject(of: ["code", "scopes", "paths"])
        guard let code = body["code"]?.string, !code.isEmpty else {
            throw .invalidField("code", "`code` is what the applicant's screen shows.")
        }
        call.subject = String(code.prefix(16))
        switch try change(code, body) {
        case .success(let request):
            api.tell(decision, request, on: loop)
            call.respond(.json(.ok, request), on: loop)
        case .failure(.notRequested(let scopes)):
            throw .invalidField("scopes", "Not asked for: \(scopes.names.joined(separator: ", ")).")
        case .failure(.pathNotRequested):
            throw .invalidField("paths", "Paths that were not asked for are not granted.")
        case .failure(.impossible(let problem)): throw Problem(problem)
        case .failure(.decided): throw Problem(.alreadyDecided, "This application was decided before.")
        case .failure: throw Problem(.unknownCode, "No application waits under this code.")
        }
    }
}
