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
    ]
}
