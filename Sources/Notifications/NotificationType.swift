/// The kinds of notification.
package enum NotificationType: String, Sendable, CaseIterable {
    case approvalRequested = "approval.requested"
    case questionRequested = "question.requested"
    case runCompleted = "run.completed"
    case runFailed = "run.failed"
    case runAborted = "run.aborted"
    case messageReceived = "message.received"
    case outboxFailed = "outbox.failed"
    case outboxUnconfirmed = "outbox.unconfirmed"
    case outboxExpired = "outbox.expired"
    case linkOffline = "link.offline"
    case linkOnline = "link.online"
    case linkWaiting = "link.waiting_for_approval"
    case linkRefused = "link.refused"
    case automationFailed = "automation.failed"
    case automationCompleted = "automation.completed"
    case usageThreshold = "usage.threshold"
    case nodeOffline = "node.offline"
    case pairingRequested = "pairing.requested"
    case sinkDisabled = "sink.disabled"
    case storageLow = "storage.low"
    /// Sent by a script, or by a person who tests a sink.
    case note
    case test

    /// The sound that a client may play.
    package enum Chime: String, Sendable {
        case attention, done, failed
    }

    /// From 1, the lowest, to 5: something waits for a person.
    package var priority: Int {
        switch self {
        case .approvalRequested, .linkWaiting, .linkRefused, .storageLow: 5
        case .questionRequested, .runFailed, .outboxFailed, .outboxUnconfirmed, .outboxExpired, .linkOffline,
            .automationFailed, .pairingRequested, .sinkDisabled:
            4
        case .runCompleted, .messageReceived, .usageThreshold, .nodeOffline, .note, .test: 3
        case .runAborted, .linkOnline, .automationCompleted: 2
        }
    }

    /// Whether the standard rule takes the type.
    var isStandard: Bool {
        switch self {
        case .runAborted, .messageReceived, .automationCompleted, .nodeOffline: false
        default: true
        }
    }

    package var chime: Chime {
        switch self {
        case .runCompleted, .messageReceived, .linkOnline, .automationCompleted, .note, .test: .done
        case .runFailed, .runAborted, .outboxFailed, .outboxUnconfirmed, .outboxExpired, .linkOffline, .linkRefused,
            .automationFailed, .nodeOffline, .storageLow, .sinkDisabled:
            .failed
        case .approvalRequested, .questionRequested, .linkWaiting, .usageThreshold, .pairingRequested: .attention
        }
    }

    /// A title that reveals only the type.
    package var title: String {
        switch self {
        case .approvalRequested: "Approval needed"
        case .questionRequested: "Question"
        case .runCompleted: "Run completed"
        case .runFailed: "Run failed"
        case .runAborted: "Run aborted"
        case .messageReceived: "New message"
        case .outboxFailed: "Message not sent"
        case .outboxUnconfirmed: "Message unconfirmed"
        case .outboxExpired: "Message expired"
        case .linkOffline: "Gateway offline"
        case .linkOnline: "Gateway online again"
        case .linkWaiting: "Gateway waits for your approval"
        case .linkRefused: "Gateway refuses Ladle"
        case .automationFailed: "Automation failed"
        case .automationCompleted: "Automation completed"
        case .usageThreshold: "Usage limit near"
        case .nodeOffline: "Node offline"
        case .pairingRequested: "A device wants to pair"
        case .sinkDisabled: "Notification sink disabled"
        case .storageLow: "Storage low"
        case .note: "Note"
        case .test: "Test"
        }
    }

    /// A short code that ntfy shows as an emoji.
    var tag: String {
        switch self {
        case .approvalRequested, .linkWaiting: "lock"
        case .questionRequested: "question"
        case .runCompleted, .automationCompleted: "white_check_mark"
        case .messageReceived, .note: "speech_balloon"
        case .linkOffline, .linkOnline, .linkRefused, .nodeOffline: "electric_plug"
        case .usageThreshold: "chart_with_upwards_trend"
        case .pairingRequested: "iphone"
        case .test: "bell"
        case .runFailed, .runAborted, .outboxFailed, .outboxUnconfirmed, .outboxExpired, .automationFailed,
            .sinkDisabled, .storageLow:
            "warning"
        }
    }

    /// False for approvals and questions: each is reported, however fast they come.
    var hasCooldown: Bool {
        switch self {
        case .approvalRequested, .questionRequested, .sinkDisabled, .note, .test, .pairingRequested: false
        default: true
        }
    }

    /// Names such as `run.failed`, and families such as `run.*`.
    static func isPattern(_ text: String) -> Bool {
        if text == "*" { return true }
        if text.hasSuffix(".*") { return allCases.contains { $0.rawValue.hasPrefix(String(text.dropLast())) } }
        return NotificationType(rawValue: text) != nil
    }

    package func matches(_ pattern: String) -> Bool {
        pattern == "*" || pattern == rawValue || (pattern.hasSuffix(".*") && rawValue.hasPrefix(pattern.dropLast()))
    }
}
