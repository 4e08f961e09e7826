package import Basics
import JSONBytes

/// Reads messages of the broker as commands. It decides nothing by the state of Ladle: the API does, when the command
/// is carried out.
package struct CommandReader: Sendable {
    private enum Kind {
        case sendText(session: Substring?), sendJSON, abort, retry, decide, denyAll, session

        var verb: BrokerCommand.Verb {
            switch self {
            case .sendText, .sendJSON: .send
            case .abort: .abort
            case .retry: .retry
            case .decide, .denyAll: .approvals
            case .session: .session
            }
        }

        var scope: BrokerScopes {
            switch self {
            case .sendText, .sendJSON, .abort, .retry: .send
            case .decide, .denyAll: .approvals
            case .session: .control
            }
        }

        /// An old command of these would do something that nobody wants any more.
        var agesOut: Bool {
            switch self {
            case .abort, .decide, .denyAll: true
            case .sendText, .sendJSON, .retry, .session: false
            }
        }
    }

    private let topics: BrokerTopics
    private let scopes: BrokerScopes
    private let maxAgeMs: Int64
    private let responsePrefix: String?

    /// - Parameters:
    ///   - maxAgeMs: commands to stop or to allow something are refused when their `at` is further back.
    ///   - responsePrefix: response topics must be below it; nil allows all that `BrokerTopics` allows.
    package init(
        topics: BrokerTopics,
        scopes: BrokerScopes,
        maxAgeMs: Int64 = 600_000,
        responsePrefix: String? = nil
    ) {
        self.topics = topics
        self.scopes = scopes
        self.maxAgeMs = maxAgeMs
        self.responsePrefix = responsePrefix
    }

    package func read(_ message: BrokerMessage, now: Timestamp) -> BrokerReading {
        let levels = BrokerTopics.levels(message.topic)
        let own = BrokerTopics.levels(topics.root)
        guard !message.payload.isEmpty, levels.count > own.count, zip(levels, own).allSatisfy({ $0.isSameText(as: $1) })
        else { return .ignored }
        let rest = Array(levels[own.count...])
        guard rest[0] == "send" || rest[0] == "cmd" else { return .ignored }
        let isAllowed = message.responseTopic.map { topics.allowsResponse(to: $0, below: responsePrefix) } ?? true
        let topic = (isAllowed ? message.responseTopic : nil) ?? topics.results
        var id: String?
        let kind = Self.kind(rest)
        do throws(BrokerRefusal) {
            guard let kind else { throw Self.noSuchVerb(rest) }
            guard !message.isRetained else { throw Self.retained }
            guard scopes.contains(kind.scope) else {
                throw BrokerRefusal(
                    .missingScope,
                    "Commands of this topic need the scope \(kind.scope.names.joined()).",
                    hint: "Add it to mqtt.scopes."
                )
            }
            guard isAllowed else {
                throw BrokerRefusal(
                    .responseTopicNotAllowed,
                    "Ladle writes no result to this response topic.",
                    hint: "Name a topic of your own\(responsePrefix.map { " below \($0)/" } ?? ""), or none."
                )
            }
            if case .sendText(let session) = kind {
                let address = ResultAddress(topic: topic, correlation: message.correlation, id: nil)
                return .command(try sendText(message, session, address))
            }
            let root = try Self.json(message.payload)
            // The id of a decision is the approval's, and is repeated as well.
            id = root["id"]?.string.flatMap { $0.utf8.count <= 256 ? $0 : nil }
            let address = ResultAddress(topic: topic, correlation: message.correlation, id: id)
            return .command(try command(kind, CommandBody(root), message, address, now))
        } catch {
            let address = ResultAddress(topic: topic, correlation: message.correlation, id: id)
            return .refused(error, verb: kind?.verb, address)
        }
    }

    // MARK: Topics

    private static let retained = BrokerRefusal(
        .retainedCommand,
        "A retained message is no command: the broker would repeat it with each new connection.",
        hint: "Publish it without the retain flag, and an empty retained message once to delete this one."
    )

    private static func kind(_ rest: [Substring]) -> Kind? {
        if rest[0] == "send" {
            if rest.count == 1 { return .sendText(session: nil) }
            return rest.count == 2 ? .sendText(session: rest[1]) : nil
        }
        switch rest.dropFirst().joined(separator: "/") {
        case "send": return .sendJSON
        case "abort": return .abort
        case "retry": return .retry
        case "approvals": return .decide
        case "approvals/deny": return .denyAll
        case "session": return .session
        default: return nil
        }
    }

    private static func noSuchVerb(_ rest: [Substring]) -> BrokerRefusal {
        let topic = rest.joined(separator: "/").shortened
        let known = [
            "send", "cmd/send", "cmd/abort", "cmd/retry", "cmd/approvals", "cmd/approvals/deny", "cmd/session",
        ]
        return BrokerRefusal(
            .notFound,
            "There is no topic `\(Printable.escaped(topic).text)` for commands.",
            hint: NearestName.of(topic, in: known).map { "Did you mean `\($0)`?" }
        )
    }

    // MARK: Text

    private func sendText(
        _ message: BrokerMessage,
        _ level: Substring?,
        _ address: ResultAddress
    ) throws(BrokerRefusal) -> BrokerCommand {
        guard message.payload.count <= BrokerLimits.commandTextBytes else {
            throw BrokerRefusal(
                .messageTooLarge,
                "The text has more than \(BrokerLimits.commandTextBytes) bytes.",
                hint: "Send it to cmd/send as JSON."
            )
        }
        guard let text = String(validating: message.payload, as: UTF8.self) else {
            throw BrokerRefusal(.malformedText, "The text is not UTF-8.")
        }
        var session: String?
        if let level {
            session = TopicLevel.unescape(level)
            guard let session, session.utf8.count <= SessionKey.limit else {
                throw .field(
                    "session",
                    "The last level of the topic names no session.",
                    hint: "Send it to cmd/send as JSON with `session`."
                )
            }
        }
        var writer = JSONWriter(capacity: message.payload.count + 128)
        writer.object { object in
            object.member("text", text)
            object.member("session", session)
            object.member("ttlSeconds", message.expiry.map(Self.seconds))
        }
        return BrokerCommand(
            verb: .send,
            action: .request(.send(body: writer.bytes)),
            key: try CommandKey.of(message, id: nil),
            waits: try Self.waits(message, nil),
            message: .init(session: session, text: text),
            address: address
        )
    }

    // MARK: JSON

    private static func json(_ payload: [UInt8]) throws(BrokerRefusal) -> JSONValue {
        guard payload.count <= BrokerLimits.commandJSONBytes else {
            throw BrokerRefusal(.bodyTooLarge, "The JSON has more than \(BrokerLimits.commandJSONBytes) bytes.")
        }
        let document: JSONDocument
        do {
            document = try JSONDocument(parsing: payload)
        } catch {
            throw BrokerRefusal(.malformedJSON, "The payload is not JSON: \(error).")
        }
        guard document.root.kind == .object else {
            throw BrokerRefusal(.malformedJSON, "The payload is JSON, but no object.")
        }
        if let place = document.placeOfHalfPair {
            throw .field(
                Printable.escaped(place.shortened).text,
                "A text has half of a surrogate pair, which is no character."
            )
        }
        return document.root
    }

    private func command(
        _ kind: Kind,
        _ body: CommandBody,
        _ message: BrokerMessage,
        _ address: ResultAddress,
        _ now: Timestamp
    ) throws(BrokerRefusal) -> BrokerCommand {
        if let at = try body.time("at"), kind.agesOut,
            now.milliseconds.subtractingReportingOverflow(at.milliseconds).partialValue > maxAgeMs
        {
            throw BrokerRefusal(
                .commandTooOld,
                "The command is from \(at.rfc3339), and was too long on its way.",
                hint: "Send it again if it still holds. mqtt.maxAge says how old it may be."
            )
        }
        var words: BrokerCommand.Message?
        let action: BrokerCommand.Action
        switch kind {
        case .sendText, .sendJSON:
            action = .request(.send(body: try body.send(expiry: message.expiry.map(Self.seconds))))
            words = .init(session: body.root["session"]?.string, text: body.root["text"]?.string ?? "")
        case .abort: action = try body.abort()
        case .retry: action = try body.retry()
        case .decide: action = try body.decision()
        case .denyAll: action = try body.denyAll()
        case .session: action = try body.change()
        }
        // The id of a decision is no key: another decision on the same approval is another command.
        var id: String?
        if case .decide = kind {} else { id = try body.string("id", limit: BrokerLimits.keyBytes) }
        return BrokerCommand(
            verb: kind.verb,
            action: action,
            key: try CommandKey.of(message, id: id),
            waits: kind.verb == .send ? try Self.waits(message, body) : false,
            message: words,
            address: address
        )
    }

    private static func seconds(_ expiry: UInt32) -> Int64 { Int64(min(max(expiry, 1), BrokerLimits.longestExpiry)) }

    private static func waits(_ message: BrokerMessage, _ body: CommandBody?) throws(BrokerRefusal) -> Bool {
        if let flag = try body?.flag("wait") { return flag }
        switch message.property("wait") {
        case nil, "false", "0": return false
        case "true", "1", "": return true
        default: throw .field("wait", "The user property `wait` is true or false.")
        }
    }
}
