/// The session of a request, from the first thing that names the conversation. A constant `user` names a person, not a conversation, and so
/// never selects one.
package enum SessionChoice: Sendable, Equatable {
    /// A session key, or a name that makes one.
    case key(String)
    /// The session that belongs to the caller and this value.
    case derived(String)
    /// The session of an earlier response.
    case previous(String)
    /// The session of a conversation made by `POST /conversations`.
    case conversation(String)
    /// The session whose turns the request repeats, else a new one.
    case transcript
    case new
    /// The caller's only session.
    case one

    /// The parts of a request that may name its conversation.
    package struct Hints: Sendable {
        /// The sessions that the caller is limited to.
        package var allowed: [String]?
        /// `X-Ladle-Session` or `x-openclaw-session-key`.
        package var header: String?
        /// The client's id of the chat, in a header.
        package var chat: String?
        /// The session that the model's name means.
        package var model: String?
        package var isOneSession = false

        package init() {}
    }

    /// The part of a message that says which response came before, as Ladle writes the ids.
    package static let responsePrefix = "resp_"
    package static let conversationPrefix = "conv_"
    private static let longestValue = 512

    package init(_ request: OpenAIRequest, _ hints: Hints) throws(OpenAIError) {
        if let allowed = hints.allowed, allowed.count == 1, let only = allowed.first {
            self = .key(only)
            return
        }
        if let header = hints.header {
            guard !Self.isReserved(header) else { throw Self.reserved("X-Ladle-Session") }
            self = .key(header)
            return
        }
        if let model = hints.model {
            guard !Self.isReserved(model) else { throw Self.reserved("model") }
            self = .key(model)
            return
        }
        if let previous = request.previous {
            self = .previous(previous)
            return
        }
        if let conversation = request.conversation {
            self =
                conversation.hasPrefix(Self.conversationPrefix)
                ? .conversation(conversation) : .derived(try Self.checked(conversation))
            return
        }
        if let chat = hints.chat {
            self = .derived(try Self.checked(chat))
            return
        }
        if let user = request.user, Self.isULID(user) {
            self = .derived(user)
            return
        }
        self = request.hasAnswers ? .transcript : hints.isOneSession ? .one : .new
    }

    private static func checked(_ value: String) throws(OpenAIError) -> String {
        guard value.utf8.count <= longestValue else {
            throw .invalid("conversation", "The conversation's id has more than \(longestValue) bytes.")
        }
        return value
    }

    private static func reserved(_ param: String) -> OpenAIError {
        .invalid(param, "Names that begin with subagent:, cron: or acp: belong to the gateway.")
    }

    private static func isReserved(_ name: String) -> Bool {
        let rest =
            name.hasPrefix("agent:") ? name.split(separator: ":", maxSplits: 2).last.map(String.init) ?? "" : name
        return ["subagent:", "cron:", "acp:"].contains { rest.lowercased().hasPrefix($0) }
    }

    /// Home Assistant's id of a conversation: 26 characters of Crockford's base 32.
    package static func isULID(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 26, (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(bytes[0]) else { return false }
        return bytes.allSatisfy { byte in
            (0x30...0x39).contains(byte) || ((0x41...0x5A).contains(byte) && !"ILOU".utf8.contains(byte))
        }
    }

    /// The bytes whose digest names the session of a caller's value.
    package static func meaning(of value: String, by caller: String) -> [UInt8] {
        Array("session\n\(caller)\n\(value)".utf8)
    }

    /// The last part of such a session's key: letters and digits that a screen shows and a shell takes.
    package static func name(digest: [UInt8]) -> String {
        let letters = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
        var (text, bits, count): ([UInt8], UInt32, Int) = ([], 0, 0)
        for byte in digest {
            bits = (bits << 8 | UInt32(byte)) & 0xFFFF
            count += 8
            while count >= 5, text.count < 16 {
                count -= 5
                text.append(letters[Int(bits >> UInt32(count)) & 31])
            }
        }
        return "openai-" + String(decoding: text, as: UTF8.self)
    }
}
