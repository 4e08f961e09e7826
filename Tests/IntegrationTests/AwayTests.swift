import JSONBytes
import TestSupport
import Testing

/// What Ladle knows of a gateway that is away.
@Suite(.serialized) struct AwayTests {
    private static let text = ["Content-Type: text/plain"]
    private static let json = ["Content-Type: application/json"]

    @Test func `what the gateway takes with a message is known while it is away`() async throws {
        var gateway: GatewayProcess? = try GatewayProcess(["--protocol", "4"])
        let ladle = try #require(try await gateway?.ladle())
        try ladle.online()
        gateway = nil
        try ladle.link { $0["state"]?.string != "online" }
        let body = #"{"text":"read this","attachments":[{"mimeType":"application/pdf","data":"JVBERi0xLjQ="}]}"#
        let answer = try ladle.request("POST", "/v1/messages", Self.json, body: body)
        #expect(answer.status == 202, "\(answer)")
    }

    @Test func `a main session of another name is known before the gateway is reached again`() async throws {
        var gateway: GatewayProcess? = try GatewayProcess(["--main-key", "ops"])
        let first = try #require(try await gateway?.ladle())
        try first.online()
        let state = first.state
        first.signal(15)
        #expect(first.waitForExit().code == 0)
        gateway = nil

        let second = try await LadleProcess(["--gateway", "ws://127.0.0.1:9"], state: state, demo: false)
        for name in ["main", "ops", "agent:main:main"] {
            let answer = try second.request("POST", "/v1/messages?session=\(name)", Self.text, body: "hi")
            #expect(answer.json["session"]?.string == "agent:main:ops", "\(name): \(answer)")
        }
        let body = #"{"name":"lamp","scopes":["send"],"sessions":["main"]}"#
        let token = try second.request("POST", "/v1/tokens", Self.json, body: body)
        #expect(token.json["sessions"]?[0]?.string == "agent:main:ops", "\(token)")
    }
}
