import JSONBytes
import TestSupport
import Testing

@testable import Gateway

struct GatewayEventTests {
    private func event(_ name: String, _ payload: String) throws -> GatewayEventPayload {
        GatewayEventPayload(event: name, try JSONDocument(parsing: payload).root)
    }

    /// Compared with the recordings: Ladle never mistakes one event for another.
    @Test func `every recorded event is recognised by its name`() throws {
        var seen: [String: Int] = [:]
        for name in TestData.captures {
            for line in try TestData.capture(name) where line["dir"]?.string == "in" {
                guard let frame = line["frame"], let written = frame["event"]?.string else { continue }
                let event = GatewayEvent(name: written, frame)
                let kind =
                    switch event.payload {
                    case .agent: "agent"
                    case .sessionTool: "session.tool"
                    case .chat: "chat"
                    case .sessionMessage: "session.message"
                    case .sessionsChanged: "sessions.changed"
                    case .approval: "approval"
                    case .question: "question"
                    case .cron: "cron"
                    case .presence: "presence"
                    case .pairing: "pairing"
                    case .challenge: "connect.challenge"
                    case .shutdown: "shutdown"
                    case .suspension: "suspension"
                    case .tick: "tick"
                    case .other: "other"
                    }
                #expect(kind == written || written.contains(".approval.") == (kind == "approval"))
                seen[kind, default: 0] += 1
                guard case .agent(let agent) = event.payload else { continue }
                let payload = try #require(frame["payload"])
                #expect(agent.runId == payload["runId"]?.string)
                #expect(agent.sequence == payload["seq"]?.int ?? 0)
                #expect((agent.content == nil) == (payload["stream"] == nil || payload["data"] == nil))
            }
        }
        for kind in ["agent", "chat", "session.message", "sessions.changed", "approval", "connect.challenge", "tick"] {
            #expect(seen[kind] ?? 0 > 0, "\(kind)")
        }
    }

    @Test func `a chat message may be null, a text, a list or an only text`() throws {
        func chat(_ message: String) throws -> ChatEvent? {
            guard case .chat(let chat) = try event("chat", #"{"runId":"r","state":"final","message":\#(message)}"#)
            else {
                return nil
            }
            return chat
        }
        #expect(try chat("null")?.message == nil)
        #expect(try chat("\"hi\"")?.message?.text == "hi")
        let one = try #require(try chat(#"{"content":[{"type":"text","text":"a"}]}"#)?.message)
        #expect(one.text == "a" && one.onlyText.map(Array.init) == Array("a".utf8))
        let two = try #require(
            try chat(#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#)?.message
        )
        #expect(two.text == "a\nb" && two.onlyText == nil)
        #expect(try chat(#"{"content":[]}"#)?.message?.text == nil)
        #expect(try chat(#"{"text":"old"}"#)?.message?.text == "old")
    }

    @Test(arguments: [
        (#"{"decision":"deny"}"#, ApprovalEvent.Decision?.some(.deny)), (#"{"decision":"allow-once"}"#, .allow),
        (#"{"decision":"allow-always"}"#, .allow), ("{}", .unknown), (#"{"decision":"maybe"}"#, .unknown),
    ])
    func `an approval is decided or open`(payload: String, decision: ApprovalEvent.Decision?) throws {
        guard case .approval(let approval) = try event("exec.approval.resolved", payload),
            case .approval(let open) = try event("plugin.approval.requested", "{}")
        else {
            Issue.record("an approval was expected")
            return
        }
        #expect(approval.decision == decision)
        #expect(approval.isResolved && approval.kind == .exec)
        #expect(open.decision == nil && !open.isResolved && open.kind == .plugin)
    }

    @Test(arguments: [
        ("pending", ApprovalEvent.Decision?.none), ("requested", nil), ("denied", .deny), ("expired", .unknown),
        ("other", .unknown),
        ("deny", .deny), ("allow-always", .allow),
    ])
    func `the stream of approvals has words of its own`(status: String, decision: ApprovalEvent.Decision?) throws {
        let payload = #"{"stream":"approval","data":{"approvalId":"a","status":"\#(status)"}}"#
        guard case .agent(let agent) = try event("agent", payload), case .approval(let approval) = agent.content else {
            Issue.record("an approval was expected")
            return
        }
        #expect(approval.id == "a" && approval.decision == decision)
    }

    @Test func `events without a payload are known by their name alone`() {
        guard case .tick = GatewayEventPayload(event: "tick", nil),
            case .other = GatewayEventPayload(event: "agent", nil),
            case .shutdown(restartExpectedMs: nil) = GatewayEventPayload(event: "shutdown", nil)
        else {
            Issue.record("tick, other and shutdown were expected")
            return
        }
    }
}
