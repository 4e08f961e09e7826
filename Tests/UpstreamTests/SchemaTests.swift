import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import Upstream

/// Our requests fit the closed parameter schemas of both protocols.
struct SchemaTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        var definition: String
        var params: [UInt8]
        /// Whether only protocol 4 has the method.
        var onlyLatest = false
        var testDescription: String { definition }

        init(_ definition: String, _ call: some GatewayCall, onlyLatest: Bool = false) {
            self.definition = definition
            params = call.params
            self.onlyLatest = onlyLatest
        }
    }

    static let samples: [Sample] = [
        Sample(
            "ChatSendParams",
            ChatSend(
                sessionKey: "agent:main:main",
                message: "hi \u{2028} \"there\"",
                idempotencyKey: "k",
                thinking: "low",
                attachments: [
                    ChatSend.Attachment(
                        type: "image",
                        mimeType: "image/png",
                        fileName: "a.png",
                        content: "iVBORw0KGgo="
                    )
                ]
            )
        ),
        Sample("ChatSendParams", ChatSend(sessionKey: "main", message: "x", idempotencyKey: "k")),
        Sample("ChatHistoryParams", ChatHistory(sessionKey: "main", limit: 5_000)),
        Sample("ChatHistoryParams", ChatHistory(sessionKey: "main", limit: 0)),
        Sample("ChatHistoryParams", ChatHistory(sessionKey: "main")),
        Sample("ChatAbortParams", ChatAbort(sessionKey: "main", runId: "r")),
        Sample(
            "SessionsListParams",
            SessionsList(limit: 0, agentId: "main", includeDerivedTitles: true, includeLastMessage: true)
        ),
        Sample("SessionsListParams", SessionsList()),
        Sample("AgentsListParams", AgentsList()),
        Sample("AgentsFilesGetParams", AgentsFilesGet(agentId: "main", name: "USER.md")),
        Sample("AgentsFilesSetParams", AgentsFilesSet(agentId: "main", name: "USER.md", content: "# x\n")),
        Sample(
            "AgentsFilesSetParams",
            AgentsFilesSet(
                agentId: "main",
                name: "USER.md",
                content: "",
                expected: .hash(String(repeating: "0a", count: 32))
            ),
            onlyLatest: true
        ),
        Sample(
            "AgentsFilesSetParams",
            AgentsFilesSet(agentId: "main", name: "USER.md", content: "", expected: .missing),
            onlyLatest: true
        ),
    ]

    @Test(arguments: TestData.schemas, samples)
    func `parameters fit`(_ file: String, _ sample: Sample) throws {
        let schema = JSONSchema(root: try TestData.document(file))
        let value = try JSONDocument(parsing: sample.params).root
        // The earlier protocol refuses members that only the later one has, so they must not be sent to it.
        let isKnown = !sample.onlyLatest || file.contains("latest")
        #expect(schema.problems(value, sample.definition).isEmpty == isKnown)
    }

    @Test(arguments: TestData.schemas)
    func `the connect request and every request frame fit`(_ file: String) throws {
        let schema = JSONSchema(root: try TestData.document(file))
        let key = DeviceTokenStore.Key(
            gateway: "ws://127.0.0.1:18789",
            deviceId: try TestSigner().deviceId,
            role: "operator"
        )
        for token in ["secret", nil] {
            var tokens = DeviceTokenStore()
            tokens[key] = DeviceToken(token: "dt", scopes: [])
            var link = try LinkHarness(token: token, tokens: tokens)
            link.goOnline()
            link.call(1, "health")
            #expect(link.requests.count == 3)
            for request in link.requests { #expect(schema.problems(request.root, "RequestFrame") == []) }
            let connect = try #require(link.requests.first?.root["params"])
            #expect(schema.problems(connect, "ConnectParams") == [])
            // The frames have not changed since, and connecting has.
            let october = JSONSchema(root: try TestData.document("protocol-2026-10.schema.json"))
            #expect(october.problems(connect, "ConnectParams") == [])
        }
    }

    @Test func `the validator itself refuses what does not fit`() throws {
        let schema = JSONSchema(root: try TestData.document(TestData.schemas[0]))
        for text in [
            #"{}"#, #"{"sessionKey":""}"#, #"{"sessionKey":"a","limit":0}"#, #"{"sessionKey":"a","x":1}"#, "[]",
        ] {
            let value = try JSONDocument(parsing: Array(text.utf8)).root
            #expect(!schema.problems(value, "ChatHistoryParams").isEmpty, "\(text)")
        }
    }
}
