import Basics
import EventStream
import Gateway
import Notifications
import Outbox
import Runs
import Store

/// The matter of an event that may be worth a notification, or that ends the subject of one.
protocol NotifiableMatter: EventMatter {
    func reading(of event: StoredEvent) -> Occasion.Reading
}

extension Occasion.Reading {
    /// The meaning of an event for notifications.
    init(_ event: StoredEvent) {
        self = (event.matter as? any NotifiableMatter)?.reading(of: event) ?? Self()
    }
}

extension Occasion {
    /// - Parameter agent: nil for that of the session.
    fileprivate mutating func belongs(to session: String?, agent: String? = nil, run: String?) {
        let key = session.map { SessionKey(canonical: $0) }
        self.session = session
        self.agent = agent ?? key?.agent
        runID = run
        kind = key.map { SessionKind($0, named: nil) }
    }
}

// MARK: What a person decides

extension Approval: NotifiableMatter {
    func reading(of event: StoredEvent) -> Occasion.Reading {
        isPending ? Occasion.Reading(occasion: occasion(at: event.at)) : Occasion.Reading(ended: subject)
    }

    private var subject: Notification.Subject { Notification.Subject(.approval, id) }

    /// That it waits for a decision.
    func occasion(at: Timestamp) -> Occasion {
        let source = "approval/\(id)/\(createdAt.rfc3339)"
        var occasion = Occasion(.approvalRequested, source: source, at: at, text: command ?? explanation ?? title)
        occasion.subject = subject
        occasion.approval = Notification.Approval(title: title, decisions: decisions.map(\.rawValue))
        occasion.belongs(to: session, agent: agent, run: runID)
        occasion.expiresAt = expiresAt
        return occasion
    }
}

extension Question: NotifiableMatter {
    func reading(of event: StoredEvent) -> Occasion.Reading {
        let subject = Notification.Subject(.question, id)
        guard isPending else { return Occasion.Reading(ended: subject) }
        let source = "question/\(id)/\(createdAt.rfc3339)"
        var occasion = Occasion(.questionRequested, source: source, at: event.at, text: parts.first?.text)
        occasion.subject = subject
        occasion.belongs(to: session, agent: agent, run: runID)
        occasion.expiresAt = expiresAt
        return Occasion.Reading(occasion: occasion)
    }
}

/// A request of a device to the gateway's operator, who decides on the gateway's host.
struct DeviceNews: NotifiableMatter {
    let reason: DevicePairing.Reason
    let request: DeviceRequest

    func reading(of event: StoredEvent) -> Occasion.Reading {
        let subject = Notification.Subject(.pairing, request.id)
        guard reason == .requested else { return Occasion.Reading(ended: subject) }
        let name = request.shownName ?? request.device ?? "A device"
        let source = "pairing/\(request.id)"
        var occasion = Occasion(.pairingRequested, source: source, at: event.at, text: "\(name): \(request.hint)")
        occasion.subject = subject
        return Occasion.Reading(occasion: occasion)
    }
}

// MARK: Messages and runs

extension OutboxEntry: NotifiableMatter {
    func reading(of event: StoredEvent) -> Occasion.Reading {
        let type: NotificationType
        switch state {
        case .failed: type = .outboxFailed
        case .unconfirmed: type = .outboxUnconfirmed
        case .expired: type = .outboxExpired
        case .queued, .sending, .retrying, .accepted, .delivered, .cancelled: return Occasion.Reading()
        }
        let said = [text.map { $0.cut(to: 200) }, fault?.detail].compactMap(\.self).joined(separator: "\n")
        var occasion = Occasion(type, source: "outbox/\(id)/\(version)", at: event.at, text: said)
        occasion.belongs(to: session, run: runID)
        occasion.subject = Notification.Subject(.outbox, id)
        // A person's own message in any session.
        occasion.kind = nil
        return Occasion.Reading(occasion: occasion)
    }
}

