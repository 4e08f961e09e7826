/// Every operation that Ladle serves. Each row stands in the file of its handlers, and the rows of one path stand together.
/// The tests compare them with the OpenAPI document.
package enum RouteTable {
    package static let routes: [Route] = subjects.flatMap(\.self)

    /// The operations of a host that follows a leader: it answers for itself, and for streams; everything else is the leader's.
    package static let ofFollower: [Route] = routes.map { ownOfFollower.contains($0.operation) ? $0 : $0.forwarded }

    private static let ownOfFollower: Set<String> = [
        "getAsyncAPI", "getHealth", "getMetrics", "getOpenAPIAsJSON", "getOpenAPIAsYAML", "getReadiness",
        "streamEvents", "createTicket", "getCluster", "beat",
    ]

    private static let subjects: [[Route]] = [
        SystemOperations.routes,
        ApprovalOperations.routes,
        RunOperations.routes,
        AbortOperations.routes,
        SessionOperations.routes,
        ArtifactOperations.routes,
        AutomationOperations.routes,
        EventStreamOperation.routes,
        FollowOperations.routes,
        GlanceOperation.routes,
        DocumentOperations.routes,
        AvatarOperations.routes,
        MessageOperations.routes,
        ModelOperations.routes,
        NodeOperations.routes,
        NotificationOperations.routes,
        OpenAIOperations.routes,
        ResponseOperations.routes,
        OllamaOperations.routes,
        ConversationOperations.routes,
        RuleOperations.routes,
        SinkOperations.routes,
        OutboxOperations.routes,
        PairingOperations.routes,
        InvitationOperations.routes,
        QuestionOperations.routes,
        TicketOperation.routes,
        TokenOperations.routes,
        UsageOperations.routes,
    ]
}
