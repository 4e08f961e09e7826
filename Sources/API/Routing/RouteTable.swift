import Access
import Documents
import HTTPModel

/// Every operation Ladle serves, sorted by path and method; the tests compare it with the OpenAPI document.
package enum RouteTable {
    package static let routes: [Route] = [
        Route("getHealth", .get, "/healthz", scope: nil, handler: SystemOperations.health),
        Route(
            "getMetrics",
            .get,
            "/metrics",
            scope: .read,
            produces: MetricsOperation.types,
            handler: MetricsOperation.handle
        ),
        Route("getOpenAPIAsJSON", .get, "/openapi.json", scope: .read, handler: OpenAPIDocument.getJSON),
        Route(
            "getOpenAPIAsYAML",
            .get,
            "/openapi.yaml",
            scope: .read,
            produces: [.yaml],
            handler: OpenAPIDocument.getYAML
        ),
        Route("getReadiness", .get, "/readyz", scope: .read, handler: SystemOperations.readiness),
        Route(
            "actOnApproval",
            .post,
            "/v1/act/{secret}",
            scope: nil,
            body: .unused,
            handler: ApprovalLinkOperations.act
        ),
        Route(
            "getActivity",
            .get,
            "/v1/activity",
            scope: .read,
            produces: [.json, .plain],
            handler: RunOperations.activity
        ),
        Route("listAgents", .get, "/v1/agents", scope: .read, query: ["refresh"], handler: SessionOperations.agents),
        Route(
            "listApprovals",
            .get,
            "/v1/approvals",
            scope: .read,
            query: ["before", "kind", "limit", "session", "state"],
            handler: ApprovalOperations.list
        ),
        Route("getApproval", .get, "/v1/approvals/{id}", scope: .read, handler: ApprovalOperations.get),
        Route(
            "decideApproval",
            .post,
            "/v1/approvals/{id}",
            scope: .approvals,
            body: Route.json,
            handler: ApprovalOperations.decide
        ),
        Route(
            "linkApproval",
            .post,
            "/v1/approvals/{id}/links",
            scope: .approvals,
            body: Route.json,
            handler: ApprovalLinkOperations.make
        ),
        Route(
            "listAutomations",
            .get,
            "/v1/automations",
            scope: .read,
            query: ["agent", "before", "enabled", "limit", "refresh"],
            handler: AutomationOperations.list
        ),
        Route(
            "getAutomation",
            .get,
            "/v1/automations/{id}",
            scope: .read,
            query: ["refresh"],
            handler: AutomationOperations.get
        ),
        Route(
            "patchAutomation",
            .patch,
            "/v1/automations/{id}",
            scope: .control,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            handler: AutomationOperations.patch
        ),
        Route(
            "runAutomation",
            .post,
            "/v1/automations/{id}/run",
            scope: .control,
            body: .unused,
            handler: AutomationOperations.run
        ),
        Route(
            "listAutomationRuns",
            .get,
            "/v1/automations/{id}/runs",
            scope: .read,
            query: ["before", "limit"],
            handler: AutomationOperations.runs
        ),
        Route(
            "getFrames",
            .get,
            "/v1/debug/frames",
            scope: .admin,
            produces: [.json, .eventStream],
            query: ["before", "limit", "since"],
            handler: FrameOperations.frames
        ),
        Route(
            "streamEvents",
            .get,
            "/v1/events",
            scope: .read,
            produces: [.eventStream, .ndjson, .plain, .json],
            query: [
                "compress", "heartbeat", "limit", "poll", "run", "session", "since", "snapshot", "ticket", "timeout",
                "types",
            ],
            handler: EventStreamOperation.handle
        ),
        Route(
            "getGlance",
            .get,
            "/v1/glance",
            scope: .read,
            produces: [.json, .plain],
            query: ["fields", "format", "private", "rev", "wait"],
            handler: GlanceOperation.handle
        ),
        Route(
            "getIdentity",
            .get,
            "/v1/identity",
            scope: .read,
            produces: [.json, .markdown],
            query: ["agent", "refresh"],
            handler: DocumentOperations.get(.identity)
        ),
        Route(
            "patchIdentity",
            .patch,
            "/v1/identity",
            scope: .identity,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            produces: [.json, .markdown],
            query: ["agent"],
            handler: DocumentOperations.patch(.identity)
        ),
        Route(
            "putIdentity",
            .put,
            "/v1/identity",
            scope: .identity,
            body: .upTo(Route.documentBytes, types: [.json, .markdown]),
            produces: [.json, .markdown],
            query: ["agent"],
            handler: DocumentOperations.put(.identity)
        ),
        Route(
            "deleteAvatar",
            .delete,
            "/v1/identity/avatar",
            scope: .identity,
            produces: [],
            query: ["agent"],
            handler: AvatarOperations.delete
        ),
        Route(
            "getAvatar",
            .get,
            "/v1/identity/avatar",
            scope: .read,
            produces: [.png, .jpeg, .webp],
            query: ["agent"],
            handler: AvatarOperations.get
        ),
        Route(
            "putAvatar",
            .put,
            "/v1/identity/avatar",
            scope: .identity,
            body: .upTo(Route.avatarBytes, types: [.png, .jpeg, .webp]),
            query: ["agent"],
            handler: AvatarOperations.put
        ),
        Route(
            "listMessages",
            .get,
            "/v1/messages",
            scope: .read,
            produces: [.json, .plain],
            query: ["after", "before", "limit", "refresh", "session"],
            handler: MessageOperations.list
        ),
        Route(
            "sendMessage",
            .post,
            "/v1/messages",
            scope: .send,
            body: .message,
            produces: [.json, .plain, .eventStream],
            query: ["force", "session", "thinking", "wait"],
            handler: AcceptMessage.handle
        ),
        Route("listModels", .get, "/v1/models", scope: .read, query: ["view"], handler: ModelOperations.list),
        Route("listNodes", .get, "/v1/nodes", scope: .read, query: ["refresh"], handler: NodeOperations.list),
        Route("getNode", .get, "/v1/nodes/{id}", scope: .read, query: ["refresh"], handler: NodeOperations.get),
        Route(
            "invokeNode",
            .post,
            "/v1/nodes/{id}/invoke",
            scope: .nodes,
            body: NodeInvokeOperation.body,
            produces: NodeInvokeOperation.types,
            handler: NodeInvokeOperation.handle
        ),
        Route(
            "listNotifications",
            .get,
            "/v1/notifications",
            scope: .read,
            query: ["before", "limit", "state"],
            handler: NotificationOperations.list
        ),
        Route(
            "createNotification",
            .post,
            "/v1/notifications",
            scope: .send,
            body: Route.json,
            handler: NotificationOperations.create
        ),
        Route(
            "unmuteNotifications",
            .delete,
            "/v1/notifications/mute",
            scope: .admin,
            handler: NotificationOperations.unmute
        ),
        Route(
            "muteNotifications",
            .post,
            "/v1/notifications/mute",
            scope: .admin,
            body: Route.json,
            handler: NotificationOperations.mute
        ),
        Route(
            "getQuietHours",
            .get,
            "/v1/notifications/quiet-hours",
            scope: .read,
            handler: NotificationOperations.getQuietHours
        ),
        Route(
            "putQuietHours",
            .put,
            "/v1/notifications/quiet-hours",
            scope: .admin,
            body: Route.json,
            handler: NotificationOperations.putQuietHours
        ),
        Route(
            "listNotificationRules",
            .get,
            "/v1/notifications/rules",
            scope: .read,
            handler: RuleOperations.list
        ),
        Route(
            "createNotificationRule",
            .post,
            "/v1/notifications/rules",
            scope: .admin,
            body: Route.json,
            handler: RuleOperations.create
        ),
        Route(
            "deleteNotificationRule",
            .delete,
            "/v1/notifications/rules/{id}",
            scope: .admin,
            handler: RuleOperations.delete
        ),
        Route(
            "getNotificationRule",
            .get,
            "/v1/notifications/rules/{id}",
            scope: .read,
            handler: RuleOperations.get
        ),
        Route(
            "patchNotificationRule",
            .patch,
            "/v1/notifications/rules/{id}",
            scope: .admin,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            handler: RuleOperations.patch
        ),
        Route(
            "listSinks",
            .get,
            "/v1/notifications/sinks",
            scope: .read,
            handler: SinkOperations.list
        ),
        Route(
            "createSink",
            .post,
            "/v1/notifications/sinks",
            scope: .admin,
            body: Route.json,
            handler: SinkOperations.create
        ),
        Route(
            "deleteSink",
            .delete,
            "/v1/notifications/sinks/{id}",
            scope: .admin,
            handler: SinkOperations.delete
        ),
        Route(
            "getSink",
            .get,
            "/v1/notifications/sinks/{id}",
            scope: .read,
            handler: SinkOperations.get
        ),
        Route(
            "patchSink",
            .patch,
            "/v1/notifications/sinks/{id}",
            scope: .admin,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            handler: SinkOperations.patch
        ),
        Route(
            "rotateSink",
            .post,
            "/v1/notifications/sinks/{id}/rotate",
            scope: .admin,
            body: .unused,
            handler: SinkOperations.rotate
        ),
        Route(
            "testSink",
            .post,
            "/v1/notifications/sinks/{id}/test",
            scope: .admin,
            body: .unused,
            handler: SinkOperations.test
        ),
        Route(
            "retryNotification",
            .post,
            "/v1/notifications/{id}/retry",
            scope: .admin,
            body: .unused,
            handler: NotificationOperations.retry
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
            handler: EntryOperations.cancel
        ),
        Route("getEntry", .get, "/v1/outbox/{id}", scope: .read, handler: OutboxOperations.get),
        Route(
            "retryEntry",
            .post,
            "/v1/outbox/{id}/retry",
            scope: .send,
            body: .unused,
            handler: EntryOperations.retry
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
            "createInvitation",
            .post,
            "/v1/pairing/invitations",
            scope: .admin,
            body: Route.json,
            handler: InvitationOperations.create
        ),
        Route(
            "getInvitation",
            .get,
            "/v1/pairing/invitations/{id}",
            scope: .admin,
            handler: InvitationOperations.get
        ),
        Route(
            "cancelInvitation",
            .delete,
            "/v1/pairing/invitations/{id}",
            scope: .admin,
            produces: [],
            handler: InvitationOperations.cancel
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
            "getProfile",
            .get,
            "/v1/profile",
            scope: .read,
            produces: [.json, .markdown],
            query: ["agent", "refresh"],
            handler: DocumentOperations.get(.profile)
        ),
        Route(
            "patchProfile",
            .patch,
            "/v1/profile",
            scope: .identity,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            produces: [.json, .markdown],
            query: ["agent"],
            handler: DocumentOperations.patch(.profile)
        ),
        Route(
            "putProfile",
            .put,
            "/v1/profile",
            scope: .identity,
            body: .upTo(Route.documentBytes, types: [.json, .markdown]),
            produces: [.json, .markdown],
            query: ["agent"],
            handler: DocumentOperations.put(.profile)
        ),
        Route(
            "listQuestions",
            .get,
            "/v1/questions",
            scope: .read,
            query: ["session", "state"],
            handler: QuestionOperations.list
        ),
        Route("getQuestion", .get, "/v1/questions/{id}", scope: .read, handler: QuestionOperations.get),
        Route(
            "answerQuestion",
            .post,
            "/v1/questions/{id}",
            scope: .approvals,
            body: Route.json,
            handler: QuestionOperations.resolve
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
        Route("abortRun", .post, "/v1/runs/{id}/abort", scope: .send, body: .unused, handler: AbortOperations.run),
        Route(
            "listSessions",
            .get,
            "/v1/sessions",
            scope: .read,
            query: ["active", "agent", "archived", "before", "kind", "limit", "refresh", "search"],
            handler: SessionOperations.list
        ),
        Route(
            "createSession",
            .post,
            "/v1/sessions",
            scope: .control,
            body: Route.json,
            handler: NewSessionRequest.handle
        ),
        Route(
            "deleteSession",
            .delete,
            "/v1/sessions/{key}",
            scope: .control,
            query: ["force", "transcript"],
            handler: SessionChanges.delete
        ),
        Route(
            "getSession",
            .get,
            "/v1/sessions/{key}",
            scope: .read,
            query: ["refresh"],
            handler: SessionOperations.get
        ),
        Route(
            "patchSession",
            .patch,
            "/v1/sessions/{key}",
            scope: .control,
            body: .upTo(Route.jsonBytes, types: [.mergePatchJSON, .json]),
            handler: SessionChanges.patch
        ),
        Route(
            "abortSession",
            .post,
            "/v1/sessions/{key}/abort",
            scope: .send,
            body: .unused,
            handler: AbortOperations.session
        ),
        Route(
            "compactSession",
            .post,
            "/v1/sessions/{key}/compact",
            scope: .control,
            body: .unused,
            handler: SessionChanges.compact
        ),
        Route(
            "markSessionRead",
            .put,
            "/v1/sessions/{key}/read",
            scope: .read,
            body: Route.json,
            handler: SessionOperations.read
        ),
        Route(
            "resetSession",
            .post,
            "/v1/sessions/{key}/reset",
            scope: .control,
            body: .unused,
            handler: SessionChanges.reset
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
        Route(
            "revokeToken",
            .delete,
            "/v1/tokens/{id}",
            scope: .admin,
            produces: [],
            handler: TokenOperations.revoke
        ),
        Route(
            "rotateToken",
            .post,
            "/v1/tokens/{id}/rotate",
            scope: .admin,
            body: .unused,
            handler: TokenOperations.rotate
        ),
        Route(
            "getUsage",
            .get,
            "/v1/usage",
            scope: .read,
            produces: [.json, .plain],
            handler: UsageOperations.get
        ),
        Route(
            "getUsageCost",
            .get,
            "/v1/usage/cost",
            scope: .read,
            query: ["agent", "from", "to", "tz"],
            handler: UsageOperations.cost
        ),
        Route(
            "listSessionUsage",
            .get,
            "/v1/usage/sessions",
            scope: .read,
            query: ["from", "limit", "to"],
            handler: UsageOperations.sessions
        ),
        Route("wakeAgent", .post, "/v1/wake", scope: .send, body: Route.json, handler: WakeOperation.handle),
    ]
}
