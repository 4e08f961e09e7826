import Access
import Basics
import EventLoops
import HTTPModel
import JSONBytes
import Outbox
import Runs
import Server
import Service

/// The request of `POST /v1/messages`, from body, query and headers; checked, not yet stored.
struct MessageRequest: Sendable {
    var text = ""
    var session = "main"
    var thinking: String?
    var mode = MessageMode.own
    /// Name, media type and base 64 of each attachment, as JSON.
    var attachments: [UInt8]?
    var attachmentBytes = 0
    var ttlMilliseconds: Int64?
    var notBefore: Timestamp?
    /// `notBefore` is past: the request is only answered if its message was accepted before under the same key.
    var isLate = false
    /// A stop word is sent anyway.
    var isForced = false
    var waitSeconds: Int?
    /// The wait came in the `Prefer` header, which the answer must acknowledge.
    var wasPreferred = false
    var key: IdempotencyKey?

    /// The longest message text; the gateway shows far less of a long one.
    static let longestText = 256 << 10
    static let longestWait = 600

    /// - Parameter body: the body, if it is JSON.
    init(_ call: Call, _ api: HTTPAPI, _ body: MessageBody?, now: Timestamp) throws(Problem) {
        session = call.text("session") ?? session
        thinking = call.text("thinking")
        // The query is checked on its own, because the body may override it.
        if call.text("session") != nil { session = try api.runs.session(named: session, "session") }
        if let thinking, !Self.isLevel(thinking) { throw .badParameter("thinking", Self.levels) }
        if let text = call.text("mode") {
            guard let read = MessageMode(rawValue: text) else { throw .badParameter("mode", Self.modes) }
            mode = read
        }
        isForced = try call.flag("force")
        if call.text("wait") != nil {
            waitSeconds = try call.number("wait", in: 0...Self.longestWait, default: 0)
        } else if let seconds = try Self.preferredWait(call) {
            waitSeconds = min(seconds, Self.longestWait)
            wasPreferred = true
        }
        key = try Self.key(of: call)
        if let body { try take(body, now: now) } else { try readBody(call, now: now) }
        try check(call, api)
    }

    // MARK: Checks

    private mutating func check(_ call: Call, _ api: HTTPAPI) throws(Problem) {
        do throws(Problem) {
            session = try api.runs.session(named: session, "session")
        } catch {
            // The body's session is well-formed, but not allowed.
            throw .invalidField("session", error.detail, hint: error.hint)
        }
        // Before the text is looked through: it may be as long as the body.
        try Self.checkLength(text.utf8.count)
        guard attachments != nil || text.unicodeScalars.contains(where: Self.isSaid) else {
            throw .invalidField("text", "`text` is empty: there is nothing to send.")
        }
        guard !text.utf8.contains(0) else {
            throw .invalidField("text", "`text` has a NUL character, which the gateway refuses.")
        }
        if let thinking, !Self.isLevel(thinking) { throw .invalidField("thinking", Self.levels) }
        let limit = api.services.messageBodyLimit
        guard text.utf8.count + attachmentBytes <= limit else {
            throw Problem(
                .messageTooLarge,
                "The message takes \(text.utf8.count + attachmentBytes) bytes and the gateway takes \(limit) in one frame.",
                field: "attachments"
            )
        }
    }

    private static let levels = "`thinking` is a level such as off, low, medium or high."

    private static let modes = "`mode` is `own` or `say-now`."

    private mutating func take(mode text: String) throws(Problem) {
        guard let read = MessageMode(rawValue: text) else { throw .invalidField("mode", Self.modes) }
        mode = read
    }

    private static func isLevel(_ text: String) -> Bool {
        (1...32).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
    }

    static func checkLength(_ count: Int) throws(Problem) {
        guard count > longestText else { return }
        throw Problem(
            .messageTooLarge,
            "The text takes \(count) bytes; a message takes \(longestText).",
            field: "text"
        )
    }

    /// Whether the gateway keeps the character: it drops control characters, and blanks at both ends.
    private static func isSaid(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control && scalar != "\u{FEFF}"
    }

    /// The text is a lone stop word: the gateway obeys it regardless of attachments, and no run follows.
    var isStopOrder: Bool { StopWords.matches(text) }

    /// For commands that go to the gateway unchanged: a lone stop word would abort the run instead of being sent to the
    /// agent.
    func checkStopWord() throws(Problem) {
        guard isStopOrder, !isForced else { return }
        throw Problem(
            .stopWord,
            "The gateway takes a message that is only a stop word as an order to abort what runs in the session.",
            hint:
                "to abort: POST /v1/sessions/\(PercentCoding.encode(session))/abort; to send it all the same: ?force=true",
            field: "text"
        )
    }

    // MARK: Headers

    private static func preferredWait(_ call: Call) throws(Problem) -> Int? {
        guard let field = call.head.fields.list(for: .prefer) else { return nil }
        do throws(HeaderValueError) {
            let preferences = try Preferences(parsing: field[...])
            return preferences.respondAsync ? nil : preferences.wait
        } catch {
            throw .badHeader("Prefer", error)
        }
    }

