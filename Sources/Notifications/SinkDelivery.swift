package import Basics

/// One notification on its way to one sink, without its text: thousands of these may wait in memory.
package struct SinkDelivery: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case pending, held, sent, failed, dropped

        package var isOpen: Bool { self == .pending || self == .held }
    }

    package enum Purpose: String, Sendable {
        case tell
        /// Removes a message whose subject has ended.
        case remove
    }

    package let notification: String
    package let sink: String
    package var purpose = Purpose.tell
    package var state = State.pending
    package var attempts = 0
    /// The earliest time of the next try.
    package var dueAt: Timestamp
    package var startedAt: Timestamp?
    package var status: Int?
    package var error: String?

    // Copied from the notification, for the rules.
    let type: NotificationType
    let priority: Int
    let session: String?
    let subject: Notification.Subject?
    let expiresAt: Timestamp?
    let ignoresQuiet: Bool
    let collapseKey: String?
    let at: Timestamp

    package init(_ notification: Notification, sink: String, dueAt: Timestamp) {
        self.notification = notification.id
        self.sink = sink
        self.dueAt = dueAt
        type = notification.type
        priority = notification.priority
        session = notification.session
        subject = notification.subject
        expiresAt = notification.expiresAt
        ignoresQuiet = notification.ignoresQuiet
        collapseKey = notification.collapseKey
        at = notification.at
    }

    func hasExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }

    /// Restarts the delivery at a person's request.
    package mutating func restart(now: Timestamp) {
        state = .pending
        purpose = .tell
        attempts = 0
        dueAt = now
        startedAt = nil
        status = nil
        error = nil
    }
}
