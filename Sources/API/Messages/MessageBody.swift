import JSONBytes
import Server

/// The members of a message in JSON, decoded, and its checked attachments: work that takes long for a large body and
/// needs no state of the loop.
struct MessageBody: Sendable {
    /// Larger bodies are read off the loop; one of this size takes about a millisecond.
    static let mostOnLoop = 256 << 10
    static let fields = ["text", "session", "thinking", "mode", "attachments", "ttlSeconds", "notBefore"]

    let text: String?
    let session: String?
    let thinking: String?
    let mode: String?
    let ttlSeconds: Int64?
    let notBefore: String?
    /// The attachments as they are stored; nil if there are none.
    let attachments: [UInt8]?

    init(_ bytes: [UInt8], _ rules: AttachmentRules) throws(Problem) {
        let body = try Call.object(Call.parse(bytes), of: Self.fields)
        text = try Self.string("text", body)
        session = try Self.string("session", body)
        thinking = try Self.string("thinking", body)
        mode = try Self.string("mode", body)
        ttlSeconds = try Self.member("ttlSeconds", body).map { value throws(Problem) in
            guard let seconds = value.int else { throw .badTTL }
            return seconds
        }
        notBefore = try Self.string("notBefore", body)
        attachments = try Self.member("attachments", body).flatMap { list throws(Problem) in try rules.check(list) }
        guard body["text"] != nil || attachments != nil else {
            throw .invalidField("text", "`text` is the message, a string.")
        }
    }

    @concurrent static func reading(_ bytes: [UInt8], _ rules: AttachmentRules) async -> Result<MessageBody, Problem> {
        Result { () throws(Problem) in try MessageBody(bytes, rules) }
    }

    private static func member(_ name: String, _ body: JSONValue) -> JSONValue? {
        body[name].flatMap { $0.isNull ? nil : $0 }
    }

    private static func string(_ name: String, _ body: JSONValue) throws(Problem) -> String? {
        guard let value = member(name, body) else { return nil }
        guard let text = value.string else { throw .invalidField(name, "`\(name)` is a string.") }
        return text
    }
}
