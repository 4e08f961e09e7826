import Basics
import Gateway
import JSONBytes
import Testing

@testable import Notifications

/// The events that become notifications.
struct NotificationRuleTests {
    private static let at = Timestamp(milliseconds: 1_795_000_000_000)

    private func occasion(_ type: String, _ json: String) -> Occasion? {
        Occasion.read(type, id: "e.1", at: Self.at, Array(json.utf8)).occasion
    }

    private func run(
        _ state: String = "completed",
        seconds: Int64 = 31,
        session: String = "agent:main:main",
        text: String = "done"
    ) -> Occasion? {
        let start = Self.at.adding(milliseconds: -1000 * seconds)
        return occasion(
            "run.ended",
            """
            {"run":{"id":"r","session":"\(session)","state":"\(state)","text":"\(text)","error":"no credit",\
            "startedAt":"\(start.rfc3339)","endedAt":"\(Self.at.rfc3339)"}}
            """
        )
    }

    private func rule(_ json: String) throws -> NotificationRule {
        var rule = NotificationRule(id: "r", name: "r", types: ["*"])
        try rule.take(JSONDocument(parsing: json).root)
        return rule
    }

    private func standard(_ occasion: Occasion?) -> Bool {
        occasion.map { NotificationRule.standard.matches($0, isWatched: true) } ?? false
    }

    @Test func `the standard rule tells of a long run with an answer`() {
        #expect(standard(run()))
        #expect(!standard(run(seconds: 29)))
        #expect(!standard(run(text: "")))
        #expect(!standard(run("aborted")))
        #expect(standard(run("failed", seconds: 1)))
        #expect(run("failed")?.text == "no credit")
    }

    @Test(arguments: [
        "agent:main:subagent:1", "agent:main:cron:job", "agent:main:hook:x", "agent:main:dreaming",
        "agent:main:heartbeat",
        "agent:main:acp:1",
    ])
    func `work that no person asked for is told only to a rule that names it`(_ session: String) throws {
        #expect(!standard(run(session: session)))
        #expect(!standard(run("failed", session: session)))
        let kind = try #require(run(session: session)?.kind)
        let named = try rule(#"{"types":["run.*"],"kinds":["\#(kind.rawValue)"]}"#)
        let (own, other) = (try #require(self.run(session: session)), try #require(self.run()))
        #expect(named.matches(own, isWatched: false) && !named.matches(other, isWatched: false))
    }

    @Test func `events of other services are read by their names`() {
        let outbox = occasion(
            "outbox",
            #"{"entry":{"id":"o","session":"agent:main:main","state":"failed","version":3}}"#
        )
        #expect(outbox?.type == .outboxFailed && standard(outbox))
        #expect(occasion("outbox", #"{"entry":{"id":"o","state":"delivered"}}"#) == nil)
        let node = occasion("node", #"{"reason":"disconnected","node":{"id":"n","name":"Phone"}}"#)
        #expect(node?.type == .nodeOffline && !standard(node))
        // The form of the event, as in AutomationServiceTests.
        let failed =
            #"{"reason":"finished","automation":{"id":"a","name":"Backup","last":{"at":"2026-11-21T09:00:00.000Z","#
            + #""status":"error","error":"no disk"}}}"#
        let automation = occasion("automation", failed)
        #expect(automation?.type == .automationFailed && standard(automation) && automation?.text == "Backup: no disk")
        let fine = occasion("automation", failed.replacingText("error\",", with: "ok\","))
        #expect(fine?.type == .automationCompleted && !standard(fine))
        #expect(occasion("automation", #"{"reason":"started","automation":{"id":"a"}}"#) == nil)
        let asks =
            #"{"reason":"requested","device":{"id":"p","name":"Tablet","hint":"openclaw devices approve p"},"pending":1}"#
        let device = occasion("device", asks)
        #expect(device?.type == .pairingRequested && standard(device))
        #expect(device?.text == "Tablet: openclaw devices approve p")
        #expect(occasion("device", #"{"reason":"approved","device":{"id":"p"}}"#) == nil)
        let said = #"{"session":"agent:main:main","message":{"role":"assistant","text":"hi"}}"#
        #expect(occasion("message", said)?.type == .messageReceived && !standard(occasion("message", said)))
        #expect(occasion("message", #"{"message":{"role":"assistant","text":"hi","runId":"r"}}"#) == nil)
        #expect(occasion("session", "{}") == nil && occasion("run.ended", "{") == nil)
    }

    @Test func `an approval is one thing until it has ended`() {
        let json =
            #"{"approval":{"id":"a","state":"pending","createdAt":"2026-01-01T00:00:00Z","command":"ls","title":"ls","decisions":["deny"]}}"#
        let first = occasion("approval", json)
        #expect(first?.source == occasion("approval", json)?.source && standard(first))
        #expect(first?.approval?.decisions == ["deny"])
        let end = Occasion.read(
            "approval",
            id: "e",
            at: Self.at,
            Array(#"{"approval":{"id":"a","state":"denied"}}"#.utf8)
        )
        #expect(end.occasion == nil && end.ended == Notification.Subject(.approval, "a"))
    }

    @Test func `a rule narrows what it takes`() throws {
        let run = try #require(self.run())
        for (json, isTaken) in [
            (#"{"types":["run.*"]}"#, true), (#"{"types":["run.failed"]}"#, false),
            (#"{"sessions":["agent:main:main"]}"#, true), (#"{"sessions":["agent:main:*"]}"#, true),
            (#"{"sessions":["agent:other:*"]}"#, false), (#"{"agents":["main"]}"#, true), (#"{"agents":["x"]}"#, false),
            (#"{"minPriority":4}"#, false), (#"{"minPriority":4,"priority":5}"#, true), (#"{"matchText":"one"}"#, true),
            (#"{"matchText":"other"}"#, false), (#"{"minDurationMs":40000}"#, false), (#"{"enabled":false}"#, false),
            (#"{"unlessWatching":true}"#, false), (#"{"kinds":["group"]}"#, false),
        ] {
            let rule = try rule(json)
            #expect(rule.matches(run, isWatched: true) == isTaken, "\(json)")
            #expect(NotificationRule(kept: rule.kept) == rule)
        }
    }

    @Test(arguments: [
        (#"{"types":[]}"#, "types"), (#"{"types":["run.nothing"]}"#, "types"), (#"{"kinds":["people"]}"#, "kinds"),
        (#"{"priority":0}"#, "priority"), (#"{"matchText":""}"#, "matchText"), (#"{"cooldownMs":-1}"#, "cooldownMs"),
        (#"{"collapse":"all"}"#, "collapse"), (#"{"name":""}"#, "name"), (#"{"sinks":"all"}"#, "sinks"),
    ])
    func `a rule that cannot be is refused by its field`(_ json: String, _ field: String) {
        let fault = #expect(throws: FormFault.self) { _ = try rule(json) }
        #expect(fault?.field == field)
    }
}
