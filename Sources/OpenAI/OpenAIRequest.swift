package import JSONBytes

/// A request for an answer: the body of `POST /chat/completions`, `POST /responses` or Ollama's `POST /api/chat`, read into one form. The agent has a memory of its own,
/// so only the last user turn goes to it; the turns before serve to recognize the conversation.
package struct OpenAIRequest: Sendable {
    package enum Face: String, Sendable {
        case chat, responses, ollama
    }

    package struct Turn: Sendable, Equatable {
        package enum Role: String, Sendable {
            case user, assistant
        }

        package let role: Role
        package let text: String

        package init(_ role: Role, _ text: String) {
            self.role = role
            self.text = text
        }
    }

    /// A picture or file of the last turn.
    package struct Attachment: Sendable, Equatable {
        package let name: String
        package let type: String
        /// Base 64, as it stands in the data URL.
        package let data: String
    }

    package struct Message: Sendable, Equatable {
        package let text: String
        let attachments: Int
    }

    package let face: Face
    package internal(set) var model = ""
    /// The user and assistant turns before the last user turn.
    package internal(set) var history: [Turn] = []
    /// The last user turn.
    package internal(set) var text = ""
    package internal(set) var attachments: [Attachment] = []
    /// The user's messages since the last answer, which make the last turn.
    package private(set) var lastMessages: [Message] = []
    package internal(set) var instructions: [String] = []
    /// The number of messages of any role.
    package internal(set) var messageCount = 0
    package internal(set) var streams = false
    package internal(set) var includesUsage = false
    /// The smallest limit on the answer's tokens.
    var mostTokens: Int64?
    package internal(set) var user: String?
    package internal(set) var conversation: String?
    package internal(set) var previous: String?
    package internal(set) var isBackground = false
    package internal(set) var isStored = true
    /// The client's own object, as JSON; only texts.
    package internal(set) var metadata: [(name: String, value: String)] = []
    /// Names of the parameters that had no effect.
    package internal(set) var ignored: [String] = []

    /// The user turns of the whole request.
    package var userTurns: Int { history.count { $0.role == .user } + 1 }
    var hasAnswers: Bool { history.contains { $0.role == .assistant } }

    /// A message of more parts is refused: a conversation with pictures has a few in each.
    private static let mostParts = 256
    private static let mostMetadata = 16

    package init(_ face: Face, _ body: JSONValue) throws(OpenAIError) {
        self.face = face
        guard body.kind == .object else { throw .invalid(nil, "The body is a JSON object.") }
        guard let model = body["model"]?.string, !model.isEmpty else {
            throw .invalid(
                "model",
                "`model` is missing: the name of an agent, such as `ladle`. GET /models lists them."
            )
        }
        self.model = model
        try refuseWhatCannotBeKept(body)
        streams = try Self.flag("stream", body) ?? (face == .ollama)
        includesUsage = body["stream_options"]?["include_usage"]?.bool ?? false
        mostTokens = ["max_tokens", "max_completion_tokens", "max_output_tokens"].compactMap { body[$0]?.int }.min()
        if face == .ollama, let most = body["options"]?["num_predict"]?.int, most > 0 { mostTokens = most }
        user = body["user"]?.string
        switch face {
        case .chat, .ollama: try readMessages(body["messages"])
        case .responses: try readInput(body)
        }
        if let value = body["conversation"], !value.isNull {
            guard let words = value.string ?? value["id"]?.string else {
                throw .invalid(
                    "conversation",
                    "`conversation` is the id of a conversation, or an object with its `id`."
                )
            }
            if !words.isEmpty { conversation = words }
        }
        ignored = Self.ignored(in: body, face) + (instructions.isEmpty || face == .responses ? [] : ["system"])
    }

    // MARK: Promises

    private func refuseWhatCannotBeKept(_ body: JSONValue) throws(OpenAIError) {
        if let choice = body["tool_choice"], choice.kind == .object || choice.equals("required") {
            throw .unsupported(
                "tool_choice",
                "The agent chooses its tools itself; leave out `tool_choice`, or send \"auto\"."
            )
        }
        if face == .ollama, let format = body["format"], !format.isNull, !format.equals("") {
            throw .unsupported(
                "format",
                "The agent's answer is text; leave out `format` and ask for the form in words."
            )
        }
        for (name, format) in [("response_format", body["response_format"]), ("text.format", body["text"]?["format"])] {
            guard let format, !format.isNull, !(format["type"]?.equals("text") ?? false) else { continue }
            throw .unsupported(
                name,
                "The agent's answer is text; a JSON schema cannot be promised. Leave out `\(name)` and ask for the form in words."
            )
        }
        if let count = body["n"], !count.isNull, count.int != 1 {
            throw .unsupported("n", "There is one answer; leave out `n`.")
        }
        if body["logprobs"]?.bool == true {
            throw .unsupported("logprobs", "The agent's answer has no log probabilities.")
        }
        if body["modalities"]?.elements.contains(where: { $0.equals("audio") }) ?? false {
            throw .unsupported("modalities", "The agent's answer is text; leave out `audio`.")
        }
        if let prompt = body["prompt"], face == .responses, !prompt.isNull {
            throw .unsupported("prompt", "Prompt templates are kept at OpenAI; send the words as `input`.")
        }
    }

    private static func flag(_ name: String, _ body: JSONValue) throws(OpenAIError) -> Bool? {
        guard let value = body[name], !value.isNull else { return nil }
        guard let flag = value.bool else { throw .invalid(name, "`\(name)` is true or false.") }
        return flag
    }

    // MARK: Messages

    private mutating func readMessages(_ list: JSONValue?) throws(OpenAIError) {
        guard let list, list.kind == .array, list.count > 0 else {
            throw .invalid("messages", "`messages` is missing: a list whose last message is the user's.")
        }
        try read(list, "messages")
    }

    private mutating func readInput(_ body: JSONValue) throws(OpenAIError) {
        isBackground = try Self.flag("background", body) ?? false
        isStored = try Self.flag("store", body) ?? true
        if let words = body["instructions"]?.string { instructions.append(words) }
        if let value = body["previous_response_id"], !value.isNull {
            guard let id = value.string, !id.isEmpty else {
                throw .invalid(
                    "previous_response_id",
                    "`previous_response_id` is the id of a response, such as resp_…."
                )
            }
            previous = id
        }
        if previous != nil, let conversation = body["conversation"], !conversation.isNull {
            throw .invalid(
                "previous_response_id",
                "`previous_response_id` and `conversation` exclude each other; send one of them."
            )
        }
        guard isStored || !isBackground else {
            throw .invalid("store", "A background response is read later, so it is stored; leave out `store`.")
        }
        metadata = try Self.metadata(body["metadata"]) ?? []
        guard let input = body["input"], !input.isNull else {
            throw .invalid("input", "`input` is missing: the user's words, or a list of items that ends with them.")
        }
        if let words = input.string {
            messageCount = 1
            text = words
        } else {
            guard input.kind == .array, input.count > 0 else {
                throw .invalid("input", "`input` is a string or a list of items.")
            }
            try read(input, "input")
        }
    }

    /// A client's own texts; nil if there are none.
    package static func metadata(_ value: JSONValue?) throws(OpenAIError) -> [(name: String, value: String)]? {
        guard let value, !value.isNull else { return nil }
        guard value.kind == .object, value.count <= Self.mostMetadata else {
            throw .invalid("metadata", "`metadata` is an object of at most \(Self.mostMetadata) texts.")
        }
        var metadata: [(name: String, value: String)] = []
        for (name, item) in value.members {
            guard let words = item.string, name.utf8.count <= 64, words.utf8.count <= 2_048 else {
                throw .invalid(
                    "metadata.\(name.prefix(64))",
                    "Metadata are texts of at most 512 characters, by names of at most 64."
                )
            }
            metadata.append((name, words))
        }
        return metadata
    }

    /// Reads a list of messages or of input items, which have the same members.
    private mutating func read(_ list: JSONValue, _ field: String) throws(OpenAIError) {
        var place = -1
        var last: (role: String, place: Int)?
        // The user's messages since the last answer, with their places.
        var open: [(JSONValue, Int)] = []
        for item in list.elements {
            place += 1
            let type = item["type"]?.string ?? "message"
            guard item.kind == .object else {
                throw .invalid("\(field)[\(place)]", "A message is an object with `role` and `content`.")
            }
            guard type == "message" else {
                if type == "function_call_output" { last = ("tool", place) }
                continue
            }
            guard let role = item["role"]?.string else {
                throw .invalid("\(field)[\(place)].role", "`role` is missing.")
            }
            messageCount += 1
            switch role {
            case "system", "developer": instructions.append(Self.words(of: item["content"]))
            case "user":
                open.append((item, place))
                last = (role, place)
            case "assistant":
                history += open.map { Turn(.user, Self.words(of: $0.0["content"])) }
                open = []
                let words = Self.words(of: item["content"])
                if !words.isEmpty { history.append(Turn(.assistant, words)) }
                last = (role, place)
            case "tool", "function": last = ("tool", place)
            default:
                throw .invalid(
                    "\(field)[\(place)].role",
                    "There is no role `\(role.prefix(32))`; there are system, developer, user and assistant."
                )
            }
        }
        switch last?.role {
        case "user": break
        case "assistant":
            throw .invalid(
                "\(field)[\(last?.place ?? 0)]",
                "The last message is the assistant's: continue/prefill is not supported."
            )
        case "tool":
            throw .invalid(
                "\(field)[\(last?.place ?? 0)]",
                "The agent calls its own tools, and takes no results of others."
            )
        default: throw .invalid(field, "No message of the user's is in `\(field)`; the last one has role `user`.")
        }
        for (item, place) in open {
            let before = attachments.count
            let words = try readLast(item["content"], "\(field)[\(place)].content")
            if face == .ollama { try readPictures(item["images"], "\(field)[\(place)].images") }
            lastMessages.append(Message(text: words, attachments: attachments.count - before))
        }
        joinLastMessages()
    }

    /// Ollama's pictures: base 64 without a type, which their first bytes tell.
    private mutating func readPictures(_ list: JSONValue?, _ field: String) throws(OpenAIError) {
        guard let list, !list.isNull else { return }
        guard list.kind == .array, list.count <= Self.mostParts else {
            throw .invalid(field, "`images` is a list of at most \(Self.mostParts) pictures in base 64.")
        }
        var place = -1
        for item in list.elements {
            place += 1
            let data = item.string ?? ""
            guard let type = Self.pictures.first(where: { data.hasPrefix($0.start) })?.type else {
                throw .invalid(
                    "\(field)[\(place)]",
                    "A picture is a PNG, JPEG, GIF or WebP in base 64.",
                    code: "invalid_image_url"
                )
            }
            let name = "image-\(attachments.count + 1).\(type)"
            attachments.append(Attachment(name: name, type: "image/\(type)", data: data))
        }
    }

    private static let pictures = [
        (start: "iVBORw0KGgo", type: "png"), (start: "/9j/", type: "jpeg"), (start: "R0lGOD", type: "gif"),
        (start: "UklGR", type: "webp"),
    ]

    private mutating func joinLastMessages() {
        text = lastMessages.map(\.text).filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// The agent has the first of the last messages already, so they are turns of the past.
    package mutating func leaveOut(first count: Int) {
        history += lastMessages.prefix(count).map { Turn(.user, $0.text) }
        attachments.removeFirst(lastMessages.prefix(count).reduce(0) { $0 + $1.attachments })
        lastMessages.removeFirst(count)
        joinLastMessages()
    }

    /// The texts of a message, joined by line ends.
    private static func words(of content: JSONValue?) -> String {
        guard let content else { return "" }
        if let words = content.string { return words }
        return content.elements.compactMap { $0["text"]?.string ?? $0.string }.joined(separator: "\n")
    }

    /// Reads a message of the last turn, whose pictures and files go along.
    private mutating func readLast(_ content: JSONValue?, _ field: String) throws(OpenAIError) -> String {
        guard let content, !content.isNull else { return "" }
        if let words = content.string { return words }
        guard content.kind == .array, content.count <= Self.mostParts else {
            throw .invalid(field, "`content` is a string or a list of at most \(Self.mostParts) parts.")
        }
        var words: [String] = []
        var place = -1
        for part in content.elements {
            place += 1
            let name = "\(field)[\(place)]"
            switch part["type"]?.string {
            case "text", "input_text", "output_text":
                guard let text = part["text"]?.string else { throw .invalid("\(name).text", "`text` is a string.") }
                words.append(text)
            case "image_url", "input_image":
                let url = part["image_url"].flatMap { $0.string ?? $0["url"]?.string }
                guard let url else {
                    throw .invalid(name, "A picture is a data URL; uploaded files (`file_id`) are not supported.")
                }
                attachments.append(try Self.attachment(url, "image-\(attachments.count + 1)", name, isPicture: true))
            case "file", "input_file":
                let file = part["file"] ?? part
                guard let data = file["file_data"]?.string else {
                    throw .invalid(
                        name,
                        "A file is a data URL in `file_data`; uploaded files (`file_id`) and links are not supported."
                    )
                }
                let given = file["filename"]?.string ?? "file-\(attachments.count + 1)"
                attachments.append(try Self.attachment(data, given, name, isPicture: false))
            case "input_audio":
                throw .invalid(name, "Audio is not supported; send its words as text.", code: "unsupported_parameter")
            case let type:
                throw .invalid(
                    "\(name).type",
                    "There is no part `\((type ?? "").prefix(32))`; there are text, image_url and file."
                )
            }
        }
        return words.joined(separator: "\n")
    }

    private static func attachment(
        _ url: String,
        _ name: String,
        _ field: String,
        isPicture: Bool
    ) throws(OpenAIError) -> Attachment {
        guard url.utf8.starts(with: "data:".utf8), let comma = url.utf8.firstIndex(of: UInt8(ascii: ",")) else {
            throw .invalid(
                field,
                "Only data URLs (data:image/png;base64,…) are taken; Ladle fetches nothing from other servers.",
                code: isPicture ? "invalid_image_url" : "invalid_file_url"
            )
        }
        let head = url[url.utf8.index(url.startIndex, offsetBy: 5)..<comma].lowercased().split(separator: ";")
        guard head.last == "base64", let type = head.first, type.contains("/") else {
            throw .invalid(
                field,
                "A data URL is data:TYPE;base64,DATA.",
                code: isPicture ? "invalid_image_url" : "invalid_file_url"
            )
        }
        let ending = type.split(separator: "/").last.map { "." + $0.prefix { $0.isLetter || $0.isNumber } } ?? ""
        let clean = String(String.UnicodeScalarView(name.unicodeScalars.filter { $0.value >= 0x20 }.prefix(100)))
        return Attachment(
            name: clean.contains(".") ? clean : clean + ending,
            type: String(type),
            data: String(url[url.utf8.index(after: comma)...])
        )
    }

    // MARK: Parameters without effect

    private static let used: [Face: Set<String>] = [
        .ollama: ["model", "messages", "stream"],
        .chat: ["model", "messages", "stream", "stream_options", "conversation"],
        .responses: [
            "model", "input", "stream", "stream_options", "background", "store", "previous_response_id", "conversation",
            "metadata",
        ],
    ]
    /// A header of a reasonable length.
    private static let mostIgnored = 32

    private static func ignored(in body: JSONValue, _ face: Face) -> [String] {
        var names: [String] = []
        for (name, value) in body.members where !value.isNull && names.count < mostIgnored {
            guard used[face]?.contains(name) == false, (1...40).contains(name.utf8.count),
                name.utf8.allSatisfy({ $0.isWordByte })
            else { continue }
            names.append(name)
        }
        return names
    }
}

extension UInt8 {
    fileprivate var isWordByte: Bool {
        (0x30...0x39).contains(self) || (0x41...0x5A).contains(self) || (0x61...0x7A).contains(self)
            || self == UInt8(ascii: "_")
    }
}
