import EventLoops
import EventStream
import JSONBytes
import Notifications
import TestSupport
import Testing

@testable import Service

/// Whether anybody waits for an event, so that its service asks the gateway.
struct AudienceTests {
    private func filter(_ types: String) throws -> EventFilter {
        try EventFilter(types: types, session: nil, run: nil, known: ["usage", "node", "run.ended"])
    }

    @Test func `a filter counts until the last of its streams has ended`() throws {
        let audience = Audience()
        let usage = try filter("usage")
        audience.joined(usage)
        audience.joined(usage)
        #expect(audience.names("usage") && audience.sees("usage") && !audience.sees("node"))
        audience.left(usage)
        #expect(audience.names("usage"))
        audience.left(usage)
        audience.left(usage)
        #expect(!audience.names("usage"))
    }

    @Test func `a stream of everything sees all types and names none`() throws {
        let audience = Audience()
        audience.joined(.everything)
        #expect(audience.sees("node") && !audience.names("node"))
    }

    @Test func `rules count while a sink is open`() async throws {
        let json = try JSONDocument(parsing: #"{"kind":"webhook","url":"https://example.org/hook"}"#).root
        var settings = ServiceSettings()
        settings.notifications.sinks = [try NotificationSink(id: "s", name: "s", origin: .config, json)]
        let inbox = ScriptedSinks.Inbox()
        settings.sinkTransport = { ScriptedSinks(inbox) }
        try await withServices(settings) { bench, loop in
            try await bench.open(on: loop)
            let audience = bench.services.audience
            #expect(audience.isTold(of: .runFailed) && !audience.isTold(of: .nodeOffline))
            let body = try JSONDocument(parsing: #"{"enabled":false}"#).root
            var rule = NotificationRule.standard
            try rule.take(body)
            loop.start { try? await bench.services.notificationPreferences.save(rule, on: loop) }
            #expect(!audience.isTold(of: .runFailed))
        }
    }
}
