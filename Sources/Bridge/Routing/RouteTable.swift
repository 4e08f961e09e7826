import Access
import HTTPModel

/// Every operation Ladle serves, sorted by path and method; the OpenAPI document is held against it.
package enum RouteTable {
    package static let routes: [Route] = [
        Route("getHealth", .get, "/healthz", scope: nil, handler: SystemOperations.health),
        Route("getReadiness", .get, "/readyz", scope: .read, handler: SystemOperations.readiness),
        Route(
            "getActivity",
            .get,
            "/v1/activity",
            scope: .read,
            produces: [.json, .plain],
            handler: RunOperations.activity
        ),
        Route("listAgents", .get, "/v1/agents", scope: .read, handler: SessionOperations.agents),
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
            "listMessages",
            .get,
            "/v1/messages",
            scope: .read,
            produces: [.json, .plain],
            query: ["after", "before", "limit", "session"],
            handler: MessageList.handle
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
            "listOutbox",
            .get,
            "/v1/outbox",
            scope: .read,
            query: ["before", "limit", "session", "state"],
            handler: OutboxOperations.list
        ),
        Route(
            "cancelEntry",
            .delete,
            "/v1/outbox/{id}",
            scope: .send,
            query: ["force"],
            handler: OutboxCommands.cancel
        ),
        Route("getEntry", .get, "/v1/outbox/{id}", scope: .read, handler: OutboxOperations.get),
        Route(
            "retryEntry",
            .post,
            "/v1/outbox/{id}/retry",
            scope: .send,
            body: Route.json,
            handler: OutboxCommands.retry
        ),
        Route(
            "listRuns",
            .get,
            "/v1/runs",
            scope: .read,
            query: ["active", "before", "limit", "session"],
            handler: RunOperations.list
        ),
        Route("getRun", .get, "/v1/runs/{id}", scope: .read, produces: [.json, .plain], handler: RunOperations.get),
        Route("abortRun", .post, "/v1/runs/{id}/abort", scope: .send, body: Route.json, handler: AbortOperations.run),
        Route(
            "abortSession",
            .post,
            "/v1/sessions/{key}/abort",
            scope: .send,
            body: Route.json,
            handler: AbortOperations.session
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
