import Basics

/// The entities. A key never changes its meaning: Home Assistant keeps names, rooms and history by it.
extension BrokerDiscovery {
    private static let mostOptions = 100

    /// The entities of Ladle itself, which always fit.
    static func own(_ settings: Settings) -> [DiscoveryComponent] {
        state(settings) + approvals(settings) + commands(settings) + usage(settings)
    }

    /// Removing an entity takes the platform it had.
    static func platform(of key: String) -> String {
        switch key {
        case "working", "outbox_problem": "binary_sensor"
        case "run", "approval": "event"
        case "message": "notify"
        case "abort", "retry", "deny_all": "button"
        case "version": "update"
        default: key.hasPrefix("session_") ? "select" : "sensor"
        }
    }

    private static func component(_ key: String, _ name: String, icon: String? = nil) -> DiscoveryComponent {
        DiscoveryComponent(key, platform(of: key), name, icon: icon)
    }

    private static func state(_ settings: Settings) -> [DiscoveryComponent] {
        let topics = settings.topics
        var list = [
            component("link", "Gateway link", icon: "lan-connect")
                .with("dev_cla", "enum").with("ops", .list(BrokerLink.State.allCases.map(\.rawValue)))
                .state(topics.link, "value_json.state").attributes(topics.link, "code", "hint", "since").diagnostic,
            component("working", "Working")
                .with("dev_cla", "running").state(topics.activity, "'ON' if value_json.active > 0 else 'OFF'"),
            component("activity", "Activity", icon: "robot")
                .state(topics.activity, "value_json.headline").attributes(topics.activity, "runs"),
            component("active_runs", "Active runs", icon: "run-fast")
                .with("stat_cla", "measurement").state(topics.activity, "value_json.active"),
        ]
        if settings.text != .none {
            let reply = component("last_reply", "Last reply", icon: "message-reply-text")
                .state(topics.reply, "value_json.short")
            list.append(
                settings.text == .full
                    ? reply.attributes(topics.reply, "text", "session", "runId", "id")
                    : reply.attributes(topics.reply, "session", "runId", "id")
            )
        }
        return list + [
            component("last_reply_at", "Last reply time")
                .with("dev_cla", "timestamp").state(topics.reply, "value_json.at"),
            component("last_error", "Last error", icon: "alert-circle-outline")
                .state(topics.error, "value_json.code").attributes(topics.error, "detail", "at").diagnostic,
            component("outbox_pending", "Outbox pending", icon: "tray-full")
                .with("stat_cla", "measurement").state(topics.outbox, "value_json.pending").diagnostic,
            component("outbox_problem", "Outbox problem").with("dev_cla", "problem")
                .state(topics.outbox, "'ON' if value_json.failed + value_json.unconfirmed > 0 else 'OFF'").diagnostic,
            component("run", "Run", icon: "play-circle-outline").with("stat_t", topics.haRun)
                .with("evt_typ", .list(HomeAssistantRun.Kind.allCases.map(\.rawValue)))
                .with("availability", .list([])),
            component("version", "Version").with("title", "Ladle").with("stat_t", topics.status).with(
                "val_tpl",
                "{{ {'installed_version': value_json.version, 'latest_version': value_json.version} | to_json }}"
            ).diagnostic.isOff,
        ]
    }

