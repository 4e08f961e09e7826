import Basics
import HTTPModel
import JSONBytes
import Server

/// The forms a message may come in.
extension MessageRequest {
    static let types = [MediaType.json, .plain, .form]
    static let fields = ["text", "session", "thinking", "attachments", "ttlSeconds", "notBefore"]
    private static let formFields = ["text", "message", "session", "thinking", "ttlSeconds", "notBefore"]
    private static let formBytesBesideText = 4096
    /// As long as any entry is kept waiting.
    private static let longestTTLSeconds: Int64 = 30 * 86_400

    mutating func readBody(
        _ call: Call,
        _ body: MessageBody?,
        _ rules: AttachmentRules,
        now: Timestamp
    ) throws(Problem) {
        let type = try call.bodyType()
        if type.isJSON {
            try readJSON(body ?? MessageBody(call.exchange.body, rules), now: now)
        } else if type.isSameEssence(as: .form) {
            try readForm(call, now: now)
        } else if type.isSameEssence(as: .plain) {
            if let charset = type.parameter("charset")?.lowercased(), charset != "utf-8", charset != "us-ascii" {
                throw .unsupportedMediaType(Self.types)
            }
            try Self.checkLength(call.exchange.body.count)
            text = try Self.text(call.exchange.body)
        } else {
            throw .unsupportedMediaType(Self.types)
        }
    }

    // MARK: JSON

    private mutating func readJSON(_ read: MessageBody, now: Timestamp) throws(Problem) {
        let body = try Call.object(read.json, of: Self.fields)
        if let value = try Self.string("text", body) { text = value }
        if let value = try Self.string("session", body) { session = value }
        if let value = try Self.string("thinking", body) { thinking = value }
        if let value = body["ttlSeconds"], !value.isNull { try take(ttl: value.int) }
        if let value = try Self.string("notBefore", body) { try take(notBefore: value, now: now) }
        attachments = try read.attachments.get()
        attachmentBytes = attachments?.count ?? 0
        guard body["text"] != nil || attachments != nil else {
            throw .invalidField("text", "`text` is the message, a string.")
        }
    }

    private static func string(_ name: String, _ body: JSONValue) throws(Problem) -> String? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let text = value.string else { throw .invalidField(name, "`\(name)` is a string.") }
        return text
    }

    // MARK: Forms and text

    /// A form with a text field is one; what else curl sends by default is text that nobody encoded.
    private mutating func readForm(_ call: Call, now: Timestamp) throws(Problem) {
        let body = call.exchange.body
        // A byte of a form is up to three; beside the text there is little.
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
            throw .invalidField(
                "ttlSeconds",
                "`ttlSeconds` is a whole number from 1 to \(Self.longestTTLSeconds)."
            )
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
