/// Every method of the demo gateway. The order is the one in which a hello lists them.
extension GatewayMethod {
    private static let read = "operator.read"
    private static let write = "operator.write"
    private static let admin = "operator.admin"
    private static let pairing = "operator.pairing"
    private static let approvals = "operator.approvals"

    private static let key = ParamsRule.text("key").required
    private static let agentID = ParamsRule.text("agentId").required
    private static let laterAgentID = ParamsRule.text("agentId").since(.june)
    private static let fileName = ParamsRule.text("name").required

    static let all: [GatewayMethod] = status + chat + sessions + agents + nodes + security

    private static let status: [GatewayMethod] = [
        GatewayMethod(name: "health", run: GatewayModel.health),
        GatewayMethod(name: "status", scope: read, run: GatewayModel.status),
        GatewayMethod(name: "usage.status", scope: read, run: GatewayModel.usageStatus),
        GatewayMethod(name: "usage.cost", scope: read, run: GatewayModel.usageCost),
        GatewayMethod(
            name: "models.list",
            scope: read,
            rules: [.choice("view", ["default", "configured", "all"]).since(.june)],
            run: GatewayModel.modelsList
        ),
        GatewayMethod(name: "system-presence", scope: read, run: GatewayModel.systemPresence),
        GatewayMethod(
            name: "gateway.identity.get",
            scope: read,
            rules: [],
            since: .june,
            run: GatewayModel.gatewayIdentity
        ),
    ]

    private static let chat: [GatewayMethod] = [
        GatewayMethod(
            name: "chat.history",
            scope: read,
            rules: [
                .text("sessionKey").required, .number("limit", from: 1, to: 1_000), laterAgentID,
                .number("maxChars", from: 1, to: 500_000).since(.june), .number("offset").since(.autumn),
                .text("messageId").since(.autumn), .text("sessionId").since(.autumn),
                .text("cursor", atLeast: 0).since(.autumn), .number("maxBytes", from: 1_024).since(.autumn),
            ],
            run: GatewayModel.chatHistory
        ),
        GatewayMethod(
            name: "chat.abort",
            scope: write,
            rules: [
                .text("sessionKey").required, .text("runId"), laterAgentID, .flag("preserveSideRuns").since(.autumn),
            ],
            run: GatewayModel.chatAbort
        ),
        GatewayMethod(
            name: "chat.send",
            scope: write,
            rules: [
                .text("sessionKey", atMost: 512).required, .text("message", atLeast: 0).required,
                .text("thinking", atLeast: 0), .flag("deliver"), ParamsRule(name: "attachments", kind: .objects),
                .number("timeoutMs"), ParamsRule(name: "systemInputProvenance", kind: .object),
                .text("systemProvenanceReceipt", atLeast: 0), .text("idempotencyKey").required, laterAgentID,
                .text("sessionId").since(.june), .open("fastMode").since(.june),
                .choice("queueMode", ["steer", "followup", "collect", "interrupt"]).since(.autumn),
                .text("replyToId").since(.autumn),
                ParamsRule(
                    name: "expectedLeafEntryId",
                    kind: .nullable(.string(atLeast: 1, atMost: nil)),
                    since: .autumn
                ),
                .flag("suppressCommandInterpretation").since(.autumn),
            ],
            run: GatewayModel.chatSend
        ),
        GatewayMethod(
            name: "chat.inject",
            scope: admin,
            rules: [.text("sessionKey").required, .text("message").required, .text("label", atMost: 100)],
            isListed: false,
            run: GatewayModel.chatInject
        ),
        GatewayMethod(
            name: "chat.message.get",
            scope: read,
            rules: [
                .text("sessionKey").required, .text("messageId").required, laterAgentID,
                .number("maxChars", from: 1, to: 2_000_000),
            ],
            since: .june,
            run: GatewayModel.chatMessage
        ),
        GatewayMethod(
            name: "agent.wait",
            scope: write,
            rules: [.text("runId").required, .number("timeoutMs", to: 3_600_000)],
            run: GatewayModel.agentWait
        ),
    ]

