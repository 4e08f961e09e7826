package import Basics
package import Gateway

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

        package init(occasion: Occasion? = nil, ended: Notification.Subject? = nil) {
            self.occasion = occasion
            self.ended = ended
        }
    }
}
