import Basics
import JSONBytes
import Testing

@testable import Notifications

/// The requests to each kind of sink.
struct SinkMessageTests {
    private static let now = Timestamp(milliseconds: 1_795_000_000_000)

    private func sink(_ json: String) throws -> NotificationSink {
        try NotificationSink(id: "s", origin: .api, JSONDocument(parsing: json).root)
    }

    private var approval: Notification {
        var one = Notification(
            id: "n1",
            type: .approvalRequested,
            at: Self.now,
            title: "Approval needed",
            text: "rm -rf build"
        )
        one.session = "agent:main:main"
        one.subject = Notification.Subject(.approval, "a/1")
        one.approval = Notification.Approval(title: "rm", decisions: ["allow-once", "deny"])
        one.expiresAt = Self.now.adding(milliseconds: 60_000)
        return one
    }

    private func body(_ request: SinkRequest?) throws -> JSONValue {
        try JSONDocument(parsing: #require(request).body).root
    }

    private func mac(_ key: [UInt8], _ message: [UInt8]) -> [UInt8] { [UInt8(key.count), UInt8(message.count & 255)] }

    @Test func `a webhook is signed with both secrets while one is replaced`() throws {
        var sink = try sink(#"{"name":"hook","kind":"webhook","url":"https://example.org/secret"}"#)
        sink.secret = WebhookSecret(key: Array(repeating: 1, count: 24))
        sink.rotate(to: WebhookSecret(key: Array(repeating: 2, count: 32)), now: Self.now)
        let message = SinkMessage(approval, for: sink, sessionTitle: "Kitchen", base: "https://ladle.example")
        let request = try #require(message.request(now: Self.now, mac))
        let fields = Dictionary(uniqueKeysWithValues: request.fields)
        #expect(fields["webhook-id"] == "n1.s" && fields["webhook-timestamp"] == "1795000000")
        let length = UInt8(("n1.s.1795000000.".utf8.count + request.body.count) & 255)
        let signatures = [32, 24].map { "v1," + Base64.encode([$0, length]) }
        #expect(fields["webhook-signature"] == signatures.joined(separator: " "))
        let later = try #require(message.request(now: Self.now.adding(milliseconds: 86_400_000), mac))
        #expect(later.fields.first { $0.name == "webhook-signature" }?.value.contains(" ") == false)
        let data = try body(request)["data"]
        #expect(data?["title"]?.string == "Approval needed · Kitchen")
        #expect(data?["text"] == nil && data?["approval"]?["title"] == nil)
        #expect(data?["approval"]?["decisions"]?.elements.map(\.string) == ["deny"])
        #expect(data?["link"]?.string == "https://ladle.example/v1/approvals/a%2F1")
        var shown = JSONWriter()
        shown.object { sink.writeMembers(to: &$0, showsTopic: true) }
        let text = String(decoding: shown.bytes, as: UTF8.self)
        #expect(!text.contains("whsec") && !text.contains("secret\""))
        #expect(NotificationSink(kept: sink.kept) == sink)
    }

    @Test func `a sink tells as much as it may`() throws {
        for (detail, title, text) in [
            ("private", "Approval needed", nil), ("identified", "Approval needed · Kitchen", nil),
            ("detailed", "Approval needed · Kitchen", "rm -rf build"),
        ] as [(String, String, String?)] {
            let sink = try sink(#"{"name":"h","kind":"webhook","url":"https://e.org","detail":"\#(detail)"}"#)
            let message = SinkMessage(approval, for: sink, sessionTitle: "Kitchen", base: nil)
            let data = try body(message.request(now: Self.now, mac))["data"]
            #expect(data?["title"]?.string == title && data?["text"]?.string == text)
            #expect((data?["session"] == nil) == (detail == "private"))
        }
    }

    @Test func `ntfy gets JSON at its root, with buttons and a number that a later message takes over`() throws {
        let sink = try sink(
            #"{"name":"phone","kind":"ntfy","url":"https://ntfy.example/x","topic":"my_topic-1","token":"tk_1","priorityMap":{"5":4},"detail":"detailed"}"#
        )
        var message = SinkMessage(approval, for: sink, sessionTitle: "Küche 🍳", base: "https://ladle.example")
        message.buttons = Self.buttons
        let request = try #require(message.request(now: Self.now, mac))
        #expect(request.url.text == "https://ntfy.example/")
        #expect(request.fields.contains { $0 == ("Authorization", "Bearer tk_1") })
        let json = try body(request)
        #expect(json["topic"]?.string == "my_topic-1" && json["priority"]?.int == 4)
        #expect(json["title"]?.string == "Approval needed · Küche 🍳")
        #expect(json["message"]?.string == "rm -rf build")
        #expect(json["tags"]?[0]?.string == "lock")
        #expect(json["actions"]?.elements.map { $0["label"]?.string } == ["Deny", "Show"])
        #expect(json["actions"]?[1]?["url"]?.string == "https://l/v1/act/d")
        #expect(json["actions"]?[0]?["clear"]?.bool == true)
        let removal = try #require(message.removal())
        let sequence = try #require(json["sequence_id"]?.string)
        #expect(removal.method == "DELETE" && removal.url.target == "/my_topic-1/\(sequence)")
        for topic in ["a b", "", String(repeating: "x", count: 65), "ü", "a/b"] {
            #expect(throws: NotificationSink.Fault.self) {
                try self.sink(#"{"name":"p","kind":"ntfy","url":"https://n","topic":"\#(topic)"}"#)
            }
        }
    }

    private static let buttons = [
        SinkMessage.Button(label: "Allow once", url: "https://l/v1/act/a", isGrant: true),
        SinkMessage.Button(label: "Deny", url: "https://l/v1/act/d", isGrant: false),
    ]

    /// Of 500 questions of all lengths and kinds of characters: the button to allow is there only if the receiver is
    /// sent every line of the question.
    @Test func `a decision that grants is offered only below the whole question`() throws {
        let ntfy = #"{"name":"p","kind":"ntfy","url":"https://n.example","topic":"t","detail":"DETAIL"}"#
        let hook = #"{"name":"h","kind":"webhook","url":"https://e.org","detail":"DETAIL"}"#
        var (granted, refused) = (0, 0)
        for number in 0..<500 {
            let piece = ["x", "\"", "é", "👩🏽‍🚀", "\\", "word "][number % 6]
            let question =
                "run \(String(repeating: piece, count: number * number / 30))\nin /home/ann\n! last line \(number)"
            let detail = ["detailed", "identified", "private"][number / 6 % 3]
            var message = SinkMessage(
                approval,
                for: try sink(ntfy.replacingText("DETAIL", with: detail)),
                sessionTitle: nil,
                base: "https://ladle.example"
            )
            message.buttons = Self.buttons
            message.question = question
            if number % 5 == 4 { message.digestAt = Self.now }
            let json = try body(message.request(now: Self.now, mac))
            let labels = json["actions"]?.elements.map { $0["label"]?.string }
            let isWhole = json["message"]?.string?.containsText(question) == true
            let without = detail == "detailed" ? ["Deny", "Show"] : ["Show"]
            #expect(labels == (isWhole ? ["Allow once", "Deny"] : without), "\(number)")
            if isWhole { granted += 1 } else { refused += 1 }
            message = SinkMessage(
                approval,
                for: try sink(hook.replacingText("DETAIL", with: detail)),
                sessionTitle: nil,
                base: nil
            )
            message.question = question
            let data = try body(message.request(now: Self.now, mac))["data"]
            let decisions = data?["approval"]?["decisions"]?.elements.map(\.string)
            let asksWhole = data?["text"]?.string?.containsText(question) == true
            #expect(decisions == (asksWhole ? ["allow-once", "deny"] : ["deny"]), "\(number)")
        }
        #expect(granted > 50 && refused > 200)
    }

    @Test func `who gets the text gets the whole of it behind the link that denies`() throws {
        let sink = try sink(#"{"name":"p","kind":"ntfy","url":"https://n.example","topic":"t","detail":"detailed"}"#)
        var message = SinkMessage(approval, for: sink, sessionTitle: nil, base: "https://ladle.example")
        message.buttons = Self.buttons
        message.question = String(repeating: "x", count: 5_000)
        let actions = try body(message.request(now: Self.now, mac))["actions"]
        #expect(actions?[1]?["action"]?.string == "view" && actions?[1]?["url"]?.string == "https://l/v1/act/d")
    }

    /// A one-tap link shows the question to whoever opens it, and ids lead to what they name.
    @Test func `a private message has no link to its subject and no id of it`() throws {
        var one = approval
        one.runID = "RUN-7"
        for kind in [#""kind":"webhook""#, #""kind":"ntfy","topic":"t""#, #""kind":"gotify","token":"t""#] {
            for detail in ["private", "identified"] {
                let sink = try sink(#"{"name":"h",\#(kind),"url":"https://e.org","detail":"\#(detail)"}"#)
                var message = SinkMessage(one, for: sink, sessionTitle: "Kitchen", base: "https://ladle.example")
                message.buttons = Self.buttons
                message.question = "rm -rf build"
                let text = String(decoding: try #require(message.request(now: Self.now, mac)).body, as: UTF8.self)
                #expect(!text.contains("/v1/act/") && !text.contains("rm -rf"))
                #expect(text.contains("https://ladle.example/v1/approvals"))
                for hint in ["a%2F1", "a/1", "RUN-7", "Kitchen", "agent:main:main"] {
                    #expect(!(detail == "private" && text.contains(hint)), "\(kind) \(hint)")
                }
            }
        }
    }

    @Test func `long texts are cut between characters`() throws {
        let long = String(repeating: "👩🏽‍🚀", count: 2_000)
        let one = Notification(id: "n", type: .note, at: Self.now, title: long, text: long)
        #expect(one.title.count == NotificationLimits.title)
        #expect(try #require(one.text).utf8.count <= NotificationLimits.textBytes)
        let marks = Notification(
            id: "n",
            type: .note,
            at: Self.now,
            title: "t",
            text: String(repeating: "\u{202E}", count: 990)
        )
        for kind in [#""kind":"webhook""#, #""kind":"ntfy","topic":"t""#, #""kind":"gotify","token":"t""#] {
            let sink = try sink(#"{"name":"h",\#(kind),"url":"https://e.org"}"#)
            for one in [one, marks] {
                let message = SinkMessage(one, for: sink, sessionTitle: nil, base: nil)
                let request = try #require(message.request(now: Self.now, mac))
                #expect(request.body.count <= NotificationLimits.payloadBytes)
                let json = try body(request)
                #expect((json["message"]?.string ?? "").utf8.count <= 4_096)
            }
        }
    }

    /// The path of a Home Assistant webhook is its only secret, wherever the sink was made; queries have tokens.
    @Test func `nobody is shown what opens a service`() throws {
        for (more, origin, url) in [
            (#""kind":"webhook","url":"https://h.example/api/webhook/SECRET""#, .config, "https://h.example"),
            (#""kind":"webhook","url":"https://h.example/SECRET?t=SECRET""#, .api, "https://h.example"),
            (#""kind":"ntfy","topic":"SECRET","url":"https://n.example/?auth=SECRET""#, .config, "https://n.example"),
            (
                #""kind":"gotify","token":"SECRET","url":"https://g.example/sub?token=SECRET""#, .api,
                "https://g.example/sub"
            ),
        ] as [(String, NotificationSink.Origin, String)] {
            let json = try JSONDocument(parsing: "{\"name\":\"s\",\(more)}").root
            let sink = try NotificationSink(id: "s", origin: origin, json)
            var shown = JSONWriter()
            shown.object { sink.writeMembers(to: &$0, showsTopic: false) }
            let text = String(decoding: shown.bytes, as: UTF8.self)
            #expect(!text.contains("SECRET"))
            #expect(try JSONDocument(parsing: text).root["url"]?.string == url)
        }
        for token in ["a\nb", "a b", "ü", String(repeating: "x", count: 513)] {
            let json = try JSONDocument(parsing: #"{"kind":"ntfy","topic":"t","url":"https://n.example"}"#).root
            #expect(throws: NotificationSink.Fault.self) {
                try NotificationSink(id: "s", name: "s", origin: .config, json, token: token)
            }
        }
    }

    /// ntfy refuses JSON of more than twice its longest message.
    @Test func `a message with many quotes and line breaks still fits into ntfy`() throws {
        let sink = try sink(#"{"name":"p","kind":"ntfy","topic":"t","url":"https://n.example"}"#)
        for text in ["\"", "\n", "\u{1}", "x"].map({ String(repeating: $0, count: 1_000) }) {
            var message = SinkMessage(
                Notification(id: "n", type: .note, at: Self.now, title: text, text: text),
                for: sink,
                sessionTitle: nil,
                base: nil
            )
            message.others = []
            let request = try #require(message.request(now: Self.now, mac))
            #expect(request.body.count <= 8_192)
            #expect(try body(request)["message"]?.string?.isEmpty == false)
        }
    }

    @Test func `a digest names what has expired, and a message what was dropped before it`() throws {
        let sink = try sink(#"{"name":"h","kind":"webhook","url":"https://e.org"}"#)
        var message = SinkMessage(approval, for: sink, sessionTitle: nil, base: nil)
        var other = approval
        other.expiresAt = nil
        message.others = [other, Notification(id: "r", type: .runFailed, at: Self.now, title: "t")]
        message.digestAt = Self.now.adding(milliseconds: 60_000)
        message.hiddenCount = 2
        message.lostCount = 7
        let data = try body(message.request(now: Self.now, mac))["data"]
        #expect(data?["title"]?.string == "5 things while quiet" && data?["dropped"]?.int == 7)
        #expect(
            data?["text"]?.string?.split(separator: "\n") == [
                "1 × Approval needed", "1 × Approval needed, expired", "1 × Run failed", "2 that ended meanwhile",
                "7 were dropped: more waited than are kept",
            ]
        )
        message.others = NotificationType.allCases.map {
            Notification(id: "r", type: $0, at: Self.now, title: "t")
        }
        let lines = try body(message.request(now: Self.now, mac))["data"]?["text"]?.string?.split(separator: "\n")
        #expect(lines?.count == 10 && lines?[7].hasSuffix(" more") == true)
    }

    @Test func `the night of a sink survives the disk, and what it cannot be is named`() throws {
        let json = #"{"name":"h","kind":"webhook","url":"https://e.org","quietHours":VALUE}"#
        let own =
            #"{"enabled":true,"from":"21:00","to":"06:30","timeZone":"Europe/Berlin","days":["fri"],"mode":"drop"}"#
        for value in ["\"obey\"", "\"ignore\"", "null", own] {
            let sink = try sink(json.replacingText("VALUE", with: value))
            #expect(NotificationSink(kept: sink.kept) == sink)
            #expect((sink.ownQuietHours != nil) == (value == own))
        }
        for value in [
            "\"never\"", "1", "[]", "{}", #"{"timeZone":"../x"}"#, #"{"timeZone":"UTC","from":"07:00"}"#,
            #"{"timeZone":"UTC","mood":"hold"}"#, #"{"timeZone":"UTC","allow":1}"#,
        ] {
            #expect(throws: NotificationSink.Fault.self) { try sink(json.replacingText("VALUE", with: value)) }
        }
    }

    @Test func `gotify doubles the priority`() throws {
        let sink = try sink(#"{"name":"g","kind":"gotify","url":"https://g.example/sub?x=1","token":"A"}"#)
        let message = SinkMessage(approval, for: sink, sessionTitle: nil, base: nil)
        let request = try #require(message.request(now: Self.now, mac))
        #expect(request.url.target == "/sub/message")
        #expect(request.fields.contains { $0 == ("X-Gotify-Key", "A") })
        #expect(try body(request)["priority"]?.int == 10)
    }

    @Test func `a command comes from the configuration, with its words as they stand`() throws {
        let json = #"{"kind":"command","command":["/usr/bin/notify-send","$(reboot)"]}"#
        #expect(throws: NotificationSink.Fault.commandFromAPI) { try self.sink(json) }
        let value = try JSONDocument(parsing: json).root
        let sink = try NotificationSink(id: "config:desk", name: "desk", origin: .config, value)
        let command = SinkMessage(approval, for: sink, sessionTitle: nil, base: nil)
            .command(now: Self.now, environment: ["PATH=/bin"])
        #expect(command?.arguments == ["/usr/bin/notify-send", "$(reboot)"])
        #expect(command?.environment.contains("LADLE_TYPE=approval.requested") == true)
        #expect(command?.environment.last == "PATH=/bin")
        let relative = try JSONDocument(parsing: #"{"kind":"command","command":["notify-send"]}"#).root
        #expect(throws: NotificationSink.Fault.self) {
            try NotificationSink(id: "c", name: "c", origin: .config, relative)
        }
    }

    @Test func `a new address does not get the token of the old one`() throws {
        var sink = try sink(#"{"name":"p","kind":"ntfy","url":"https://ntfy.sh","topic":"t","token":"tk"}"#)
        try sink.take(JSONDocument(parsing: #"{"url":"https://ntfy.sh/other"}"#).root)
        #expect(sink.token == "tk")
        try sink.take(JSONDocument(parsing: #"{"url":"https://evil.example"}"#).root)
        #expect(sink.token == nil)
    }
}
