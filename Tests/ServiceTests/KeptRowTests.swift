import Basics
import JSONBytes
import Testing

@testable import Service

/// Rows of the lists in the database, as earlier versions wrote them.
struct KeptRowTests {
    private static let automation =
        #"{"id":"j","name":"Water","description":"d","agent":"main","session":"agent:main:main","enabled":false,"kind":"message","#
        + #""schedule":{"kind":"cron","text":"0 7 * * * UTC","expression":"0 7 * * *","timeZone":"UTC"},"target":"isolated","#
        + #""deleteAfterRun":true,"nextRunAt":"2026-11-20T07:00:00.000Z","running":true,"runningSince":"2026-11-19T07:00:00.000Z","#
        + #""last":{"at":"2026-11-18T07:00:00.000Z","status":"error","durationMs":5,"error":"e","delivered":true},"failures":3,"#
        + #""createdAt":"2026-11-01T00:00:00.000Z","updatedAt":"2026-11-02T00:00:00.000Z"}"#
    private static let node =
        #"{"id":"n","name":"Phone","platform":"ios","version":"1","model":"m","family":"f","state":"disconnected","#
        + #""awaitsApproval":true,"connectedAt":"2026-11-01T00:00:00.000Z","lastSeenAt":"2026-11-02T00:00:00.000Z","#
        + #""capabilities":["camera"],"commands":[{"name":"camera.snap","allowed":true},"#
        + #"{"name":"system.run","allowed":false,"why":"ladle_policy"}],"permissions":{"camera":true,"contacts":false}}"#
    private static let agent =
        #"{"id":"home","name":"Home","emoji":"🏠","avatar":"a.png","default":true,"session":"agent:home:den"}"#
    private static let session =
        #"{"key":"agent:main:den","agent":"main","kind":"chat","label":"Den","title":"Den","titleFrom":"label","preview":"Hi","#
        + #""provider":"p","model":"m","thinking":"low","thinkingLevels":["low","high"],"verbose":"on","status":"done","#
        + #""updatedAt":"2026-11-02T00:00:00.000Z","sessionId":"s","tokens":{"input":1,"output":2,"total":3,"fresh":true},"#
        + #""contextTokens":9,"costUsd":0.5,"unread":true,"pinned":false,"archived":false,"aborted":true}"#

    private func text<Row: KeptRow>(_ type: Row.Type, _ kept: JSONValue) -> String? {
        guard let row = Row(kept: kept) else { return nil }
        var writer = JSONWriter()
        row.writeKept(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test func `a row is written again as it was read`() {
        #expect(text(Automation.self, json(Self.automation)) == Self.automation)
        #expect(text(Node.self, json(Self.node)) == Self.node)
        #expect(text(ListedAgent.self, json(Self.agent)) == Self.agent)
        #expect(text(SessionInfo.self, json(Self.session)) == Self.session)
    }

    @Test(arguments: [
        #"{"kind":"at","text":"once at 2026-11-18T07:00:00.000Z","at":"2026-11-18T07:00:00.000Z"}"#,
        #"{"kind":"at","text":"once"}"#, #"{"kind":"every","text":"every 30m","everyMs":1800000}"#,
        #"{"kind":"cron","text":"0 7 * * *","expression":"0 7 * * *"}"#, #"{"kind":"other","text":"sunrise"}"#,
    ])
    func `each kind of schedule is read`(_ schedule: String) throws {
        let row = try #require(Automation(kept: json(#"{"id":"j","schedule":\#(schedule)}"#)))
        #expect(String(decoding: json(row.schedule).raw, as: UTF8.self) == schedule)
    }

    @Test func `a row without an id is left out`() {
        #expect(Automation(kept: json(#"{"name":"x"}"#)) == nil)
        #expect(Node(kept: json(#"{"state":"connected"}"#)) == nil)
        #expect(ListedAgent(kept: json(#"{"name":"x"}"#)) == nil)
        #expect(SessionInfo(kept: json(#"{"label":"x"}"#)) == nil)
    }
}
