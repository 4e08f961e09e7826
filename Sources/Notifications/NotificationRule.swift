import Basics
package import Gateway
package import JSONBytes

/// Selects the occasions that become notifications, and their sinks.
package struct NotificationRule: Sendable, Equatable {
    package enum Collapse: String, Sendable, CaseIterable {
        case session, type, none
    }

    package enum QuietRule: String, Sendable, CaseIterable {
        case obey, ignore
    }

    /// The id of the built-in rule.
    package static let standardID = "standard"

    package var id: String
    package var name: String
    package var isEnabled = true
    /// The names of types, and families such as `run.*`.
    package var types: [String]
    /// Session keys, or prefixes such as `agent:main:*`. An empty list admits all.
    package var sessions: [String] = []
    package var agents: [String] = []
    package var kinds: [SessionKind] = []
    package var minPriority: Int?
    package var minDurationMs: Int64?
    package var matchText: String?
    /// Ids of sinks; empty means all of them.
    package var sinks: [String] = []
    package var priority: Int?
    package var cooldownMs: Int64?
    package var collapse: Collapse?
    package var quietHours: QuietRule?
    package var delayMs: Int64?
    /// Nothing is sent while a client watches the event stream.
    package var unlessWatching: Bool?

    package init(id: String, name: String, types: [String]) {
        self.id = id
        self.name = name
        self.types = types
    }

    package static var standard: NotificationRule {
        let types = NotificationType.allCases.filter { $0.isStandard && $0 != .note && $0 != .test }
        return NotificationRule(id: standardID, name: standardID, types: types.map(\.rawValue))
    }

    // MARK: Matching

    package func matches(_ occasion: Occasion, isWatched: Bool) -> Bool {
        guard isEnabled, types.contains(where: { occasion.type.matches($0) }) else { return false }
        if unlessWatching == true, isWatched { return false }
        if let minPriority, (priority ?? occasion.type.priority) < minPriority { return false }
        guard admits(kind: occasion.kind), admits(session: occasion.session) else { return false }
        if !agents.isEmpty {
            guard let agent = occasion.agent, agents.contains(agent) else { return false }
        }
        if occasion.type == .runCompleted || minDurationMs != nil, let duration = occasion.durationMs,
            duration < minDurationMs ?? NotificationLimits.minDurationMs
        {
            return false
        }
        if let matchText {
            return occasion.title.containsText(matchText) || occasion.text?.containsText(matchText) ?? false
        }
        return true
    }

    /// Whether the rule takes sessions of this kind; without named kinds, those that people take part in.
    private func admits(kind: SessionKind?) -> Bool {
        guard let kind else { return kinds.isEmpty }
        return kinds.isEmpty ? SessionKind.ofPeople.contains(kind) : kinds.contains(kind)
    }

    private func admits(session: String?) -> Bool {
        guard !sessions.isEmpty else { return true }
        guard let session else { return false }
        return sessions.contains { pattern in
            pattern.utf8.last == UInt8(ascii: "*")
                ? session.utf8.starts(with: pattern.utf8.dropLast()) : session.isSameText(as: pattern)
        }
    }

    package func cooldown(of type: NotificationType) -> Int64 {
        cooldownMs ?? (type.hasCooldown ? NotificationLimits.cooldownMs : 0)
    }

    package func delay(of type: NotificationType) -> Int64 {
        max(delayMs ?? 0, type == .runFailed ? NotificationLimits.failureGraceMs : 0)
    }

    // MARK: JSON

    package static let fields = [
        "name", "enabled", "types", "sessions", "agents", "kinds", "minPriority", "minDurationMs", "matchText", "sinks",
        "priority", "cooldownMs", "collapse", "quietHours", "delayMs", "unlessWatching",
    ]

    package func write(to writer: inout JSONWriter) {
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("enabled", isEnabled)
            object.array("types", of: types)
            object.array("sessions", of: sessions)
            object.array("agents", of: agents)
            object.array("kinds", of: kinds.map(\.rawValue))
            object.member("minPriority", minPriority)
            object.member("minDurationMs", minDurationMs)
            object.member("matchText", matchText)
            object.array("sinks", of: sinks)
            object.member("priority", priority)
            object.member("cooldownMs", cooldownMs)
            object.member("collapse", collapse?.rawValue)
            object.member("quietHours", quietHours?.rawValue)
            object.member("delayMs", delayMs)
            object.member("unlessWatching", unlessWatching)
        }
    }

    package var kept: [UInt8] {
        var writer = JSONWriter()
        write(to: &writer)
        return writer.bytes
    }

    /// Reads the stored form.
    package init?(kept json: [UInt8]) {
        guard let value = try? JSONDocument(parsing: json).root, let id = value["id"]?.string else { return nil }
        self.init(id: id, name: id, types: [])
        guard (try? take(value)) != nil else { return nil }
    }

    /// Sets the given fields; null clears an optional one.
    package mutating func take(_ value: JSONValue) throws(FormFault) {
        let form = NotificationForm(value)
        try form.name("name", &name)
        try form.flag("enabled", &isEnabled)
        try form.texts("types", &types) { NotificationType.isPattern($0) }
        guard !types.isEmpty else {
            throw FormFault("types", "`types` is a list of types such as `run.failed` or `run.*`.")
        }
        try form.texts("sessions", &sessions) { !$0.isEmpty && $0.utf8.count <= SessionKey.limit }
        try form.texts("agents", &agents) { !$0.isEmpty && $0.utf8.count <= NotificationLimits.nameBytes }
        var names = kinds.map(\.rawValue)
        try form.texts("kinds", &names) { SessionKind(rawValue: $0) != nil }
        kinds = names.compactMap(SessionKind.init)
        try form.number("minPriority", &minPriority, 1...5)
        try form.number("minDurationMs", &minDurationMs, 0...NotificationLimits.longestMs)
        try form.text("matchText", &matchText, bytes: NotificationLimits.matchBytes)
        try form.texts("sinks", &sinks) { !$0.isEmpty && $0.utf8.count <= NotificationLimits.nameBytes }
        try form.number("priority", &priority, 1...5)
        try form.number("cooldownMs", &cooldownMs, 0...NotificationLimits.longestMs)
        try form.choice("collapse", &collapse)
        try form.choice("quietHours", &quietHours)
        try form.number("delayMs", &delayMs, 0...NotificationLimits.longestMs)
        try form.flag("unlessWatching", &unlessWatching)
    }
}
