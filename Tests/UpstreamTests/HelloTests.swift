import Gateway
import JSONBytes
import Testing

@testable import Upstream

struct HelloTests {
    static func hello(_ text: String, requested: [String] = ["operator.read"]) throws -> Hello? {
        Hello(try JSONDocument(parsing: Array(text.utf8)).root, requested: requested)
    }

    @Test func `everything but type and protocol may be missing or of another kind`() throws {
        for text in [
            #"{"type":"hello-ok","protocol":4}"#,
            #"{"type":"hello-ok","protocol":4,"server":7,"features":[],"snapshot":"x","auth":null,"policy":[]}"#,
            #"{"type":"hello-ok","protocol":4,"features":{"methods":[1,null,{}]},"auth":{"deviceToken":5}}"#,
        ] {
            let hello = try #require(try Self.hello(text))
            #expect(hello.policy == .standard)
            #expect(hello.methods.isEmpty && hello.deviceToken == nil)
        }
        #expect(try Self.hello(#"{"type":"hello-ok"}"#) == nil)
        #expect(try Self.hello(#"{"protocol":4}"#) == nil)
        #expect(try Self.hello(#"{"type":"hello-ok","protocol":99}"#)?.protocolVersion == 99)
    }

    @Test func `figures are clamped`() throws {
        let text =
            #"{"type":"hello-ok","protocol":4,"policy":{"maxPayload":1,"maxBufferedBytes":-5,"tickIntervalMs":0,"attachments":{"maxBytes":-1,"maxImageBytes":99999999999}}}"#
        let low = try #require(try Self.hello(text)).policy
        #expect(low.maxPayload == 65_536 && low.tickIntervalMs == 100)
        #expect(low.attachmentBytes == 0 && low.imageBytes == 67_108_864)
        let huge =
            #"{"type":"hello-ok","protocol":4,"policy":{"maxPayload":9223372036854775807,"tickIntervalMs":9223372036854775807}}"#
        let high = try #require(try Self.hello(huge)).policy
        #expect(high.maxPayload == 67_108_864 && high.tickIntervalMs == 600_000)
        for uptime in ["-1", "9223372036854775807", "3155760000001"] {
            let text = #"{"type":"hello-ok","protocol":4,"snapshot":{"uptimeMs":\#(uptime)}}"#
            #expect(try Self.hello(text)?.uptimeMs == nil)
        }
        let error = try JSONDocument(parsing: Array(#"{"code":"BUSY","retryAfterMs":9223372036854775807}"#.utf8)).root
        #expect(GatewayError(error).retryAfterMs == 86_400_000)
    }
}
