import JSONBytes
import Testing

@testable import Commands

/// `ladle notify add`: the sink it makes, and words for input that makes none.
struct NotifyAddTests {
    @Test func `a phone is added, and the line to type next is printed`() throws {
        let io = RecordedIO()
        let sink = #"{"name":"phone","kind":"ntfy","url":"https://ntfy.sh","topic":"kitchen"}"#
        io.replies = [.json(201, sink)]
        let words = ["notify", "add", "--context", "local", "phone", "ntfy", "https://ntfy.sh", "kitchen"]
        #expect(io.run(words + ["--detail", "detailed"]) == .ok)
        #expect(io.requests[0].hasPrefix("POST /v1/notifications/sinks "))
        let body = try io.body(0)
        for (name, value) in [
            ("name", "phone"), ("kind", "ntfy"), ("url", "https://ntfy.sh"), ("topic", "kitchen"),
            ("detail", "detailed"),
        ] { #expect(body[name]?.string == value) }
        #expect(body["token"] == nil)
        #expect(io.output == "✓ phone: ntfy https://ntfy.sh kitchen\n→ ladle notify test --context local phone\n")
    }

    @Test func `the token of a server comes from a file`() throws {
        let io = RecordedIO()
        io.files["/t"] = Array("tk_1\n".utf8)
        io.replies = [.json(201, #"{"name":"a desk","kind":"gotify","url":"https://g.example"}"#)]
        #expect(io.run("notify", "add", "a desk", "gotify", "https://g.example", "--sink-token", "/t") == .ok)
        #expect(try io.body(0)["token"]?.string == "tk_1")
        #expect(!io.output.contains("tk_1") && io.output.hasSuffix("→ ladle notify test 'a desk'\n"))
    }

    @Test func `the key of a webhook is shown, and nothing that a terminal obeys`() {
        let io = RecordedIO()
        io.replies = [
            .json(201, #"{"name":"h\u001b[2Jx","kind":"webhook","url":"https://h.example","secret":"whsec_1"}"#)
        ]
        #expect(io.run("notify", "add", "h", "webhook", "https://h.example/hook?a=b") == .ok)
        #expect(io.output.contains("shown only now: whsec_1\n") && !io.output.contains("\u{1B}"))
    }

    @Test(arguments: [
        (["phone", "ntfy"], "URL is missing", "--help"),
        (["phone", "nfty", "https://ntfy.sh", "t"], "kind must be one of ntfy, gotify, webhook", "did you mean ntfy?"),
        (["phone", "ntfy", "t", "https://ntfy.sh"], "URL begins with https://", "add phone ntfy https://HOST TOPIC"),
        (["a b", "ntfy", "https://ntfy.sh"], "TOPIC is missing", "ladle notify add 'a b' ntfy https://ntfy.sh TOPIC"),
        (["h", "webhook", "https://h.example", "t"], "only ntfy has topics", "--help"),
        (["phone", "ntfy", "https://ntfy.sh", "t", "u"], "unexpected argument u", "--help"),
        (["desk", "gotify", "https://g.example"], "--sink-token is missing", "--sink-token FILE"),
        (["h", "webhook", "https://h.example", "--sink-token", "/t"], "a webhook has no token", "--help"),
    ])
    func `bad input is named, and nothing is sent`(words: [String], told: String, hint: String) {
        let io = RecordedIO()
        #expect(io.run(["notify", "add"] + words) == .usage)
        #expect(io.errors.contains(told) && io.errors.contains(hint), "\(io.errors)")
        #expect(io.requests.isEmpty)
    }
}