    static func key(of call: Call) throws(Problem) -> IdempotencyKey? {
        guard let field = call.head.fields[.idempotencyKey] else { return nil }
        guard call.head.fields.count(of: .idempotencyKey) == 1 else {
            throw Problem(
                .badHeader,
                "`Idempotency-Key` stands more than once.",
                field: "Idempotency-Key"
            )
        }
        do throws(HeaderValueError) {
            return try IdempotencyKey(parsing: field)
        } catch {
            throw .badHeader("Idempotency-Key", error)
        }
    }

    // MARK: The message

    func message(from call: Call) -> NewMessage {
        var message = NewMessage(session: session, text: text)
        message.thinking = thinking
        message.mode = mode
        message.attachments = attachments
        message.notBefore = notBefore
        message.ttlMilliseconds = ttlMilliseconds
        message.isReplayOnly = isLate
        message.key = key.map { NewMessage.Key(scope: NewMessage.Key.scope(of: call.caller.identity), value: $0.value) }
        message.body = call.exchange.body
        message.owner = call.caller.identity
        message.isShared = call.caller.isLimited
        message.isEcho = call.head.fields.string(for: NotificationOperations.echoHeader) != nil
        return message
    }
}

/// The accepted formats of a message.
extension MessageRequest {
    static let types = [MediaType.json, .plain, .form]
    private static let formFields = ["text", "message", "session", "thinking", "mode", "ttlSeconds", "notBefore"]
    private static let formBytesBesideText = 4096
    /// The longest time that any entry is kept waiting.
    fileprivate static let longestTTLSeconds: Int64 = 30 * 86_400

    mutating func readBody(_ call: Call, now: Timestamp) throws(Problem) {
        let type = try call.bodyType()
        if type.isSameEssence(as: .form) {
            try readForm(call, now: now)
        } else if type.isSameEssence(as: .plain) {
            if let charset = type.parameter("charset")?.lowercased(), charset != "utf-8", charset != "us-ascii" {
                let detail = "Text has to be UTF-8; this body says charset=\(charset)."
                throw .unsupportedMediaType(Self.types, detail: detail)
            }
            try Self.checkLength(call.exchange.body.count)
            text = try Self.text(call.exchange.body)
        } else {
            throw .unsupportedMediaType(Self.types)
        }
    }

    // MARK: JSON

    private mutating func take(_ body: MessageBody, now: Timestamp) throws(Problem) {
        text = body.text ?? text
        session = body.session ?? session
        thinking = body.thinking ?? thinking
        if let text = body.mode { try take(mode: text) }
        if let seconds = body.ttlSeconds { try take(ttl: seconds) }
        if let time = body.notBefore { try take(notBefore: time, now: now) }
        attachments = body.attachments
        attachmentBytes = attachments?.count ?? 0
    }

    // MARK: Forms and text

    /// A form has a text field; any other body that curl sends by default is plain text.
    private mutating func readForm(_ call: Call, now: Timestamp) throws(Problem) {
        let body = call.exchange.body
        // A form encodes a byte in up to three; fields beside the text are short.
        try Self.checkLength(body.count / 3 - Self.formBytesBesideText)
        guard let items = try? QueryItems(parsing: body[...]), items.items.allSatisfy(\.hasEqualsSign),
            let said = items["text"] ?? items["message"], items.items.allSatisfy({ Self.formFields.contains($0.name) })
        else {
            text = try Self.text(body)
            return
        }
        if let name = items.repeatedName { throw .invalidField(name, "`\(name)` stands more than once in the form.") }
        text = said
        session = items["session"] ?? session
        thinking = items["thinking"] ?? thinking
        if let value = items["mode"] { try take(mode: value) }
        if let value = items["ttlSeconds"] { try take(ttl: Int64(value)) }
        if let value = items["notBefore"] { try take(notBefore: value, now: now) }
    }

    private static func text(_ bytes: [UInt8]) throws(Problem) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(
                .malformedText,
                "The body is not UTF-8.",
                field: "body"
            )
        }
        return text
    }

    // MARK: Times

    private mutating func take(ttl seconds: Int64?) throws(Problem) {
        guard let seconds, (1...Self.longestTTLSeconds).contains(seconds) else {
            throw .badTTL
        }
        ttlMilliseconds = seconds * 1000
    }

    private mutating func take(notBefore text: String, now: Timestamp) throws(Problem) {
        guard let time = Timestamp(rfc3339: text) else {
            throw .invalidField("notBefore", "`notBefore` is a time such as \(now.rfc3339).")
        }
        isLate = time <= now
        guard !isLate || key != nil else { throw .late(now) }
        guard time.milliseconds - now.milliseconds <= Self.longestTTLSeconds * 1000 else {
            throw .invalidField("notBefore", "`notBefore` is more than 30 days away.")
        }
        notBefore = time
    }
}

extension Problem {
    static var badTTL: Problem {
        .invalidField("ttlSeconds", "`ttlSeconds` is a whole number from 1 to \(MessageRequest.longestTTLSeconds).")
    }

    static func late(_ now: Timestamp) -> Problem {
        .invalidField("notBefore", "`notBefore` is past; it is \(now.rfc3339) now.")
    }
}

extension Call {
    func bodyType() throws(Problem) -> MediaType {
        guard let field = head.fields[.contentType] else { return .plain }
        do throws(HeaderValueError) {
            return try MediaType(parsing: field)
        } catch {
            throw .badHeader("Content-Type", error)
        }
    }
}
