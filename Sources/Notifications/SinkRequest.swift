package import Basics
import JSONBytes

/// One HTTP request to a sink.
package struct SinkRequest: Sendable, Equatable {
    package var method: String
    package var url: SinkURL
    package var fields: [(name: String, value: String)]
    package var body: [UInt8]
    /// Any address is allowed, because the owner's configuration names it.
    package var isTrusted: Bool

    package init(method: String, url: SinkURL, fields: [(name: String, value: String)], body: [UInt8], isTrusted: Bool)
    {
        self.method = method
        self.url = url
        self.fields = fields
        self.body = body
        self.isTrusted = isTrusted
    }

    package static func == (left: SinkRequest, right: SinkRequest) -> Bool {
        left.method == right.method && left.url == right.url && left.body == right.body
            && left.isTrusted == right.isTrusted && left.fields.elementsEqual(right.fields) { $0 == $1 }
    }
}

/// One run of a program.
package struct SinkCommand: Sendable, Equatable {
    package var arguments: [String]
    package var environment: [String]
    package var input: [UInt8]
}

/// The message of one notification for one sink, in the sink's level of detail and format.
package struct SinkMessage: Sendable {
    /// A button of an approval: its label and its one-tap link.
    package struct Button: Sendable, Equatable {
        package let label: String
        package let url: String
        /// Whether its decision lets the agent go on. Such a button stands only below the whole question.
        package let isGrant: Bool

        package init(label: String, url: String, isGrant: Bool) {
            self.label = label
            self.url = url
            self.isGrant = isGrant
        }
    }

    private let notification: Notification
    private let sink: NotificationSink
    private let sessionTitle: String?
    /// The URL of Ladle for its clients.
    private let base: String?
    package var buttons: [Button] = []
    /// The whole question of a waiting approval.
    package var question: String?
    /// Further notifications that this message covers.
    package var others: [Notification] = []
    /// The time of sending, at the end of quiet hours.
    package var digestAt: Timestamp?
    package var hiddenCount = 0
    package var lostCount = 0

    package init(_ notification: Notification, for sink: NotificationSink, sessionTitle: String?, base: String?) {
        self.notification = notification
        self.sink = sink
        self.sessionTitle = sessionTitle
        self.base = base
    }

    // MARK: Words

    /// Whether the text may be shown in full: a script chose its own words.
    private var isOpen: Bool { notification.type == .note || notification.type == .test }
    private var isPrivate: Bool { sink.detail == .private }
    private var showsSession: Bool { !isPrivate }
    private var showsText: Bool { sink.detail == .detailed || isOpen || isDigest }
    private static let digestLines = 10

    private var isDigest: Bool { digestAt != nil }
    private var count: Int { others.count + hiddenCount + 1 }

    private var title: String {
        if isDigest { return "\(count) things while quiet" }
        let shown = isOpen ? notification.title : notification.type.title
        guard showsSession, !isOpen, let name = sessionTitle ?? notification.session else { return shown }
        return (shown + " · " + Printable.line(name)).cut(to: NotificationLimits.title)
    }

    private var text: String? {
        if isDigest { return digest }
        let own = showsText ? question ?? notification.text : nil
        let lines = [own, count > 1 ? "and \(count - 1) more" : nil, lost].compactMap(\.self)
        return lines.isEmpty ? nil : lines.joined(separator: "\n")
    }

    private var lost: String? {
        lostCount > 0 ? "\(lostCount) were dropped: more waited than are kept" : nil
    }

    /// The number of each type, with expired ones, in at most ten lines.
    private var digest: String {
        var counts: [String: Int] = [:]
        for one in [notification] + others {
            let hasExpired = one.expiresAt.map { expiry in digestAt.map { expiry <= $0 } ?? false } ?? false
            counts[one.type.title + (hasExpired ? ", expired" : ""), default: 0] += 1
        }
        let sorted = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let last = [hiddenCount > 0 ? "\(hiddenCount) that ended meanwhile" : nil, lost].compactMap(\.self)
        let room = Self.digestLines - last.count
        var lines = sorted.map { "\($0.value) × \($0.key)" }
        if lines.count > room {
            let rest = sorted[(room - 1)...].reduce(0) { $0 + $1.value }
            lines = lines.prefix(room - 1) + ["\(rest) more"]
        }
        return (lines + last).joined(separator: "\n")
    }

    /// The page of the subject; of a private message the page of all of its kind.
    private var link: String? {
        guard let base else { return nil }
        let (page, id): (String, String?) =
            switch notification.subject {
            case let subject? where subject.kind == .approval: ("approvals", subject.id)
            case let subject? where subject.kind == .outbox: ("outbox", subject.id)
            case let subject? where subject.kind == .run: ("runs", subject.id)
            case let subject? where subject.kind == .question: ("questions", subject.id)
            default: ("runs", notification.runID)
            }
        return id.map { "\(base)/v1/\(page)" + (isPrivate ? "" : "/\(Self.escaped($0))") }
    }

    private static func escaped(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 {
            if byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_") {
                bytes.append(byte)
            } else {
                bytes.append(UInt8(ascii: "%"))
                bytes.append(contentsOf: Hex.encode([byte]).uppercased().utf8)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The same id for all messages about one subject, so that a later one replaces an earlier one.
    private var sequence: String? {
        guard let subject = notification.subject, subject.kind == .approval || subject.kind == .question else {
            return nil
        }
        let id = subject.id.utf8.allSatisfy { $0.isASCIILetter || $0.isASCIIDigit || $0 == UInt8(ascii: "-") }
        return id && subject.id.utf8.count <= 48 && !isPrivate
            ? subject.id : String(FNV1a.hash(Array(subject.id.utf8)), radix: 16)
    }

    // MARK: Forms

    /// Whether a text that goes out has the whole question in it: only then it may offer to allow what is asked.
    private func asksWhole(_ sent: JSONValue?) -> Bool {
        guard let question, let text = sent?.string else { return false }
        return text.containsText(question)
    }

    /// The body of a webhook, and also the input of a command.
    private func payload(_ now: Timestamp) -> [UInt8] {
        let body = payload(now, grants: true)
        guard notification.approval != nil, let sent = try? JSONDocument(parsing: body).root["data"]?["text"],
            asksWhole(sent)
        else { return payload(now, grants: false) }
        return body
    }

    private func payload(_ now: Timestamp, grants: Bool) -> [UInt8] {
        var shown = text
        while true {
            let body = payload(shown, now, grants: grants)
            // Combining marks and escapes may make a text longer than its characters.
            guard body.count > NotificationLimits.payloadBytes, let longer = shown else { return body }
            shown = longer.utf8.count > 64 ? longer.cut(toBytes: longer.utf8.count / 2) : nil
        }
    }

    private func payload(_ text: String?, _ now: Timestamp, grants: Bool) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.object { object in
            object.member("type", notification.type.rawValue)
            object.member("timestamp", notification.at)
            object.object("data") { data in
                data.member("id", notification.id)
                data.member("title", title)
                data.member("text", text)
                data.member("priority", notification.priority)
                data.member("chime", notification.type.chime.rawValue)
                if showsSession, let session = notification.session {
                    data.object("session") {
                        $0.member("key", session)
                        $0.member("title", sessionTitle)
                    }
                    data.member("agent", notification.agent)
                }
                if showsSession { data.member("runId", notification.runID) }
                data.member("link", link)
                if let approval = notification.approval, let subject = notification.subject {
                    data.object("approval") {
                        if !isPrivate { $0.member("id", subject.id) }
                        if showsText { $0.member("title", approval.title) }
                        $0.member("expiresAt", notification.expiresAt)
                        $0.array("decisions", of: approval.decisions.filter { grants || $0 == "deny" })
                    }
                }
                if count > 1 { data.member("count", count) }
                if lostCount > 0 { data.member("dropped", lostCount) }
                if isDigest { data.member("digest", true) }
            }
        }
        return writer.bytes
    }

    /// The request; nil for a command sink.
    package func request(now: Timestamp, _ mac: ([UInt8], [UInt8]) -> [UInt8]) -> SinkRequest? {
        guard let url = sink.url else { return nil }
        switch sink.kind {
        case .webhook: return webhook(url, now, mac)
        case .ntfy: return ntfy(url)
        case .gotify: return gotify(url)
        case .command: return nil
        }
    }

    private func webhook(_ url: SinkURL, _ now: Timestamp, _ mac: ([UInt8], [UInt8]) -> [UInt8]) -> SinkRequest {
        let body = payload(now)
        let id = "\(notification.id).\(sink.id)"
        let seconds = now.milliseconds.dividedDown(by: 1000)
        var request = json(url, body)
        request.fields += [("webhook-id", id), ("webhook-timestamp", "\(seconds)")]
        let signatures = sink.secrets(now: now).map { $0.signature(id: id, timestamp: seconds, body: body, mac) }
        if !signatures.isEmpty {
            request.fields.append(("webhook-signature", signatures.joined(separator: " ")))
        }
        return request
    }

    private func json(_ url: SinkURL, _ body: [UInt8]) -> SinkRequest {
        SinkRequest(
            method: "POST",
            url: url,
            fields: [("Content-Type", "application/json")],
            body: body,
            isTrusted: sink.origin == .config
        )
    }

    /// JSON for the server's root, as ntfy requires.
    private func ntfy(_ url: SinkURL) -> SinkRequest {
        // A one-tap link shows the question to whoever opens it.
        let buttons = sink.detail == .detailed ? buttons : []
        var body = ntfyBody(buttons)
        let sent = try? JSONDocument(parsing: body).root["message"]
        if buttons.contains(where: \.isGrant), !asksWhole(sent) { body = ntfyBody(buttons.filter { !$0.isGrant }) }
        var request = json(url.at("/"), body)
        authorize(&request)
        return request
    }

    private func ntfyBody(_ buttons: [Button]) -> [UInt8] {
        var shown = (text ?? notification.type.title).cut(toBytes: NotificationLimits.ntfyBytes)
        var body = ntfyBody(shown, buttons)
        while body.count > NotificationLimits.ntfyBodyBytes, shown.utf8.count > 64 {
            shown = shown.cut(toBytes: shown.utf8.count / 2)
            body = ntfyBody(shown, buttons)
        }
        return body
    }

    private func ntfyBody(_ message: String, _ buttons: [Button]) -> [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.object { object in
            object.member("topic", sink.topic)
            object.member("title", title)
            object.member("message", message)
            object.member("priority", sink.priority(notification.priority))
            object.array("tags", of: [notification.type.tag])
            object.member("click", link)
            object.member("sequence_id", sequence)
            // Without a button that grants, another shows the question: the link of the other decision does, without a
            // token.
            let grants = buttons.contains(where: \.isGrant)
            let shownAt = grants || notification.approval == nil ? nil : buttons.first?.url ?? link
            if !buttons.isEmpty || shownAt != nil {
                object.array("actions") { list in
                    for button in buttons {
                        list.object { action in
                            action.member("action", "http")
                            action.member("label", button.label)
                            action.member("url", button.url)
                            action.member("method", "POST")
                            action.member("clear", true)
                        }
                    }
                    if let shownAt {
                        list.object { action in
                            action.member("action", "view")
                            action.member("label", "Show")
                            action.member("url", shownAt)
                        }
                    }
                }
            }
        }
        return writer.bytes
    }

    private func authorize(_ request: inout SinkRequest) {
        guard let token = sink.token else { return }
        if sink.kind == .gotify {
            request.fields.append(("X-Gotify-Key", token))
        } else {
            request.fields.append(("Authorization", "Bearer \(token)"))
        }
    }

    private func gotify(_ url: SinkURL) -> SinkRequest {
        var writer = JSONWriter(capacity: 512)
        writer.object { object in
            object.member("title", title)
            object.member("message", text ?? notification.type.title)
            object.member("priority", sink.priority(notification.priority))
            if let link {
                object.object("extras") { extras in
                    extras.object("client::notification") { $0.object("click") { $0.member("url", link) } }
                }
            }
        }
        let folder = url.target.split(separator: "?", omittingEmptySubsequences: false)[0]
        var request = json(url.at(String(folder) + (folder.hasSuffix("/") ? "message" : "/message")), writer.bytes)
        authorize(&request)
        return request
    }

    /// The request that removes a message whose subject has ended; nil if the service cannot.
    package func removal() -> SinkRequest? {
        guard sink.kind == .ntfy, let url = sink.url, let topic = sink.topic, let sequence else { return nil }
        var request = json(url.at("/\(topic)/\(sequence)"), [])
        request.method = "DELETE"
        request.fields = []
        authorize(&request)
        return request
    }

    /// The command; nil for all other kinds.
    /// - Parameter environment: `PATH` and `HOME`, if they are set.
    package func command(now: Timestamp, environment: [String]) -> SinkCommand? {
        guard sink.kind == .command else { return nil }
        let session = showsSession ? notification.session ?? "" : ""
        // A variable is one line without zero bytes.
        return SinkCommand(
            arguments: sink.command,
            environment: [
                "LADLE_TYPE=\(notification.type.rawValue)", "LADLE_TITLE=\(Printable.line(title))",
                "LADLE_SESSION=\(Printable.line(session))",
            ] + environment,
            input: payload(now) + [0x0A]
        )
    }
}
