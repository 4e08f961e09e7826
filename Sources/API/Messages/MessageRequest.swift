import Basics
import EventLoops
import Gateway
import HTTPModel
import JSONBytes
import Runs
import Server
import Upstream

/// What `POST /v1/messages` is asked to do, out of body, query and headers; checked, nothing stored yet.
struct MessageRequest: Sendable {
    var text = ""
    var session = "main"
    var thinking: String?
    /// Name, media type and base 64 of each attachment, as JSON.
    var attachments: [UInt8]?
    var attachmentBytes = 0
    var ttlMilliseconds: Int64?
    var notBefore: Timestamp?
    /// `notBefore` is past: what was accepted under its key while it was not is still told.
    var isLate = false
    /// Also a message that is a stop word.
    var isForced = false
    var waitSeconds: Int?
    /// The wait came by `Prefer`, which is to be acknowledged.
    var wasPreferred = false
    var key: IdempotencyKey?

    /// The longest message text; the gateway cuts much earlier what it shows of one.
    static let longestText = 256 << 10
    static let longestWait = 600

    /// `body` where it has been read already.
    init(_ call: Call, _ api: HTTPAPI, _ body: MessageBody?, now: Timestamp) throws(Problem) {
        session = call.text("session") ?? session
        thinking = call.text("thinking")
        isForced = try call.flag("force")
        if call.text("wait") != nil {
            waitSeconds = try call.number("wait", in: 0...Self.longestWait, default: 0)
        } else if let seconds = try Self.preferredWait(call) {
            waitSeconds = min(seconds, Self.longestWait)
            wasPreferred = true
        }
        key = try Self.key(of: call)
        try readBody(call, body, AttachmentRules(api.link.hello), now: now)
        try check(call, api)
    }

    // MARK: Checks

    private mutating func check(_ call: Call, _ api: HTTPAPI) throws(Problem) {
        do throws(Problem) {
            session = try api.session(named: session, "session")
        } catch {
            // In the body it is well-formed and yet not allowed.
            throw call.text("session") == session ? error : .invalidField("session", error.detail)
        }
        guard attachments != nil || text.unicodeScalars.contains(where: Self.isSaid) else {
            throw .invalidField("text", "`text` is empty: there is nothing to send.")
        }
        guard !text.utf8.contains(0) else {
            throw .invalidField("text", "`text` has a NUL character, which the gateway refuses.")
        }
        try Self.checkLength(text.utf8.count)
        if let thinking {
            let isWord = thinking.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == UInt8(ascii: "-") }
            guard isWord, !thinking.isEmpty, thinking.utf8.count <= 32 else {
                let text = "`thinking` is a level such as off, low, medium or high."
                throw call.text("thinking") == thinking
                    ? .badParameter("thinking", text) : .invalidField("thinking", text)
            }
        }
        let limit = api.messageBodyLimit
        guard text.utf8.count + attachmentBytes <= limit else {
            throw Problem(
                .messageTooLarge,
                "The message takes \(text.utf8.count + attachmentBytes) bytes and the gateway takes \(limit) in one frame.",
                field: "attachments"
            )
        }
    }

    static func checkLength(_ count: Int) throws(Problem) {
        guard count > longestText else { return }
        throw Problem(
            .messageTooLarge,
            "The text takes \(count) bytes; a message takes \(longestText).",
            field: "text"
        )
    }

    /// The gateway drops control characters, and blanks at both ends.
    private static func isSaid(_ scalar: Unicode.Scalar) -> Bool {
        !scalar.properties.isWhitespace && scalar.properties.generalCategory != .control && scalar != "\u{FEFF}"
    }

    /// A lone stop word: the gateway obeys it, whatever is attached, and there is no run to wait for.
    var isStopOrder: Bool { StopWords.matches(text) }

    /// For the orders that go to the gateway as they are: a lone stop word would abort instead of being said.
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

    private static func key(of call: Call) throws(Problem) -> IdempotencyKey? {
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

    // MARK: What is stored

    /// What the entry's payload holds beside the text.
    var extras: [UInt8]? {
        guard thinking != nil || attachments != nil else { return nil }
        var writer = JSONWriter(capacity: attachmentBytes + 128)
        writer.object { object in
            object.member("thinking", thinking)
            object.member("attachments", raw: attachments)
        }
        return writer.bytes
    }
}
