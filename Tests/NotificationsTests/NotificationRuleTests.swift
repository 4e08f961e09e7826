import Basics
import Gateway
import JSONBytes
import Testing

@testable import Notifications

/// The rules that take occasions or leave them.
struct NotificationRuleTests {
    private static let at = Timestamp(milliseconds: 1_795_000_000_000)

    private func run(
        _ type: NotificationType = .runCompleted,
        seconds: Int64 = 31,
        session: String = "agent:main:main"
    ) -> Occasion {
        var run = Occasion(type, source: "event/e.1", at: Self.at, text: "done")
        run.session = session
        run.agent = SessionKey(canonical: session).agent
        run.kind = SessionKind(SessionKey(canonical: session), named: nil)
        run.durationMs = 1000 * seconds
        return run
    }

    private func rule(_ json: String) throws -> NotificationRule {
        var rule = NotificationRule(id: "r", name: "r", types: ["*"])
        try rule.take(JSONDocument(parsing: json).root)
        return rule
    }

    private func standard(_ occasion: Occasion) -> Bool {
        NotificationRule.standard.matches(occasion, isWatched: true)
    }

    @Test func `the standard rule tells of a long run with an answer, and of what needs a person`() {
        #expect(standard(run()))
        #expect(!standard(run(seconds: 29)))
        #expect(!standard(run(.runAborted)))
        #expect(standard(run(.runFailed, seconds: 1)))
        let told: [NotificationType] = [.approvalRequested, .outboxFailed, .automationFailed, .pairingRequested]
        let left: [NotificationType] = [.nodeOffline, .automationCompleted, .messageReceived]
        for type in told + left {
            let occasion = Occasion(type, source: "event/e.1", at: Self.at)
            #expect(standard(occasion) == told.contains(type), "\(type.rawValue)")
        }
    }

    @Test(arguments: [
        "agent:main:subagent:1", "agent:main:cron:job", "agent:main:hook:x", "agent:main:dreaming",
        "agent:main:heartbeat",
        "agent:main:acp:1",
    ])
    func `work that no person asked for is told only to a rule that names it`(_ session: String) throws {
        #expect(!standard(run(session: session)))
        #expect(!standard(run(.runFailed, session: session)))
        let kind = try #require(run(session: session).kind)
        let named = try rule(#"{"types":["run.*"],"kinds":["\#(kind.rawValue)"]}"#)
        #expect(named.matches(run(session: session), isWatched: false) && !named.matches(run(), isWatched: false))
    }

    @Test func `a rule narrows what it takes`() throws {
        let run = self.run()
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
