package import Basics
package import JSONBytes

/// One message for a person. It never changes after it was made.
package struct Notification: Sendable, Equatable {
    /// The subject of a notification.
    package struct Subject: Sendable, Hashable {
        package enum Kind: String, Sendable {
            case approval, question, outbox, run, link, usage, node, automation, pairing, sink
        }

        package let kind: Kind
        package let id: String

        package init(_ kind: Kind, _ id: String) {
            self.kind = kind
            self.id = id
        }
    }

    package struct Approval: Sendable, Equatable {
        package var title: String
        package var decisions: [String]

        package init(title: String, decisions: [String]) {
            self.title = title
            self.decisions = decisions
        }
    }

    package var id: String
    package var type: NotificationType
    package var at: Timestamp
    /// Without the session's name: sinks add it if they may.
    package var title: String
    package var text: String?
    package var priority: Int
    package var session: String?
    package var agent: String?
    package var runID: String?
    package var subject: Subject?
    package var approval: Approval?
    /// The time after which it is obsolete.
    package var expiresAt: Timestamp?
    /// The rule that made it; nil for a note.
    package var rule: String?
    /// The rule lets it through in quiet hours.
    package var ignoresQuiet = false
    package var isReminder = false
    /// Of several waiting notifications with one key, only the newest is sent.
    package var collapseKey: String?

    package init(id: String, type: NotificationType, at: Timestamp, title: String, text: String? = nil) {
        self.id = id
        self.type = type
        self.at = at
        self.title = title.cut(to: NotificationLimits.title)
        self.text = text.map(Self.shortened)
        priority = type.priority
    }

    static func shortened(_ text: String) -> String {
        text.cut(to: NotificationLimits.text).cut(toBytes: NotificationLimits.textBytes)
    }

    /// Reads the stored form; nil if incomplete.
    package init?(kept json: [UInt8]) {
        guard let value = try? JSONDocument(parsing: json).root, let id = value["id"]?.string,
            let type = value["type"]?.string.flatMap(NotificationType.init), let title = value["title"]?.string,
            let at = value["at"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { return nil }
        self.init(id: id, type: type, at: at, title: title, text: value["text"]?.string)
        priority = value["priority"]?.int.map { Int(clamping: $0) } ?? type.priority
        session = value["session"]?.string
        agent = value["agent"]?.string
        runID = value["runId"]?.string
        if let kind = value["ref"]?["kind"]?.string.flatMap(Subject.Kind.init), let id = value["ref"]?["id"]?.string {
            subject = Subject(kind, id)
        }
        if let approval = value["approval"] {
            self.approval = Approval(
                title: approval["title"]?.string ?? title,
                decisions: approval["decisions"]?.elements.compactMap(\.string) ?? []
            )
        }
        expiresAt = value["expiresAt"]?.string.flatMap { Timestamp(rfc3339: $0) }
        rule = value["rule"]?.string
        ignoresQuiet = value["ignoresQuiet"]?.bool ?? false
        isReminder = value["reminder"]?.bool ?? false
        collapseKey = value["collapseKey"]?.string
    }

    /// Writes the members that both the API and the database have.
    package func writeMembers(to writer: inout JSONWriter) {
        writer.member("id", id)
        writer.member("type", type.rawValue)
        writer.member("at", at)
        writer.member("title", title)
        writer.member("text", text)
        writer.member("priority", priority)
        writer.member("chime", type.chime.rawValue)
        writer.member("session", session)
        writer.member("agent", agent)
        writer.member("runId", runID)
        if let subject {
            writer.object("ref") {
                $0.member("kind", subject.kind.rawValue)
                $0.member("id", subject.id)
            }
        }
        if let approval {
            writer.object("approval") {
                $0.member("title", approval.title)
                $0.array("decisions", of: approval.decisions)
            }
        }
        writer.member("expiresAt", expiresAt)
        writer.member("rule", rule)
        if isReminder { writer.member("reminder", true) }
    }

    /// The stored form.
    package var kept: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.object { object in
            writeMembers(to: &object)
            if ignoresQuiet { object.member("ignoresQuiet", true) }
            object.member("collapseKey", collapseKey)
        }
        return writer.bytes
    }
}
