package import Basics
package import JSONBytes

/// A destination of notifications.
package struct NotificationSink: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        case webhook, ntfy, gotify, command
    }

    /// How much a message reveals.
    package enum Detail: String, Sendable, CaseIterable {
        /// Only the type.
        case `private`
        /// Also the session's name.
        case identified
        /// Also the text.
        case detailed
    }

    /// The treatment of quiet hours.
    package enum Quiet: Sendable, Equatable {
        case obey, ignore
        /// A window of its own, instead of the common one.
        case own(QuietHours)
    }

    package enum Origin: String, Sendable {
        /// Made by a caller: its address must be public, or explicitly allowed.
        case api
        /// From the owner's configuration, which may use any address.
        case config
    }

    package enum Fault: Error, Equatable, Sendable {
        case field(FormFault)
        case url(SinkURL.Fault)
        /// Callers may not make Ladle run programs.
        case commandFromAPI
    }

    package let id: String
    package var name: String
    package let kind: Kind
    package let origin: Origin
    package var isEnabled = true
    package var url: SinkURL?
    package var topic: String?
    /// Maps our priorities, 1 to 5, to those of the service.
    private var priorities: [Int: Int] = [:]
    package private(set) var detail = Detail.identified
    package private(set) var quietHours: Quiet?
    /// The messages per hour above which several are joined.
    package private(set) var perHour: Int
    /// The service's token, for ntfy and gotify.
    package private(set) var token: String?
    /// The key of a webhook's signatures.
    package var secret: WebhookSecret?
    private var formerSecret: WebhookSecret?
    private var formerSecretUntil: Timestamp?
    /// A program and its arguments.
    package private(set) var command: [String] = []

    package init(id: String, name: String, kind: Kind, origin: Origin) {
        self.id = id
        self.name = name
        self.kind = kind
        self.origin = origin
        // A program can handle every message; a person cannot.
        perHour = kind == .webhook ? 3600 : 60
    }

    package var ownQuietHours: QuietHours? {
        if case .own(let hours) = quietHours { hours } else { nil }
    }

    func priority(_ ours: Int) -> Int {
        let bounded = min(max(ours, 1), 5)
        return priorities[bounded] ?? (kind == .gotify ? bounded * 2 : bounded)
    }

    package mutating func rotate(to secret: WebhookSecret, now: Timestamp) {
        formerSecret = self.secret
        formerSecretUntil = now.adding(milliseconds: NotificationLimits.rotationMs)
        self.secret = secret
    }

    func secrets(now: Timestamp) -> [WebhookSecret] {
        let former = formerSecretUntil.map { now < $0 } ?? false ? formerSecret : nil
        return [secret, former].compactMap(\.self)
    }

    // MARK: JSON

    package static let fields = [
        "name", "kind", "enabled", "url", "topic", "token", "priorityMap", "detail", "quietHours", "perHour",
    ]

    /// The part of the address that is not secret: a webhook's path is often its only protection, and queries contain
    /// tokens.
    private var shownURL: String? {
        guard kind == .gotify, let url else { return url?.origin }
        return url.origin + url.target.prefix { $0 != "?" }
    }

    /// Writes the members without secrets.
    /// - Parameter showsTopic: false hides the topic, whose name is its only protection on a public server.
    package func writeMembers(to writer: inout JSONWriter, showsTopic: Bool) {
        writer.member("id", id)
        writer.member("name", name)
        writer.member("kind", kind.rawValue)
        writer.member("origin", origin.rawValue)
        writer.member("enabled", isEnabled)
        writer.member("url", shownURL)
        if showsTopic { writer.member("topic", topic) }
        if !priorities.isEmpty {
            writer.object("priorityMap") { map in
                for (ours, its) in priorities.sorted(by: { $0.key < $1.key }) { map.member("\(ours)", its) }
            }
        }
        writer.member("detail", detail.rawValue)
        writeQuietHours(to: &writer)
        writer.member("perHour", perHour)
        if kind == .ntfy || kind == .gotify { writer.member("hasToken", token != nil) }
    }

    /// The stored form with its secrets, in a database that only the owner can read.
    package var kept: [UInt8] {
        var writer = JSONWriter(capacity: 512)
        writer.object { object in
            object.member("id", id)
            object.member("name", name)
            object.member("kind", kind.rawValue)
            object.member("enabled", isEnabled)
            object.member("url", url?.text)
            object.member("topic", topic)
            object.member("token", token)
            if !priorities.isEmpty {
                object.object("priorityMap") { map in
                    for (ours, its) in priorities.sorted(by: { $0.key < $1.key }) { map.member("\(ours)", its) }
                }
            }
            object.member("detail", detail.rawValue)
            writeQuietHours(to: &object)
            object.member("perHour", perHour)
            object.member("secret", secret?.text)
            object.member("formerSecret", formerSecret?.text)
            object.member("formerSecretUntil", formerSecretUntil)
        }
        return writer.bytes
    }

    package init?(kept json: [UInt8]) {
        guard let value = try? JSONDocument(parsing: json).root, let id = value["id"]?.string,
            let kind = value["kind"]?.string.flatMap(Kind.init)
        else { return nil }
        self.init(id: id, name: id, kind: kind, origin: .api)
        guard (try? take(value)) != nil else { return nil }
        secret = value["secret"]?.string.flatMap(WebhookSecret.init)
        formerSecret = value["formerSecret"]?.string.flatMap(WebhookSecret.init)
        formerSecretUntil = value["formerSecretUntil"]?.string.flatMap { Timestamp(rfc3339: $0) }
    }

    /// A new sink from a request or the configuration.
    /// - Parameters:
    ///   - token: the content of a file that the configuration names.
    ///   - secret: likewise.
    package init(
        id: String,
        name: String? = nil,
        origin: Origin,
        _ value: JSONValue,
        token: String? = nil,
        secret: WebhookSecret? = nil
    ) throws(Fault) {
        var kind: Kind?
        do throws(FormFault) {
            try NotificationForm(value).choice("kind", &kind)
            guard kind != nil else {
                throw FormFault("kind", "`kind` is one of webhook, ntfy, gotify; command in the configuration.")
            }
        } catch {
            throw .field(error)
        }
        if kind == .command, origin == .api { throw .commandFromAPI }
        self.init(id: id, name: name ?? "", kind: kind ?? .webhook, origin: origin)
        try take(value)
        if let token {
            do throws(FormFault) { try Self.check(token: token) } catch { throw .field(error) }
            self.token = token
        }
        self.secret = secret
        if kind == .command {
            var words: [String] = []
            do throws(FormFault) {
                try NotificationForm(value).texts("command", &words) { !$0.utf8.contains(0) && $0.utf8.count <= 4096 }
                guard words.first?.hasPrefix("/") ?? false else {
                    throw FormFault("command", "`command` is a list: the whole path of a program and its arguments.")
                }
            } catch {
                throw .field(error)
            }
            command = words
        } else if url == nil {
            throw .field(FormFault("url", "`url` says where to send, such as https://ntfy.sh."))
        }
        if kind == .ntfy, topic == nil { throw .field(FormFault("topic", "`topic` is the name of an ntfy topic.")) }
        if kind == .gotify, self.token == nil {
            throw .field(FormFault("token", "`token` is the token of a Gotify application."))
        }
    }

    /// Sets the given fields. A new address does not inherit the secrets of the old one.
    package mutating func take(_ value: JSONValue) throws(Fault) {
        do throws(FormFault) {
            let form = NotificationForm(value)
            try form.name("name", &name)
            try form.flag("enabled", &isEnabled)
            try form.text("topic", &topic, bytes: 64)
            if let topic, kind != .ntfy || !topic.utf8.allSatisfy(Self.isTopicByte) {
                throw FormFault("topic", "`topic` is a name of ntfy: letters, digits, - and _, at most 64.")
            }
            let former = url
            if let given = value["url"] {
                guard let text = given.string, kind != .command else {
                    throw FormFault("url", "`url` is the address of the sink.")
                }
                do throws(SinkURL.Fault) {
                    url = try SinkURL(text)
                } catch {
                    throw FormFault("url", error.detail)
                }
            }
            if let former, former.origin != url?.origin { token = nil }
            try form.text("token", &token, bytes: NotificationLimits.tokenBytes)
            if let token {
                guard kind == .ntfy || kind == .gotify else {
                    throw FormFault("token", "`token` is for ntfy and gotify.")
                }
                try Self.check(token: token)
            }
            var detail: Detail? = detail
            try form.choice("detail", &detail)
            self.detail = detail ?? .identified
            try takeQuietHours(value["quietHours"])
            var perHour: Int? = perHour
            try form.number("perHour", &perHour, 1...3600)
            self.perHour = perHour ?? self.perHour
            try takePriorities(value["priorityMap"])
        } catch {
            throw .field(error)
        }
    }

    private mutating func takeQuietHours(_ value: JSONValue?) throws(FormFault) {
        guard let value else { return }
        if value.isNull { return quietHours = nil }
        switch (value.kind, value.string) {
        case (_, "obey"?): quietHours = .obey
        case (_, "ignore"?): quietHours = .ignore
        case (.object, _):
            guard value["timeZone"]?.string != nil else {
                throw FormFault("quietHours", "`quietHours` of a sink names its `timeZone`, such as Europe/Berlin.")
            }
            for member in value.members where !QuietHours.fields.contains(member.key) {
                let fields = QuietHours.fields.joined(separator: ", ")
                throw FormFault("quietHours", "`quietHours` has the fields \(fields).")
            }
            var hours = QuietHours(timeZone: "UTC")
            hours.isEnabled = true
            do throws(FormFault) { try hours.take(value) } catch { throw FormFault("quietHours", error.detail) }
            quietHours = .own(hours)
        default: throw FormFault("quietHours", "`quietHours` is obey, ignore, or a window with from, to and timeZone.")
        }
    }

    private func writeQuietHours(to writer: inout JSONWriter) {
        switch quietHours {
        case nil: break
        case .obey: writer.member("quietHours", "obey")
        case .ignore: writer.member("quietHours", "ignore")
        case .own(let hours):
            writer.key("quietHours")
            hours.write(to: &writer)
        }
    }

    /// Checks the token, which becomes a header field.
    private static func check(token: String) throws(FormFault) {
        guard token.utf8.count <= NotificationLimits.tokenBytes,
            token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
        else {
            throw FormFault("token", "`token` has at most 512 printable characters of ASCII.")
        }
    }

    private mutating func takePriorities(_ map: JSONValue?) throws(FormFault) {
        guard let map else { return }
        var read: [Int: Int] = [:]
        let most: Int64 = kind == .gotify ? 10 : 5
        for (name, value) in map.members {
            guard let ours = Int(name), (1...5).contains(ours), let its = value.int, (0...most).contains(its),
                kind == .gotify || its > 0
            else {
                throw FormFault("priorityMap", "`priorityMap` leads from 1 to 5 to priorities of the service.")
            }
            read[ours] = Int(its)
        }
        guard map.kind == .object || map.isNull else {
            throw FormFault("priorityMap", "`priorityMap` is an object such as {\"5\": 4}.")
        }
        priorities = read
    }

    private static func isTopicByte(_ byte: UInt8) -> Bool {
        byte.isASCIILetter || byte.isASCIIDigit || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }
}
