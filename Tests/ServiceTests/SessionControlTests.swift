import EventLoops
import JSONBytes
import Testing

@testable import Service

struct SessionControlTests {
    private static let methods = ["sessions.patch", "sessions.reset", "sessions.delete", "sessions.subscribe"]

    /// The gateway's list: the main session and, unless the conversation is empty, `agent:main:den`.
    private func linked(
        _ test: @escaping @Sendable (ServiceBench, Gateway, isolated EventLoop) async throws -> Void
    ) async throws {
        try await withServices { bench, loop in
            let gateway = Gateway()
            bench.gateway.responder = { gateway.reply(to: $0) }
            try await bench.open(methods: Self.methods, on: loop)
            try await test(bench, gateway, loop)
        }
    }

    private final class Gateway {
        var conversation = "a"
        var resets = 0

        func reply(to request: ScriptedGateway.Request) -> ScriptedGateway.Reply? {
            switch request.method {
            case "sessions.list":
                let den = #"{"key":"agent:main:den","sessionId":"\#(conversation)","updatedAt":1}"#
                return .now(ok(#"{"sessions":[\#(conversation.isEmpty ? "" : den)]}"#))
            case "sessions.reset":
                resets += 1
                conversation += "b"
                return .after(milliseconds: 10, ok(#"{"ok":true,"entry":{"sessionId":"\#(conversation)"}}"#))
            case "sessions.delete":
                let found = !conversation.isEmpty
                conversation = ""
                return .after(milliseconds: 10, ok(#"{"ok":true,"deleted":\#(found)}"#))
            default: return nil
            }
        }
    }

    @Test func `of two resets of one conversation one is done`() async throws {
        try await linked { bench, gateway, loop in
            var outcomes: [String] = []
            for _ in 0..<2 {
                loop.start {
                    do throws(SessionControl.Refusal) {
                        let control = bench.services.sessionControl
                        let info = try await control.reset("agent:main:den", if: { $0.sessionID == "a" }, on: loop)
                        outcomes.append(info.sessionID ?? "")
                    } catch {
                        outcomes.append("\(error)")
                    }
                }
            }
            try await bench.advance(100, on: loop)
            #expect(outcomes == ["ab", "moved"] && gateway.resets == 1)
            #expect(bench.data("session").map { $0["reason"]?.string } == ["reset"])
            // The gateway's own event about the reset is not published again.
            let event = #"{"sessionKey":"agent:main:den","reason":"reset","sessionId":"ab","updatedAt":2}"#
            try await bench.event("sessions.changed", event, on: loop)
            try await bench.advance(5000, on: loop)
            #expect(bench.data("session").count == 1)
        }
    }

    @Test func `a deleted session is not patched, whichever came first`() async throws {
        try await linked { bench, _, loop in
            var outcomes: [String] = []
            let control = bench.services.sessionControl
            loop.start {
                let deleted = try? await control.delete(
                    "agent:main:den",
                    keepsTranscript: false,
                    isForced: false,
                    if: { _ in true },
                    on: loop
                )
                outcomes.append(deleted == nil ? "failed" : "deleted")
            }
            loop.start {
                var change = SessionChange()
                change.label = .set("Den")
                do throws(SessionControl.Refusal) {
                    _ = try await control.patch("agent:main:den", change, if: { _ in true }, on: loop)
                } catch {
                    if case .notFound = error { outcomes.append("not found") }
                }
            }
            try await bench.advance(100, on: loop)
            #expect(outcomes == ["deleted", "not found"])
            #expect(bench.gateway.requests("sessions.patch").isEmpty)
            #expect(bench.data("session").map { $0["reason"]?.string } == ["deleted"])
        }
    }

    @Test func `a session for which messages wait is not deleted`() async throws {
        try await linked { bench, _, loop in
            try await bench.accept("later", session: "agent:main:den", notBeforeMs: 60_000, on: loop)
            var refusal: SessionControl.Refusal?
            do throws(SessionControl.Refusal) {
                _ = try await bench.services.sessionControl.delete(
                    "agent:main:den",
                    keepsTranscript: false,
                    isForced: false,
                    if: { _ in true },
                    on: loop
                )
            } catch {
                refusal = error
            }
            guard case .outboxNotEmpty(1)? = refusal else { return #expect(Bool(false), "\(refusal as Any)") }
            #expect(bench.gateway.requests("sessions.delete").isEmpty)
        }
    }
}
