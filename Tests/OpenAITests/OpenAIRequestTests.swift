import JSONBytes
import Testing

@testable import OpenAI

func openAIRequest(_ face: OpenAIRequest.Face = .chat, _ body: String) throws -> OpenAIRequest {
    try OpenAIRequest(face, JSONDocument(parsing: Array(body.utf8)).root)
}

/// The body of a chat with these messages of alternating roles, the last one the user's.
func chatBody(_ texts: String..., more: String = "") -> String {
    let messages = texts.enumerated().map { place, text in
        let role = (texts.count - place) % 2 == 1 ? "user" : "assistant"
        var writer = JSONWriter()
        writer.object { object in
            object.member("role", role)
            object.member("content", text)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
    return #"{"model":"ladle","messages":[\#(messages.joined(separator: ","))]\#(more)}"#
}

struct OpenAIRequestTests {
    @Test func `the last user turn is the message, and the turns before are history`() throws {
        let request = try openAIRequest(
            .chat,
            #"""
            {"model":"ladle/main","stream":true,"stream_options":{"include_usage":true},"temperature":0.2,"tools":[],"user":"u","messages":[
            {"role":"system","content":"Be brief."},{"role":"user","content":"one"},{"role":"assistant","content":"two"},
            {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},{"role":"user","content":"c"}]}
            """#
        )
        #expect(request.text == "a\nb\nc")
        #expect(request.history == [.init(.user, "one"), .init(.assistant, "two")])
        #expect(request.instructions == ["Be brief."])
        #expect(request.streams && request.includesUsage && request.userTurns == 2 && request.messageCount == 5)
        #expect(request.ignored == ["temperature", "tools", "user", "system"])
    }

    @Test func `input is a text or a list of items`() throws {
        let short = try openAIRequest(
            .responses,
            #"{"model":"ladle","input":"hi","instructions":"x","metadata":{"a":"b"},"background":true}"#
        )
        #expect(short.text == "hi" && short.isBackground && short.metadata.first?.value == "b")
        let long = try openAIRequest(
            .responses,
            #"""
            {"model":"ladle","input":[{"role":"user","content":"one"},{"type":"reasoning","summary":[]},
            {"type":"message","role":"assistant","content":[{"type":"output_text","text":"two","annotations":[]}]},
            {"role":"user","content":[{"type":"input_text","text":"three"}]}],"previous_response_id":"resp_1"}
            """#
        )
        #expect(long.text == "three" && long.history.count == 2 && long.previous == "resp_1")
    }

    @Test func `pictures and files of the last turn go along, older ones do not`() throws {
        let image = #"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgo="}}"#
        let request = try openAIRequest(
            .chat,
            #"""
            {"model":"ladle","messages":[{"role":"user","content":[\#(image)]},{"role":"assistant","content":"nice"},
            {"role":"user","content":[{"type":"text","text":"and this?"},\#(image),
            {"type":"file","file":{"filename":"a.txt","file_data":"data:text/plain;base64,aGk="}}]}]}
            """#
        )
        #expect(request.attachments.map(\.name) == ["image-1.png", "a.txt"])
        #expect(request.attachments.map(\.type) == ["image/png", "text/plain"] && request.text == "and this?")
    }

    static let refused: [(body: String, param: String?, code: String)] = [
        ("[]", nil, "invalid_request_error"),
        (#"{"messages":[{"role":"user","content":"x"}]}"#, "model", "invalid_request_error"),
        (#"{"model":"ladle"}"#, "messages", "invalid_request_error"),
        (#"{"model":"ladle","messages":[]}"#, "messages", "invalid_request_error"),
        (#"{"model":"ladle","messages":[{"role":"system","content":"x"}]}"#, "messages", "invalid_request_error"),
        (
            #"{"model":"ladle","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}"#,
            "messages[1]", "invalid_request_error"
        ),
        (#"{"model":"ladle","messages":[{"role":"tool","content":"y"}]}"#, "messages[0]", "invalid_request_error"),
        (#"{"model":"ladle","messages":[{"role":"king","content":"y"}]}"#, "messages[0].role", "invalid_request_error"),
        (chatBody("x", more: #","stream":"yes""#), "stream", "invalid_request_error"),
        (chatBody("x", more: #","tool_choice":"required""#), "tool_choice", "unsupported_parameter"),
        (chatBody("x", more: #","tool_choice":{"type":"function"}"#), "tool_choice", "unsupported_parameter"),
        (
            chatBody("x", more: #","response_format":{"type":"json_schema"}"#), "response_format",
            "unsupported_parameter"
        ),
        (chatBody("x", more: #","n":2"#), "n", "unsupported_parameter"),
        (chatBody("x", more: #","n":"3""#), "n", "unsupported_parameter"),
        (chatBody("x", more: #","response_format":"json_object""#), "response_format", "unsupported_parameter"),
        (chatBody("x", more: #","logprobs":true"#), "logprobs", "unsupported_parameter"),
        (chatBody("x", more: #","modalities":["text","audio"]"#), "modalities", "unsupported_parameter"),
        (
            #"{"model":"ladle","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://x/y.png"}}]}]}"#,
            "messages[0].content[0]", "invalid_image_url"
        ),
        (
            #"{"model":"ladle","messages":[{"role":"user","content":[{"type":"input_audio"}]}]}"#,
            "messages[0].content[0]", "unsupported_parameter"
        ),
        (
            #"{"model":"ladle","messages":[{"role":"user","content":[{"type":"dance"}]}]}"#,
            "messages[0].content[0].type", "invalid_request_error"
        ),
    ]

    @Test(arguments: refused)
    func `a request that cannot be carried out names the field`(_ row: (body: String, param: String?, code: String))
        throws
    {
        let error = #expect(throws: OpenAIError.self) { try openAIRequest(.chat, row.body) }
        #expect(error?.status == 400 && error?.param == row.param && error?.code == row.code, "\(row.body)")
    }

    @Test func `a conversation and an earlier response exclude each other`() throws {
        let body = #"{"model":"ladle","input":"x","previous_response_id":"resp_1","conversation":"conv_1"}"#
        #expect(throws: OpenAIError.self) { try openAIRequest(.responses, body) }
        #expect(throws: OpenAIError.self) {
            try openAIRequest(.responses, #"{"model":"ladle","input":"x","store":false,"background":true}"#)
        }
        let format = #"{"model":"ladle","input":"x","text":{"format":{"type":"json_schema"}}}"#
        #expect(#expect(throws: OpenAIError.self) { try openAIRequest(.responses, format) }?.param == "text.format")
    }

    @Test func `the error has all four members`() {
        let text = String(decoding: OpenAIError.invalid(nil, "no").body, as: UTF8.self)
        #expect(
            text
                == #"{"error":{"message":"no","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#
        )
    }
}

struct ModelNameTests {
    @Test func `names mean agents and their sessions`() {
        let names: [(String, ModelName?)] = [
            ("ladle", .agent(nil)), ("ladle/main", .agent("main")), ("openai/ladle/main", .agent("main")),
            ("ladle/tasks", .tasks), ("openclaw", .agent(nil)), ("openclaw/default", .agent(nil)),
            ("openclaw:scout", .agent("scout")),
            ("ladle/main@kitchen", .label(agent: "main", name: "kitchen")), ("agent:main", .agent("main")),
            ("agent:main:work:x", .session("agent:main:work:x")), ("gpt-4o", nil), ("ladle/", nil), ("ladle/../x", nil),
            ("", nil),
            ("ladle/main@", nil), ("agent:", nil),
        ]
        for (text, name) in names { #expect(ModelName(text) == name, "\(text)") }
    }
}

struct SessionChoiceTests {
    private func choice(_ body: String, _ change: (inout SessionChoice.Hints) -> Void = { _ in }) throws
        -> SessionChoice
    {
        var hints = SessionChoice.Hints()
        change(&hints)
        return try SessionChoice(openAIRequest(.chat, body), hints)
    }

    @Test func `the first thing that names the conversation counts`() throws {
        let ulid = "01JAXV5Z6N8Q2R4T6W8Y0ABCDE"
        #expect(try choice(chatBody("x")) == .new)
        #expect(try choice(chatBody("x")) { $0.isOneSession = true } == .one)
        #expect(try choice(chatBody("a", "b", "c")) == .transcript)
        #expect(try choice(chatBody("x", more: #","user":"raycast-extension""#)) == .new)
        #expect(try choice(chatBody("x", more: #","user":"\#(ulid)""#)) == .derived(ulid))
        #expect(
            try choice(chatBody("a", "b", "c", more: #","user":"\#(ulid)""#)) { $0.chat = "chat-1" }
                == .derived("chat-1")
        )
        #expect(
            try choice(chatBody("x", more: #","conversation":"conv_1""#)) { $0.chat = "chat-1" }
                == .conversation("conv_1")
        )
        #expect(try choice(chatBody("x", more: #","conversation":{"id":"mine"}"#)) == .derived("mine"))
        #expect(try choice(chatBody("x")) { ($0.header, $0.chat) = ("work", "chat-1") } == .key("work"))
        #expect(
            try choice(chatBody("x")) { ($0.header, $0.allowed) = ("work", ["agent:main:kitchen"]) }
                == .key("agent:main:kitchen")
        )
        #expect(try choice(chatBody("x")) { $0.model = "agent:main:a" } == .key("agent:main:a"))
    }

    @Test(arguments: ["subagent:x", "cron:daily", "acp:1", "agent:main:subagent:1", "agent:main:cron:x"])
    func `the gateway's own sessions cannot be named`(_ name: String) {
        #expect(throws: OpenAIError.self) { try choice(chatBody("x")) { $0.header = name } }
    }

    @Test func `a name of a digest is sixteen letters and digits`() {
        let name = SessionChoice.name(digest: Array(0..<32))
        #expect(name == "openai-aaaqeayeaudaocaj")
        #expect(
            !SessionChoice.isULID("01jaxv5z6n8q2r4t6w8y0abcde") && !SessionChoice.isULID("81JAXV5Z6N8Q2R4T6W8Y0ABCDE")
        )
    }
}

struct SideCallTests {
    private func side(_ body: String, task: String? = nil, tasks: Bool = false) throws -> SideCall? {
        SideCall(try openAIRequest(.chat, body), task: task, isForTasks: tasks)
    }

    private func prompt(_ line: String) -> String {
        "### Task:\n\(line) with an emoji\n### Chat History:\n<chat_history>\nUSER: How do I boil an egg for breakfast on a Sunday morning?\nASSISTANT: x\n</chat_history>"
    }

    @Test func `tasks of a chat program are answered from the prompt`() throws {
        #expect(
            try side(chatBody(prompt("Generate a concise title, 3-5 words")))
                == .answer(#"{"title":"How do I boil an egg for breakfast on a "}"#)
        )
        #expect(try side(chatBody(prompt("Generate 1-3 broad tags"))) == .answer(#"{"tags":[]}"#))
        #expect(
            try side(chatBody(prompt("Suggest 3-5 relevant follow-up questions"))) == .answer(#"{"follow_ups":[]}"#)
        )
        #expect(try side(chatBody("anything"), task: "query_generation") == .answer(#"{"queries":[]}"#))
        #expect(try side(chatBody("anything"), task: "emoji_generation") == .answer(""))
        #expect(try side(chatBody("anything"), task: "memory_review") == .refused(task: "memory_review"))
        #expect(
            try side(chatBody(prompt("Generate a detailed prompt for am image")))
                == .refused(task: "image_prompt_generation")
        )
        let libre =
            "Provide a concise, 5-word-or-less title for the conversation, using title case conventions.\\n\\nConversation:\nUser: Hello there\nAI: Hi"
        #expect(try side(chatBody(libre)) == .answer("Hello there"))
    }

    @Test func `a question about an attached document is no task`() throws {
        let rag =
            "### Task:\nRespond to the user query using the provided context\n<context>x</context>\n<chat_history>\nwhat does it say?"
        #expect(try side(chatBody(rag)) == nil)
        #expect(try side(chatBody(prompt("Generate a concise title"), more: #","stream":true"#)) == nil)
        #expect(try side(chatBody("a", "b", prompt("Generate a concise title"))) == nil)
        #expect(try side(chatBody("Generate a concise title")) == nil)
    }

    @Test func `a few tokens are a probe, unless a conversation is under way`() throws {
        #expect(try side(chatBody("What is the capital of France?", more: #","max_tokens":3"#)) == .probe)
        #expect(try side(chatBody("Hey how's it going?", more: #","max_completion_tokens":16"#)) == .probe)
        #expect(try side(chatBody("hi", more: #","max_tokens":17"#)) == nil)
        #expect(try side(chatBody("a", "b", "c", more: #","max_tokens":3"#)) == nil)
        #expect(try side(chatBody("hi"), tasks: true) == .refused(task: "unknown"))
        #expect(try side(chatBody("hi", more: #","max_tokens":16"#), tasks: true) == .probe)
    }
}

struct RequestMeaningTests {
    @Test func `thoughts, line ends and blanks around do not count`() {
        let text =
            " <details type=\"reasoning\" done=\"true\">\n<summary>x</summary></details>\nHello\r\nthere <think>hm</think>\n"
        #expect(RequestMeaning.normalized(text) == "Hello\nthere")
        #expect(RequestMeaning.normalized("<think>open") == "<think>open" && RequestMeaning.normalized(" \n") == "")
    }

    /// The bytes themselves in place of their digest.
    private func chain(_ turns: OpenAIRequest.Turn..., after: [UInt8]? = nil) -> [UInt8] {
        var chain = TurnChain(after: after) { $0 }
        for turn in turns { chain.add(turn) }
        return chain.digest
    }

    @Test func `an answer in two parts is the turn that was told as one`() {
        let question = OpenAIRequest.Turn(.user, "q")
        let split = chain(
            question,
            .init(.assistant, "Let me look."),
            .init(.assistant, ""),
            .init(.assistant, "Sunny.")
        )
        #expect(split == chain(question, .init(.assistant, "Let me look.\n\nSunny.")))
        #expect(split == chain(.init(.assistant, "<think>x</think>Let me look. Sunny."), after: chain(question)))
        #expect(split != chain(question, .init(.user, "Let me look. Sunny.")))
        #expect(chain() == chain(.init(.user, " ")))
    }

    @Test func `requests differ by text, history and face`() throws {
        func meaning(_ body: String) throws -> RequestDigests { RequestDigests(try openAIRequest(.chat, body)) { $0 } }
        let one = try meaning(chatBody("a", "b", "yes"))
        let warm = try openAIRequest(.chat, chatBody("a", "b", "yes", more: #","temperature":1"#))
        #expect(one.content == RequestDigests(warm) { $0 }.content)
        #expect(one.content != (try meaning(chatBody("a", "b", "yes", "c", "yes"))).content)
        #expect(one.content != (try meaning(chatBody("yes"))).content)
        #expect(one.history == chain(.init(.user, "a"), .init(.assistant, "b")))
        #expect(one.whole == chain(.init(.user, "yes"), after: one.history))
    }

    @Test func `messages behind each other may have been sent before, the newest of them`() throws {
        let list = (1...9).map { #"{"role":"user","content":"m\#($0)"}"# }.joined(separator: ",")
        var request = try openAIRequest(.chat, #"{"model":"ladle","messages":[\#(list)]}"#)
        let digests = RequestDigests(request) { $0 }
        #expect(digests.beginnings.map(\.count) == [5, 6, 7, 8])
        #expect(digests.beginnings.first?.digest == chain(.init(.user, "m1m2m3m4m5")))
        request.leaveOut(first: 8)
        #expect(request.text == "m9" && request.history.count == 8 && request.lastMessages.count == 1)
    }
}
