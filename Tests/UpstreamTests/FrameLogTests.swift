import Basics
import Gateway
import JSONBytes
import Observability
import Testing

@testable import Upstream

struct FrameLogTests {
    static let time = Timestamp(milliseconds: 0)

    static func shown(_ json: String, secrets: [String] = []) throws -> String {
        let document = try JSONDocument(parsing: Array(json.utf8))
        return String(decoding: FrameRedaction(secrets: secrets).text(document.root), as: UTF8.self)
    }

    @Test func `no secret of a whole connect and hello is in the log`() throws {
        let secrets = [
            "tok-secret", "pw-secret", "dt-secret", "bt-secret", "sig-secret", "pub-secret", "nonce-secret",
            "more-secret",
        ]
        let frames = [
            #"{"type":"req","id":"1","method":"connect","params":{"auth":{"token":"tok-secret","password":"pw-secret","deviceToken":"dt-secret","bootstrapToken":"bt-secret"},"device":{"id":"ok-id","publicKey":"pub-secret","signature":"sig-secret","nonce":"nonce-secret"}}}"#,
            #"{"type":"res","ok":true,"payload":{"auth":{"deviceToken":"dt-secret","deviceTokens":[{"deviceToken":"more-secret"},"more-secret"]},"setupCode":"more-secret","url":"wss://x/?token=more-secret","note":"Authorization: Bearer more-secret"}}"#,
        ]
        for frame in frames {
            let text = try Self.shown(frame)
            for secret in secrets { #expect(!text.contains(secret), "\(secret)") }
            #expect(text.contains("[redacted]"))
        }
        #expect(try Self.shown(frames[0]).contains("ok-id"))
    }

    @Test func `a secret in use is found in any text and in names`() throws {
        let text = try Self.shown(
            #"{"a":"my tok-in-use here","tok-in-use":1,"b":["x tok-in-use"]}"#,
            secrets: ["tok-in-use"]
        )
        #expect(!text.contains("tok-in-use"))
    }

    @Test func `answers to questions are in no frame of the log`() throws {
        for frame in [
            #"{"params":{"id":"q","answers":{"answers":{"key":["in-answer"]}}}}"#,
            #"{"params":{"id":"q","answers":{"key":"in-answer"}}}"#,
        ] {
            let text = try Self.shown(frame)
            #expect(!text.contains("in-answer") && text.contains(#""q""#))
        }
    }

    @Test func `contents of files are only counted`() throws {
        let frame =
            #"{"params":{"message":"hello","attachments":[{"fileName":"a.png","content":"QUJD"},{"source":{"type":"base64","data":"QUJD"}}],"sessionKey":"agent:main:main","idempotencyKey":"k","totalTokens":7},"payloadJSON":"QUJD","avatar":"data:image/png;base64,QUJD"}"#
        let text = try Self.shown(frame)
        #expect(!text.contains("QUJD"))
        for kept in ["hello", "a.png", "agent:main:main", #""idempotencyKey":"k""#, #""totalTokens":7"#, "[4 bytes]"] {
            #expect(text.contains(kept), "\(kept)")
        }
    }

    @Test func `long texts are cut and huge frames become one line`() throws {
        let long = String(repeating: "é", count: 5_000)
        let text = try Self.shown(#"{"text":"\#(long)"}"#)
        #expect(text.contains("[10000 bytes]") && text.utf8.count < 3_000)
        let many =
            #"{"type":"event","event":"chat","payload":[\#(Array(repeating: "\"abcdefgh\"", count: 9_000).joined(separator: ","))]}"#
        let summary = try Self.shown(many)
        #expect(summary.utf8.count < 300 && summary.contains(#""event":"chat""#))
        #expect(throws: Never.self) { try JSONDocument(parsing: Array(summary.utf8)) }
    }

    @Test func `the ring keeps to its bounds and numbers go on`() throws {
        var log = FrameLog(maxEntries: 10, maxBytes: 500)
        let document = try JSONDocument(parsing: Array(#"{"text":"0123456789012345678901234567890123456789"}"#.utf8))
        for _ in 0..<1_000 { log.add(.inbound, document, size: 50, at: Self.time) }
        #expect(log.count <= 10 && log.keptBytes <= 500)
        #expect(log.after(0).last?.number == 1_000)
        #expect(log.after(999).map(\.number) == [1_000])
        #expect(log.after(5_000).isEmpty)
        log.add(.outbound, nil, size: 9, at: Self.time)
        #expect(log.after(1_000).first?.frame.isEmpty == true)
    }

    @Test func `the link logs both directions when asked`() throws {
        var link = try LinkHarness(log: FrameLog())
        link.goOnline()
        link.say("no json")
        let text = link.logged.map { String(decoding: $0.frame, as: UTF8.self) }.joined(separator: "\n")
        #expect(link.logged.map(\.direction) == [.inbound, .outbound, .inbound, .outbound, .inbound])
        #expect(
            text.contains("connect.challenge") && text.contains("hello-ok") && !text.contains("example-shared-token")
        )
        link = try LinkHarness()
        link.goOnline()
        #expect(link.logged.isEmpty)
    }
}
