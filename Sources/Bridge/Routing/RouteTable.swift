import Access
import HTTPModel

/// Every operation Ladle serves, sorted by path and method; the OpenAPI document is held against it.
package enum RouteTable {
    package static let routes: [Route] = [
        Route("getHealth", .get, "/healthz", scope: nil, handler: SystemOperations.health),
        Route("getReadiness", .get, "/readyz", scope: .read, handler: SystemOperations.readiness),
        Route(
            "streamEvents",
            .get,
            "/v1/events",
            scope: .read,
            produces: [.eventStream, .ndjson, .plain, .json],
            query: [
                "heartbeat", "limit", "poll", "run", "session", "since", "snapshot", "ticket", "timeout", "types",
            ],
            handler: EventStreamOperation.handle
        ),
        Route(
            "listPairing",
            .get,
            "/v1/pairing",
            scope: .admin,
            handler: PairingOperations.list
        ),
        Route(
            "applyForPairing",
            .post,
            "/v1/pairing",
            scope: nil,
            body: .upTo(PairingOperations.bodyBytes, types: [.json]),
            handler: PairingOperations.apply
        ),
        Route(
            "approvePairing",
            .post,
            "/v1/pairing/approve",
            scope: .admin,
            body: Route.json,
            handler: PairingOperations.approve
        ),
        Route(
            "rejectPairing",
            .post,
            "/v1/pairing/reject",
            scope: .admin,
            body: Route.json,
            handler: PairingOperations.reject
        ),
        Route(
            "pollPairing",
            .get,
            "/v1/pairing/{id}",
            scope: nil,
            handler: PairingOperations.poll
        ),
        Route(
            "sendMessage",
            .post,
            "/v1/messages",
            scope: .send,
            body: .message,
            produces: [.json, .plain, .eventStream],
            query: ["force", "session", "thinking", "wait"],
            handler: SendOperation.handle
        ),
        Route(
            "getStatus",
            .get,
            "/v1/status",
            scope: .read,
            produces: [.json, .plain],
            handler: SystemOperations.status
        ),
        Route("createTicket", .post, "/v1/tickets", scope: .read, body: Route.json, handler: TicketOperation.handle),
        Route("listTokens", .get, "/v1/tokens", scope: .admin, handler: TokenOperations.list),
        Route("createToken", .post, "/v1/tokens", scope: .admin, body: Route.json, handler: TokenOperations.create),
        Route("revokeToken", .delete, "/v1/tokens/{id}", scope: .admin, handler: TokenOperations.revoke),
        Route(
            "rotateToken",
            .post,
            "/v1/tokens/{id}/rotate",
            scope: .admin,
            body: Route.json,
            handler: TokenOperations.rotate
        ),
    ]
}
