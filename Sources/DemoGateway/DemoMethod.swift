import JSONBytes

/// One request on an open connection.
struct DemoRequest {
    let connection: DemoConnection
    let id: String
    let method: String
    let params: JSONValue?

    func string(_ name: String) -> String? { params?[name]?.string }
    func int(_ name: String) -> Int64? { params?[name]?.int }
    func bool(_ name: String) -> Bool? { params?[name]?.bool }
}

indirect enum DemoReply {
    case ok(WireValue)
    case later(ms: Int, DemoReply)
    /// The answer is given when something has happened. The closure gets a function that takes it, once.
    case awaited((@escaping (DemoReply) -> Void) -> Void)
    case failed(DemoError, payload: WireValue? = nil)

    static func invalid(_ message: String) -> DemoReply { .failed(.invalid(message)) }
}

/// The name of a method, the scope it needs, and its parameters. `DemoGatewayModel` performs it.
struct DemoMethod: Sendable {
    let name: String
    /// nil: every client may call it.
    var scope: String?
    /// nil: the parameters are not checked.
    var rules: [ParamsRule]?
    var since = DemoRelease.march
    /// Whether the hello lists the method; gateways have unlisted ones.
    var isListed = true

    static func named(_ name: String, release: DemoRelease) -> DemoMethod? {
        all.first { $0.name == name && $0.since <= release }
    }

    static func listed(for release: DemoRelease) -> [String] {
        all.filter { $0.since <= release && $0.isListed }.map(\.name)
    }

    private static let sessionReads: Set<String> = [
        "agents.list", "chat.history", "chat.message.get", "models.list", "sessions.list", "sessions.status",
        "sessions.subscribe",
    ]
    private static let sessionWrites: Set<String> = [
        "chat.abort", "chat.send", "question.get", "question.list", "question.resolve", "sessions.create",
    ]

    /// The narrower scope that is enough in the newest releases. The demo gives all sessions to everybody who has it.
    func narrowScope(_ release: DemoRelease) -> String? {
        guard release.hasSessionScopes else { return nil }
        if Self.sessionReads.contains(name) { return "operator.sessions.read" }
        return Self.sessionWrites.contains(name) ? "operator.sessions.write" : nil
    }

    /// Methods of the node role. An operator's call to one is refused; after ten in a row the operator is disconnected.
    static let nodeOnly: Set<String> = [
        "node.event", "node.invoke.result", "node.canvas.capability.refresh", "skills.bins", "node.pending.drain",
        "node.pending.pull", "node.pending.ack", "node.pluginSurface.refresh",
    ]

    private static let read = "operator.read"
    private static let write = "operator.write"
    private static let admin = "operator.admin"
    private static let approvals = "operator.approvals"
    private static let pairing = "operator.pairing"
    private static let questions = "operator.questions"

    private static let laterAgentID = ParamsRule.text("agentId").since(.june)
    private static let file: [ParamsRule] = [.text("agentId").required, .text("name").required]

    private static let artifact: [ParamsRule] = [.text("sessionKey"), .text("runId"), .text("agentId")]

    private static let range: [ParamsRule] = [
        .date("startDate"), .date("endDate"), .choice("mode", ["utc", "gateway", "specific"]),
        ParamsRule(name: "utcOffset", kind: .utcOffset), laterAgentID, .choice("agentScope", ["all"]).since(.june),
    ]

