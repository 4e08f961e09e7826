/// Every operation that Ladle serves. Each row stands in the file of its handlers, and the rows of one path stand together.
/// The tests compare them with the OpenAPI document.
package enum RouteTable {
    package static let routes: [Route] = subjects.flatMap(\.self)

    private static let subjects: [[Route]] = [
        SystemOperations.routes,
        ApprovalOperations.routes,
        RunOperations.routes,
        AbortOperations.routes,
        SessionOperations.routes,
        ArtifactOperations.routes,
        AutomationOperations.routes,
        EventStreamOperation.routes,
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