    private static let sessions: [GatewayMethod] = [
        GatewayMethod(
            name: "sessions.list",
            scope: read,
            rules: [
                .number("limit", from: 1), .number("activeMinutes", from: 1), .flag("includeGlobal"),
                .flag("includeUnknown"), .flag("includeDerivedTitles"), .flag("includeLastMessage"),
                .text("label", atMost: 512), .text("spawnedBy"), .text("agentId"), .text("search", atLeast: 0),
                .number("offset").since(.june), .flag("configuredAgentsOnly").since(.june),
            ],
            run: GatewayModel.sessionsList
        ),
        GatewayMethod(
            name: "sessions.subscribe",
            scope: read,
            rules: [],
            since: .june,
            run: GatewayModel.sessionsSubscribe
        ),
        GatewayMethod(
            name: "sessions.unsubscribe",
            scope: read,
            rules: [],
            since: .june,
            run: GatewayModel.sessionsUnsubscribe
        ),
        GatewayMethod(
            name: "sessions.messages.subscribe",
            scope: read,
            rules: [
                key, laterAgentID, .choice("mode", ["narration"]).since(.autumn),
                .text("subscriptionId").since(.autumn),
                .flag("includeApprovals").since(.autumn),
            ],
            since: .june,
            run: GatewayModel.messagesSubscribe
        ),
        GatewayMethod(
            name: "sessions.messages.unsubscribe",
            scope: read,
            rules: [key, laterAgentID, .text("subscriptionId").since(.autumn)],
            since: .june,
            run: GatewayModel.messagesUnsubscribe
        ),
        GatewayMethod(
            name: "sessions.preview",
            scope: read,
            rules: [
                ParamsRule(name: "keys", kind: .strings(atLeast: 1), isRequired: true), .number("limit", from: 1),
                .number("maxChars", from: 20),
            ],
            run: GatewayModel.sessionsPreview
        ),
        GatewayMethod(
            name: "sessions.resolve",
            scope: read,
            rules: [
                .text("key"), .text("sessionId"), .text("label", atMost: 512), .text("agentId"), .text("spawnedBy"),
                .flag("includeGlobal"), .flag("includeUnknown"),
            ],
            isListed: false,
            run: GatewayModel.sessionsResolve
        ),
        GatewayMethod(
            name: "sessions.patch",
            scope: admin,
            rules: [
                key, laterAgentID,
                ParamsRule(name: "label", kind: .nullable(.string(atLeast: 1, atMost: 512))),
                .clearable("thinkingLevel"),
                ParamsRule(name: "fastMode", kind: .nullable(.bool)), .clearable("verboseLevel"),
                .clearable("reasoningLevel"), .clearable("responseUsage"), .clearable("elevatedLevel"),
                .clearable("execHost"), .clearable("execSecurity"), .clearable("execAsk"), .clearable("execNode"),
                .clearable("model"), .clearable("sendPolicy"), .clearable("groupActivation"),
            ],
            run: GatewayModel.sessionsPatch
        ),
        GatewayMethod(
            name: "sessions.reset",
            scope: admin,
            rules: [key, laterAgentID, .choice("reason", ["new", "reset"])],
            run: GatewayModel.sessionsReset
        ),
        GatewayMethod(
            name: "sessions.delete",
            scope: admin,
            rules: [key, laterAgentID, .flag("deleteTranscript"), .flag("emitLifecycleHooks")],
            run: GatewayModel.sessionsDelete
        ),
        GatewayMethod(
            name: "sessions.compact",
            scope: admin,
            rules: [key, laterAgentID, .number("maxLines", from: 1)],
            run: GatewayModel.sessionsCompact
        ),
    ]

    private static let agents: [GatewayMethod] = [
        GatewayMethod(name: "agents.list", scope: read, rules: [], run: GatewayModel.agentsList),
        GatewayMethod(name: "agents.files.list", scope: read, rules: [agentID], run: GatewayModel.filesList),
        GatewayMethod(name: "agents.files.get", scope: read, rules: [agentID, fileName], run: GatewayModel.filesGet),
        GatewayMethod(
            name: "agents.files.set",
            scope: admin,
            rules: [
                agentID, fileName, .text("content", atLeast: 0).required, .text("expectedWorkspace").since(.autumn),
                ParamsRule(name: "expectedHash", kind: .hash, since: .autumn), .flag("expectedMissing").since(.autumn),
            ],
            run: GatewayModel.filesSet
        ),
        GatewayMethod(
            name: "agent.identity.get",
            scope: read,
            rules: [.text("agentId"), .text("sessionKey", atLeast: 0)],
            run: GatewayModel.agentIdentity
        ),
    ]

    private static let nodes: [GatewayMethod] = [
        GatewayMethod(name: "node.list", scope: read, rules: [], run: GatewayModel.nodeList),
        GatewayMethod(
            name: "node.describe",
            scope: read,
            rules: [.text("nodeId").required],
            run: GatewayModel.nodeDescribe
        ),
        GatewayMethod(
            name: "node.invoke",
            scope: write,
            rules: [
                .text("nodeId").required, .text("command").required, .open("params"), .number("timeoutMs"),
                .text("idempotencyKey").required,
            ],
            run: GatewayModel.nodeInvoke
        ),
    ]

    private static let security: [GatewayMethod] = [
        GatewayMethod(
            name: "exec.approval.list",
            scope: approvals,
            rules: [],
            since: .june,
            run: GatewayModel.approvalList
        ),
        GatewayMethod(
            name: "exec.approval.get",
            scope: approvals,
            rules: [.text("id").required],
            since: .june,
            run: GatewayModel.approvalGet
        ),
        GatewayMethod(
            name: "exec.approval.resolve",
            scope: approvals,
            rules: [.text("id").required, .text("decision").required],
            run: GatewayModel.approvalResolve
        ),
        GatewayMethod(name: "device.pair.list", scope: pairing, rules: [], run: GatewayModel.pairList),
        GatewayMethod(
            name: "device.pair.approve",
            scope: pairing,
            rules: [.text("requestId").required],
            run: GatewayModel.pairApprove
        ),
        GatewayMethod(
            name: "device.pair.reject",
            scope: pairing,
            rules: [.text("requestId").required],
            run: GatewayModel.pairReject
        ),
        GatewayMethod(
            name: "device.pair.remove",
            scope: pairing,
            rules: [.text("deviceId").required],
            run: GatewayModel.pairRemove
        ),
        GatewayMethod(
            name: "device.token.rotate",
            scope: pairing,
            rules: [
                .text("deviceId").required, .text("role").required,
                ParamsRule(name: "scopes", kind: .strings(atLeast: 0)),
            ],
            run: GatewayModel.tokenRotate
        ),
        GatewayMethod(
            name: "device.token.revoke",
            scope: pairing,
            rules: [.text("deviceId").required, .text("role").required],
            run: GatewayModel.tokenRevoke
        ),
    ]
}
