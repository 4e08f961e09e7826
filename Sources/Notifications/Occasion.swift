package import Basics
package import Gateway
import JSONBytes

/// An event as the rules see it: something that may be worth a notification, or the end of a subject.
package struct Occasion: Sendable, Equatable {
    package var type: NotificationType
    /// The subject's name: each rule reports it once.
    package var source: String
    package var at: Timestamp
    package var title: String
    package var text: String?
    package var session: String?
    package var agent: String?
    package var runID: String?
    package var subject: Notification.Subject?
    package var approval: Notification.Approval?
    package var expiresAt: Timestamp?
    /// The duration of a run.
    package var durationMs: Int64?
    /// The kind of a session in which the agent ran without a person's message: only rules that name the kind report
    /// it.
    package var kind: SessionKind?
    package var isReminder = false

    package init(_ type: NotificationType, source: String, at: Timestamp, title: String? = nil, text: String? = nil) {
        self.type = type
        self.source = source
        self.at = at
        self.title = title ?? type.title
        self.text = text
    }

    /// The meaning of an event for notifications.
    package struct Reading: Sendable, Equatable {
        package var occasion: Occasion?
        /// The subject that has ended, which makes its notifications obsolete.
        package var ended: Notification.Subject?
    }

    /// Whether an event of this type can matter here, decided before its JSON is read.
    package static func concerns(_ type: String) -> Bool {
        switch type {
        case "approval", "question", "outbox", "run.started", "run.ended", "run.corrected", "message", "node",
            "automation", "device":
            true
        default: false
        }
    }

    /// - Parameters:
    ///   - id: the event's id.
    ///   - run: the event's run.
    ///   - data: one JSON object.
    package static func read(
        _ type: String,
        id: String,
        at: Timestamp,
        run name: String? = nil,
        _ data: [UInt8]
    ) -> Reading {
        guard concerns(type) else { return Reading() }
        // The gateway repeats a run after reporting it failed.
        if type == "run.started" { return Reading(ended: name.map { Notification.Subject(.run, $0) }) }
        guard let event = try? JSONDocument(parsing: data).root else { return Reading() }
        switch type {
        case "approval": return approval(event["approval"], at: at)
        case "question": return question(event["question"], at: at)
        case "outbox": return Reading(occasion: outbox(event["entry"], at: at))
        case "run.ended": return Reading(occasion: run(event["run"], id: id, at: at))
        case "run.corrected":
            let ended = name.map { Notification.Subject(.run, $0) }
            return Reading(occasion: run(event["run"], id: id, at: at), ended: ended)
        case "message": return Reading(occasion: message(event, id: id, at: at))
        case "node": return Reading(occasion: node(event, id: id, at: at))
        case "device": return device(event, at: at)
        case "automation": return Reading(occasion: automation(event, id: id, at: at))
        default: return Reading()
        }
    }

    /// Windows of a subscription that are almost used up: one occasion per window and threshold.
    /// - Parameter data: the data of a `usage` event.
    package static func usage(at: Timestamp, _ data: [UInt8]) -> [Occasion] {
        guard let event = try? JSONDocument(parsing: data).root, let crossed = event["crossed"] else { return [] }
        return crossed.elements.compactMap { crossing in
            guard let provider = crossing["provider"]?.string, let window = crossing["window"]?.string,
                let percent = crossing["usedPercent"]?.double,
                let threshold = thresholds.last(where: { Double($0) <= percent })
            else { return nil }
            // A window without an end is reported once a day.
            let end =
                crossing["resetsAt"]?.string
                ?? CivilDate(
                    daysSinceEpoch: at.milliseconds.dividedDown(by: 86_400_000)
                ).iso
            var occasion = Occasion(
                .usageThreshold,
                source: "usage/\(provider)/\(window)/\(threshold)/\(end)",
                at: at,
                text: "\(provider): \(window) is used over \(threshold) %"
            )
            occasion.subject = Notification.Subject(.usage, provider)
            return occasion
        }
    }

    /// In percent.
    private static let thresholds = [80, 90, 95]

    // MARK: Events

    private static func approval(_ value: JSONValue?, at: Timestamp) -> Reading {
        guard let value, let id = value["id"]?.string else { return Reading() }
        let subject = Notification.Subject(.approval, id)
        guard value["state"]?.string == "pending" else { return Reading(ended: subject) }
        return Reading(occasion: approval(value, subject, at: at))
    }

    private static func approval(_ value: JSONValue, _ subject: Notification.Subject, at: Timestamp) -> Occasion {
        let created = value["createdAt"]?.string ?? ""
        let command = value["command"]?.string ?? value["description"]?.string
        let title = value["title"]?.string ?? "An approval"
        var occasion = Occasion(
            .approvalRequested,
            source: "approval/\(subject.id)/\(created)",
            at: at,
            text: command ?? title
        )
        occasion.subject = subject
        occasion.approval = Notification.Approval(
            title: title,
            decisions: value["decisions"]?.elements.compactMap(\.string) ?? []
        )
        occasion.take(value)
        occasion.expiresAt = value["expiresAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        return occasion
    }

    private static func question(_ value: JSONValue?, at: Timestamp) -> Reading {
        guard let value, let id = value["id"]?.string else { return Reading() }
        let subject = Notification.Subject(.question, id)
        guard value["state"]?.string == "pending" else { return Reading(ended: subject) }
        let created = value["createdAt"]?.string ?? ""
        var occasion = Occasion(
            .questionRequested,
            source: "question/\(id)/\(created)",
            at: at,
            text: value["questions"]?[0]?["question"]?.string
        )
        occasion.subject = subject
        occasion.take(value)
        occasion.expiresAt = value["expiresAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        return Reading(occasion: occasion)
    }

    private static func outbox(_ entry: JSONValue?, at: Timestamp) -> Occasion? {
        let type: NotificationType
        switch entry?["state"]?.string {
        case "failed": type = .outboxFailed
        case "unconfirmed": type = .outboxUnconfirmed
        case "expired": type = .outboxExpired
        default: return nil
        }
        guard let entry, let id = entry["id"]?.string else { return nil }
        let reason = entry["error"]?["detail"]?.string
        let said = entry["text"]?.string
        var occasion = Occasion(
            type,
            source: "outbox/\(id)/\(entry["version"]?.int ?? 0)",
            at: at,
            text: [said.map { $0.cut(to: 200) }, reason].compactMap(\.self).joined(separator: "\n")
        )
        occasion.take(entry)
        occasion.subject = Notification.Subject(.outbox, id)
        // A person's own message in any session.
        occasion.kind = nil
        return occasion
    }

    private static func run(_ run: JSONValue?, id: String, at: Timestamp) -> Occasion? {
        guard let run, let name = run["id"]?.string else { return nil }
        // The gateway goes on with it in another run, whose end is reported.
        if run["continuedAs"] != nil { return nil }
        let type: NotificationType
        switch run["state"]?.string {
        case "completed": type = .runCompleted
        case "failed": type = .runFailed
        case "aborted": type = .runAborted
        default: return nil
        }
        let text = run["text"]?.string ?? ""
        // A silent reply is not reported.
        if type == .runCompleted, text.trimmingBlanks().isEmpty { return nil }
        var occasion = Occasion(
            type,
            source: "event/\(id)",
            at: at,
            text: type == .runFailed ? run["error"]?.string ?? text : text
        )
        occasion.take(run)
        occasion.runID = name
        occasion.subject = Notification.Subject(.run, name)
        if let start = run["startedAt"]?.string.flatMap({ Timestamp(rfc3339: $0) }),
            let end = run["endedAt"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        {
            occasion.durationMs = end.milliseconds - start.milliseconds
        }
        return occasion
    }

    /// The end of a run that Ladle followed is reported instead.
    private static func message(_ event: JSONValue, id: String, at: Timestamp) -> Occasion? {
        guard let message = event["message"], message["role"]?.string == "assistant", message["runId"]?.string == nil,
            let text = message["text"]?.string, !text.trimmingBlanks().isEmpty
        else { return nil }
        var occasion = Occasion(.messageReceived, source: "event/\(id)", at: at, text: text)
        occasion.take(event)
        return occasion
    }

    private static func node(_ event: JSONValue, id: String, at: Timestamp) -> Occasion? {
        guard event["reason"]?.string == "disconnected", let node = event["node"], let name = node["id"]?.string else {
            return nil
        }
        let shown = node["name"]?.string ?? node["displayName"]?.string ?? name
        var occasion = Occasion(.nodeOffline, source: "event/\(id)", at: at, text: shown)
        occasion.subject = Notification.Subject(.node, name)
        return occasion
    }

    private static func automation(_ event: JSONValue, id: String, at: Timestamp) -> Occasion? {
        guard event["reason"]?.string == "finished", let automation = event["automation"],
            let name = automation["id"]?.string
        else { return nil }
        let last = automation["last"]
        let type: NotificationType
        switch last?["status"]?.string {
        case "error": type = .automationFailed
        case "ok": type = .automationCompleted
        default: return nil
        }
        let shown = automation["name"]?.string ?? name
        var occasion = Occasion(
            type,
            source: "event/\(id)",
            at: at,
            text: [shown, last?["error"]?.string].compactMap(\.self).joined(separator: ": ")
        )
        occasion.subject = Notification.Subject(.automation, name)
        return occasion
    }

    /// A device that waits for the gateway's operator, who decides on the gateway's host.
    private static func device(_ event: JSONValue, at: Timestamp) -> Reading {
        guard let request = event["device"], let id = request["id"]?.string else { return Reading() }
        let subject = Notification.Subject(.pairing, id)
        guard event["reason"]?.string == "requested" else { return Reading(ended: subject) }
        let name = request["name"]?.string ?? request["device"]?.string ?? "A device"
        var occasion = Occasion(
            .pairingRequested,
            source: "pairing/\(id)",
            at: at,
            text: [name, request["hint"]?.string].compactMap(\.self).joined(separator: ": ")
        )
        occasion.subject = subject
        return Reading(occasion: occasion)
    }

    private mutating func take(_ value: JSONValue) {
        session = value["session"]?.string
        agent = value["agent"]?.string ?? session.flatMap { SessionKey(canonical: $0).agent }
        runID = value["runId"]?.string
        kind = session.map { SessionKind(SessionKey(canonical: $0), named: nil) }
    }
}