    /// In the order of the hello's list.
    private static let all: [DemoMethod] = [
        DemoMethod(name: "health"),
        DemoMethod(name: "exec.approval.get", scope: approvals, rules: [.text("id").required], since: .april),
        DemoMethod(name: "exec.approval.list", scope: approvals, rules: [], since: .april),
        DemoMethod(
            name: "exec.approval.resolve",
            scope: approvals,
            rules: [.text("id").required, .text("decision").required]
        ),
        DemoMethod(name: "exec.approval.grants.list", scope: approvals, rules: [], since: .september),
        DemoMethod(
            name: "exec.approval.grants.revoke",
            scope: approvals,
            rules: [.text("grantId").required],
            since: .september
        ),
        DemoMethod(
            name: "approval.history",
            scope: approvals,
            rules: [
                .text("cursor", atMost: 512), .number("limit", from: 1, to: 100),
                .choice("kind", ["exec", "plugin", "system-agent"]),
            ],
            since: .september
        ),
        DemoMethod(
            name: "approval.resolve",
            scope: approvals,
            rules: [
                .text("id").required, .choice("kind", ["exec", "plugin", "system-agent"]).required,
                .choice("decision", ["allow-once", "allow-always", "deny"]).required,
                .number("grantExpiresInDays", from: 1, to: 3_650),
            ],
            since: .september
        ),
        DemoMethod(name: "plugin.approval.list", scope: approvals, rules: [], since: .june),
        DemoMethod(name: "question.list", scope: questions, rules: [], since: .autumn),
        DemoMethod(name: "question.get", scope: questions, rules: [.text("id").required], since: .autumn),
        DemoMethod(
            name: "question.resolve",
            scope: questions,
            rules: [
                .text("id").required, ParamsRule(name: "answers", kind: .object), .flag("cancel"), .text("resolvedBy"),
            ],
            since: .autumn
        ),
        DemoMethod(
            name: "chat.history",
            scope: read,
            rules: [
                .text("sessionKey").required, .number("limit", from: 1, to: 1_000), laterAgentID,
                .number("maxChars", from: 1, to: 500_000).since(.april), .number("offset").since(.autumn),
                .text("messageId").since(.autumn), .text("sessionId").since(.autumn),
                .text("cursor", atLeast: 0).since(.autumn), .number("maxBytes", from: 1_024).since(.autumn),
                .number("pendingBefore", from: 1).since(.september),
                ParamsRule(name: "inputRunIds", kind: .strings(atLeast: 1, atMost: 50), since: .september),
            ]
        ),
        DemoMethod(
            name: "chat.message.get",
            scope: read,
            rules: [
                .text("sessionKey").required, .text("messageId").required, .text("agentId"),
                .number("maxChars", from: 1, to: 2_000_000),
            ],
            since: .autumn
        ),
        DemoMethod(
            name: "chat.abort",
            scope: write,
            rules: [
                .text("sessionKey").required, .text("runId"), laterAgentID, .flag("preserveSideRuns").since(.autumn),
                .flag("discardPendingInput").since(.september),
            ]
        ),
        DemoMethod(
            name: "chat.send",
            scope: write,
            rules: [
                .text("sessionKey", atMost: 512).required, .text("message", atLeast: 0).required,
                .text("thinking", atLeast: 0), .flag("deliver"), ParamsRule(name: "attachments", kind: .objects),
                .number("timeoutMs"), ParamsRule(name: "systemInputProvenance", kind: .object),
                .text("systemProvenanceReceipt", atLeast: 0), .text("idempotencyKey").required, laterAgentID,
                .text("sessionId").since(.june), .open("fastMode").since(.june),
                .choice("queueMode", ["steer", "followup", "collect", "interrupt"]).since(.autumn),
                .text("replyToId").since(.autumn), .clearable("expectedLeafEntryId").since(.autumn),
                .flag("suppressCommandInterpretation").since(.autumn),
            ]
        ),
        DemoMethod(name: "agent.wait", scope: write, rules: [.text("runId").required, .number("timeoutMs")]),
        DemoMethod(
            name: "sessions.list",
            scope: read,
            rules: [
                .number("limit", from: 1), .number("activeMinutes", from: 1), .flag("includeGlobal"),
                .flag("includeUnknown"), .flag("includeDerivedTitles"), .flag("includeLastMessage"),
                .text("label", atMost: 512), .text("spawnedBy"), .text("agentId"), .text("search", atLeast: 0),
                .number("offset").since(.june), .flag("configuredAgentsOnly").since(.june),
            ]
        ),
        DemoMethod(
            name: "sessions.status",
            scope: read,
            rules: [
                .text("key", atMost: 512).required, .text("agentId", atMost: 64), .text("sessionId", atMost: 128),
                .text("expectedRunId", atMost: 256),
            ],
            since: .october
        ),
        DemoMethod(name: "sessions.subscribe", scope: read, rules: [], since: .april),
        DemoMethod(
            name: "sessions.reset",
            scope: admin,
            rules: [.text("key").required, .choice("reason", ["new", "reset"]), laterAgentID]
        ),
        DemoMethod(
            name: "models.list",
            scope: read,
            rules: [.choice("view", ["default", "configured", "all"]).since(.june)]
        ),
        DemoMethod(name: "usage.status", scope: read, rules: []),
        DemoMethod(
            name: "usage.cost",
            scope: read,
            rules: range + [.number("days"), .text("timeZone").since(.autumn)]
        ),
        DemoMethod(
            name: "sessions.usage",
            scope: read,
            rules: range + [
                .text("key"), .number("limit", from: 1), .flag("includeContextWeight"),
                .choice("range", ["7d", "30d", "90d", "1y", "all"]).since(.june),
                .choice("groupBy", ["instance", "family"]).since(.june), .flag("includeHistorical").since(.june),
            ],
            isListed: false
        ),
        DemoMethod(
            name: "sessions.patch",
            scope: admin,
            rules: [
                .text("key").required,
                ParamsRule(name: "label", kind: .nullable(.string(atLeast: 1, atMost: 512))),
                .clearable("model"), .clearable("thinkingLevel"), .clearable("verboseLevel"),
                .clearable("reasoningLevel"),
                laterAgentID, .text("expectedSessionId").since(.autumn), .flag("archived").since(.autumn),
                .flag("pinned").since(.autumn), .flag("unread").since(.autumn),
            ]
        ),
        DemoMethod(
            name: "sessions.create",
            scope: write,
            rules: [
                .text("key"), .text("agentId"), .text("label", atMost: 512), .text("model"), .text("parentSessionKey"),
                .text("task"), .text("message"), .flag("emitCommandHooks").since(.june),
            ],
            since: .april
        ),
        DemoMethod(
            name: "sessions.delete",
            scope: admin,
            rules: [
                .text("key").required, .flag("deleteTranscript"), .flag("emitLifecycleHooks"), laterAgentID,
                .text("expectedSessionId").since(.autumn),
            ]
        ),
        DemoMethod(
            name: "sessions.compact",
            scope: admin,
            rules: [.text("key").required, .number("maxLines", from: 1), laterAgentID]
        ),
        DemoMethod(
            name: "wake",
            scope: write,
            rules: [
                .choice("mode", ["now", "next-heartbeat"]).required, .text("text").required,
                .text("sessionKey").since(.june),
            ]
        ),
        DemoMethod(
            name: "cron.list",
            scope: read,
            rules: [
                .flag("includeDisabled"), .number("limit", from: 1, to: 200), .number("offset"),
                .text("query", atLeast: 0), .choice("enabled", ["all", "enabled", "disabled"]),
                .choice("sortBy", ["nextRunAtMs", "updatedAtMs", "name"]), .choice("sortDir", ["asc", "desc"]),
                laterAgentID,
            ]
        ),
        DemoMethod(
            name: "cron.update",
            scope: admin,
            rules: [.text("id"), .text("jobId"), ParamsRule(name: "patch", kind: .object).required]
        ),
        DemoMethod(
            name: "cron.run",
            scope: admin,
            rules: [
                .text("id"), .text("jobId"), .choice("mode", ["due", "force"]),
                .number("waitTimeoutMs", from: 1).since(.september),
            ]
        ),
        DemoMethod(
            name: "cron.runs",
            scope: read,
            rules: [
                .choice("scope", ["job", "all"]), .text("id"), .text("jobId"), .number("limit", from: 1, to: 200),
                .number("offset"), .choice("sortDir", ["asc", "desc"]), .text("runId").since(.june),
            ]
        ),
        DemoMethod(name: "tts.speak", scope: write, rules: [.text("text", atLeast: 0).required], since: .autumn),
        DemoMethod(name: "artifacts.list", scope: read, rules: artifact, since: .june),
        DemoMethod(
            name: "artifacts.download",
            scope: read,
            rules: artifact + [.text("artifactId").required],
            since: .june
        ),
        DemoMethod(name: "device.pair.list", scope: pairing, rules: []),
        DemoMethod(name: "node.pair.list", scope: pairing, rules: []),
        DemoMethod(name: "node.list", scope: read, rules: []),
        DemoMethod(name: "node.describe", scope: read, rules: [.text("nodeId").required]),
        DemoMethod(
            name: "node.invoke",
            scope: write,
            rules: [
                .text("nodeId").required, .text("command").required, .open("params"), .number("timeoutMs"),
                .text("idempotencyKey").required,
            ]
        ),
        DemoMethod(name: "agents.list", scope: read, rules: []),
        DemoMethod(name: "agents.files.get", scope: read, rules: file),
        DemoMethod(
            name: "agents.files.set",
            scope: admin,
            rules: file + [
                .text("content", atLeast: 0).required, .text("expectedWorkspace").since(.autumn),
                ParamsRule(name: "expectedHash", kind: .hash, since: .autumn), .flag("expectedMissing").since(.autumn),
            ]
        ),
    ]
}
