import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Server
import TLS

/// `/v1/pairing/invitations`: the host chooses name and scopes, and a device exchanges the secret for its token in one
/// request.
enum InvitationOperations {
    static let routes = [
        Route("listInvitations", .get, "/v1/pairing/invitations", scope: .admin, handler: list),
        Route(
            "createInvitation",
            .post,
            "/v1/pairing/invitations",
            scope: .admin,
            body: Route.json,
            grantsOrLimits: true,
            handler: create
        ),
        Route("getInvitation", .get, "/v1/pairing/invitations/{id}", scope: .admin, handler: get),
        Route(
            "cancelInvitation",
            .delete,
            "/v1/pairing/invitations/{id}",
            scope: .admin,
            produces: [],
            handler: cancel
        ),
    ]

    static func create(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let body = try call.jsonObject(of: TokenForm.fields)
        let token = try TokenForm.newToken(body, scopes: [.read, .send], api, now: loop.wallClock)
        switch api.access.invitations.make(token, by: call.caller.tokenID, now: loop.wallClock) {
        case .failure:
            throw Problem(.tooManyApplications, "As many invitations wait as there is room for.")
        case .success(let made):
            call.subject = made.invitation.id
            let certificates = api.settings.tls()?.certificates ?? []
            let places = PairingPlaces(
                listening: api.rules.listening,
                interfaces: api.settings.interfaces(),
                tailnetNames: api.rules.tailnetNames,
                now: loop.wallClock
            ) { api.settings.isEncrypted($0) ? certificates : [] }
            let response = Response.object(.created) { object in
                made.invitation.writeMembers(to: &object)
                object.member("secret", PairingInvitations.grouped(made.secret))
                object.member("link", places.link(secret: made.secret.reveal()))
                object.member("reach", places.reach.rawValue)
                object.array("urls", of: places.urls)
            }
            call.respond(response.unkept, on: loop)
        }
    }

    static func list(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) {
        let open = api.access.invitations.open(now: loop.wallClock)
        call.respond(.object { $0.array("invitations", of: open) }.unkept, on: loop)
    }

    static func get(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let found = api.access.invitations.invitation(call.pathID, now: loop.wallClock)
        guard let found else { throw unknown }
        call.respond(Response.json(.ok, found).unkept, on: loop)
    }

    static func cancel(_ api: HTTPAPI, _ call: Call, _ loop: isolated EventLoop) throws(Problem) {
        let id = call.pathID
        switch api.access.invitations.cancel(id, now: loop.wallClock) {
        case .unknown: throw unknown
        case .cancelled:
            call.subject = id
            call.respond(Response(.noContent), on: loop)
        case .used(let invitation):
            call.subject = id
            let hint = invitation.tokenID.map { "ladle token revoke \($0)" }
            throw Problem(.alreadyDecided, "The invitation has been used.", hint: hint)
        }
    }

    private static var unknown: Problem { Problem(.unknownPairing, "There is no invitation of this id.") }

    // MARK: The device

    /// A right secret always works, like a right token; a wrong one counts as an application, and all wrong ones get
    /// the same answer.
    static func redeem(
        _ secret: String,
        from peer: Peer,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) throws(Problem) {
        let problem: Problem
        switch api.access.invitations.redeem(secret, now: loop.wallClock) {
        case .deliver(let invitation): return deliver(invitation, to: peer, api, call, on: loop)
        case .unknown: problem = Problem(.unknownPairing, "No invitation has this secret.", hint: again)
        case .over(let invitation):
            call.actor = "invitation:\(invitation.id)"
            problem = Problem(.pairingOver, text(of: invitation), hint: again)
        }
        try api.access.countWrongSecret(call.exchange, from: peer, on: loop)
        throw problem
    }

    private static let again = "on the host: ladle pair"

    private static func text(of invitation: PairingInvitation) -> String {
        switch invitation.state {
        case .cancelled: "The invitation was cancelled on the host."
        case .expired, .waiting: "The invitation has expired: it counts for five minutes."
        case .used:
            "The invitation has been used, and counts once. If it was not you, revoke its token on the host: ladle token list."
        }
    }

    private static func deliver(
        _ invitation: PairingInvitation,
        to peer: Peer,
        _ api: HTTPAPI,
        _ call: Call,
        on loop: isolated EventLoop
    ) {
        let (record, secret) = TokenRecord.issue(invitation.token, now: loop.wallClock, random: SecureRandom.bytes(10))
        call.actor = "invitation:\(invitation.id)"
        call.subject = record.id
        api.access.save(record, on: loop) { result in
            switch result {
            case .success:
                api.access.invitations.redeemed(invitation.id, tokenID: record.id, from: peer.description)
                let response = Response.object(.created) { record.writeMembers(to: &$0, secret: secret) }
                call.respond(response.unkept, on: loop)
            case .failure(let error):
                api.access.invitations.redemptionFailed(invitation.id)
                call.fail(.storeUnavailable(error), on: loop)
            }
        }
    }
}