extension Run: NotifiableMatter {
    func reading(of event: StoredEvent) -> Occasion.Reading {
        let subject = Notification.Subject(.run, id)
        switch event.type {
        // The gateway repeats a run after reporting it failed.
        case "run.started": return Occasion.Reading(ended: subject)
        case "run.ended": return Occasion.Reading(occasion: occasion(event))
        case "run.corrected": return Occasion.Reading(occasion: occasion(event), ended: subject)
        default: return Occasion.Reading()
        }
    }

    private func occasion(_ event: StoredEvent) -> Occasion? {
        // The gateway goes on with it in another run, whose end is reported.
        if continuedAs != nil { return nil }
        let type: NotificationType
        switch state {
        case .completed: type = .runCompleted
        case .failed: type = .runFailed
        case .aborted: type = .runAborted
        case .queued, .running: return nil
        }
        // A silent reply is not reported.
        if type == .runCompleted, text.trimmingBlanks().isEmpty { return nil }
        let said = type == .runFailed ? error ?? text : text
        var occasion = Occasion(type, source: "event/\(event.id.text)", at: event.at, text: said)
        occasion.belongs(to: session.text, run: id)
        occasion.subject = Notification.Subject(.run, id)
        occasion.durationMs = endedAt.map { $0.milliseconds - startedAt.milliseconds }
        return occasion
    }
}

extension ChatMessage: NotifiableMatter {
    /// The end of a run that Ladle followed is reported instead.
    func reading(of event: StoredEvent) -> Occasion.Reading {
        guard role == .assistant, runID == nil, !text.trimmingBlanks().isEmpty else { return Occasion.Reading() }
        var occasion = Occasion(.messageReceived, source: "event/\(event.id.text)", at: event.at, text: text)
        occasion.belongs(to: event.session, run: nil)
        return Occasion.Reading(occasion: occasion)
    }
}

// MARK: The gateway's own

struct NodeNews: NotifiableMatter {
    let reason: NodeService.Reason
    let node: Node

    func reading(of event: StoredEvent) -> Occasion.Reading {
        guard reason == .disconnected else { return Occasion.Reading() }
        var occasion = Occasion(.nodeOffline, source: "event/\(event.id.text)", at: event.at, text: node.name)
        occasion.subject = Notification.Subject(.node, node.id)
        return Occasion.Reading(occasion: occasion)
    }
}

struct AutomationNews: NotifiableMatter {
    let reason: AutomationService.Reason
    let automation: Automation

    func reading(of event: StoredEvent) -> Occasion.Reading {
        guard reason == .finished, let last = automation.last else { return Occasion.Reading() }
        let type: NotificationType
        switch last.status {
        case "error": type = .automationFailed
        case "ok": type = .automationCompleted
        default: return Occasion.Reading()
        }
        let said = [automation.name, last.error].compactMap(\.self).joined(separator: ": ")
        var occasion = Occasion(type, source: "event/\(event.id.text)", at: event.at, text: said)
        occasion.subject = Notification.Subject(.automation, automation.id)
        return Occasion.Reading(occasion: occasion)
    }
}

/// Windows of subscriptions that are used up by another step.
struct UsageNews: EventMatter {
    let crossed: [UsageService.Crossing]

    /// In percent.
    private static let thresholds = [80, 90, 95]

    /// One occasion for each window that is almost used up, and each threshold.
    func occasions(at: Timestamp) -> [Occasion] {
        crossed.compactMap { crossing in
            guard let threshold = Self.thresholds.last(where: { Double($0) <= crossing.usedPercent }) else {
                return nil
            }
            // A window without an end is reported once a day.
            let day = CivilDate(daysSinceEpoch: at.milliseconds.dividedDown(by: 86_400_000)).iso
            let (provider, window) = (crossing.provider, crossing.window)
            var occasion = Occasion(
                .usageThreshold,
                source: "usage/\(provider)/\(window)/\(threshold)/\(crossing.resetsAt?.rfc3339 ?? day)",
                at: at,
                text: "\(provider): \(window) is used over \(threshold) %"
            )
            occasion.subject = Notification.Subject(.usage, provider)
            return occasion
        }
    }
}