    private static func approvals(_ settings: Settings) -> [DiscoveryComponent] {
        guard settings.hasApprovals else { return [] }
        let topics = settings.topics
        var list = [
            component("approvals", "Approvals pending", icon: "shield-account").with("stat_cla", "measurement")
                .state(topics.approvals, "value_json.pending").attributes(topics.approvals, "list"),
            component("approval", "Approval", icon: "shield-key-outline").with("stat_t", topics.haApproval)
                .with("evt_typ", .list(HomeAssistantApproval.Kind.allCases.map(\.rawValue)))
                .with("availability", .list([])),
        ]
        if settings.scopes.contains(.approvals) {
            list.append(
                component("deny_all", "Deny all approvals", icon: "shield-off-outline")
                    .with("cmd_t", topics.cmdApprovalsDeny).with("pl_prs", #"{"all":true}"#).isOff
            )
        }
        return list
    }

    private static func commands(_ settings: Settings) -> [DiscoveryComponent] {
        guard settings.scopes.contains(.send) else { return [] }
        let topics = settings.topics
        return [
            component("message", "Message", icon: "message-text")
                .with("cmd_t", settings.session.map(topics.send(session:)) ?? topics.send),
            component("abort", "Stop all runs", icon: "stop-circle-outline")
                .with("cmd_t", topics.cmdAbort).with("pl_prs", #"{"all":true}"#),
            component("retry", "Retry failed messages", icon: "refresh")
                .with("cmd_t", topics.cmdRetry).with("pl_prs", "{}").with("ent_cat", "config"),
        ]
    }

    private static func usage(_ settings: Settings) -> [DiscoveryComponent] {
        guard settings.hasUsage else { return [] }
        let topic = settings.topics.usage
        return [
            component("cost_today", "Cost today").with("dev_cla", "monetary").with("unit_of_meas", "USD")
                .with("sug_dsp_prc", .number(2)).state(topic, "value_json.costUsd").isOff,
            component("quota_used", "Quota used", icon: "gauge").with("unit_of_meas", "%")
                .with("stat_cla", "measurement").with("sug_dsp_prc", .number(0))
                .state(topic, "value_json.usedPercent").isOff,
            component("tokens_today", "Tokens today", icon: "counter").with("unit_of_meas", "tokens")
                .with("stat_cla", "total_increasing").state(topic, "value_json.tokens").isOff,
        ]
    }

    /// The entities of conversations. Where they do not fit, the last are left out.
    static func sessions(_ settings: Settings) -> [DiscoveryComponent] {
        guard settings.scopes.contains(.control) else { return [] }
        var seen: Set<String> = []
        return settings.sessions.flatMap { session -> [DiscoveryComponent] in
            let keys = keys(ofSession: session.key)
            guard seen.insert(session.key).inserted else { return [] }
            return [
                select(keys.model, "Model", session, "model", session.models, "brain", settings.topics),
                select(
                    keys.thinking,
                    "Thinking",
                    session,
                    "thinking",
                    session.thinkingLevels,
                    "head-cog-outline",
                    settings.topics
                ),
            ].compactMap { $0 }
        }
    }

    /// The keys of the entities for a conversation's model and thinking level.
    package static func keys(ofSession session: String) -> (model: String, thinking: String) {
        let name = FNV1a.name(session.utf8)
        return ("session_\(name)_model", "session_\(name)_thinking")
    }

    private static func select(
        _ key: String,
        _ title: String,
        _ session: Session,
        _ member: String,
        _ options: [String],
        _ icon: String,
        _ topics: BrokerTopics
    ) -> DiscoveryComponent? {
        // Home Assistant has no longer states, and a line is shown as it is sent.
        let options = options.prefix(mostOptions).filter { !$0.isEmpty && BrokerText.short($0).isSameText(as: $0) }
        guard !options.isEmpty else { return nil }
        return component(key, "\(title) of \(BrokerText.short(session.label, limit: 60))", icon: icon)
            .with("ops", .list(options)).state(topics.session(session.key), "value_json.\(member)")
            .with("cmd_t", topics.cmdSession)
            .with("cmd_tpl", "{{ {'session': \(literal(session.key)), '\(member)': value} | to_json }}").isOff
    }

    /// A text inside a template. All but letters and digits is escaped, so that no key ends the text or begins a
    /// template.
    private static func literal(_ text: String) -> String {
        var literal = "'"
        for scalar in text.unicodeScalars {
            if scalar.isASCII, UInt8(scalar.value).isASCIIDigit || UInt8(scalar.value).isASCIILetter {
                literal.unicodeScalars.append(scalar)
            } else {
                let digits = String(scalar.value, radix: 16)
                literal += "\\U" + String(repeating: "0", count: 8 - digits.utf8.count) + digits
            }
        }
        return literal + "'"
    }
}
