import Gateway
import JSONBytes
import TestSupport
import Testing

@testable import Upstream

/// Our requests to the newest gateways fit their closed parameter schemas.
struct NewestSchemaTests {
    static let october: [SchemaTests.Sample] = [
        .init("ApprovalHistoryParams", ApprovalHistory(limit: 1_000)),
        .init("ApprovalHistoryParams", ApprovalHistory(cursor: "c", limit: 1, kind: .systemAgent)),
        .init("ApprovalResolveParams", ApprovalResolve(id: "a", kind: .exec, decision: "allow-always", grantDays: 30)),
        .init("ApprovalResolveParams", ApprovalResolve(id: "a", kind: .plugin, decision: "deny")),
        .init("ChatMessageGetParams", ChatMessageGet(sessionKey: "main", id: "e-7")),
        .init(
            "AgentsFilesSetParams",
            AgentsFilesSet(agentId: "main", name: "USER.md", content: "", expected: .missing)
        ),
    ]
    static let latest: [SchemaTests.Sample] = [
        .init("ArtifactsListParams", ArtifactsList(sessionKey: "agent:main:main")),
        .init("ArtifactsDownloadParams", ArtifactsDownload(sessionKey: "agent:main:main", id: "a")),
        .init("ChatMessageGetParams", ChatMessageGet(sessionKey: "main", id: "e-7")),
        // Speech that is whole has the members that speech in talks has.
        .init("TalkSpeakParams", TextToSpeech(text: "Good morning")),
    ]

    @Test(arguments: october)
    func `parameters fit the schema of October`(_ sample: SchemaTests.Sample) throws {
        try check(sample, "protocol-2026-10.schema.json")
    }

    @Test(arguments: latest)
    func `parameters fit the newest whole schema`(_ sample: SchemaTests.Sample) throws {
        try check(sample, "protocol-latest.schema.json")
    }

    private func check(_ sample: SchemaTests.Sample, _ file: String) throws {
        let schema = JSONSchema(root: try TestData.document(file))
        #expect(schema.problems(try JSONDocument(parsing: sample.params).root, sample.definition) == [])
    }
}
