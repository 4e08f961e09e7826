import Basics
import EventStream
import JSONBytes
import Notifications
import Outbox
import Runs
import Store
import Testing

@testable import Gateway
@testable import Service

/// The meaning of events for notifications.
struct OccasionTests {
    private let at = Timestamp(milliseconds: 1_795_000_000_000)
    private let main = SessionKey(canonical: "agent:main:main")

    private func read(_ type: String, _ matter: any EventMatter, session: String? = nil) throws -> Occasion.Reading {
        Occasion.Reading(
            StoredEvent(
                id: try EventID(parsing: "aaaaaaaaaaaa.1"),
                type: type,
                at: at,
                session: session,
                run: nil,
                data: [],
                matter: matter
            )
        )
    }

    private func run(_ state: Run.State, text: String = "done", error: String? = nil, continuedAs: String? = nil) -> Run
    {
        let start = at.adding(milliseconds: -31_000)
        return Run(
            id: "r",
            session: main,
            state: state,
            startedAt: start,
            endedAt: at,
            text: text,
            error: error,
            continuedAs: continuedAs
        )
    }

    @Test func `the end of a run is told with its answer or its error`() throws {
        let ended = try #require(try read("run.ended", run(.completed)).occasion)
        #expect(ended.type == .runCompleted && ended.text == "done" && ended.durationMs == 31_000)
        #expect(ended.source == "event/aaaaaaaaaaaa.1" && ended.runID == "r" && ended.kind == .chat)
        #expect(ended.session == main.text && ended.agent == "main")
        #expect(ended.subject == Notification.Subject(.run, "r"))
        let failed = try read("run.ended", run(.failed, error: "no credit")).occasion
        #expect(failed?.type == .runFailed && failed?.text == "no credit")
        #expect(try read("run.ended", run(.aborted)).occasion?.type == .runAborted)
        #expect(try read("run.ended", run(.completed, text: " \n")).occasion == nil, "a silent reply")
        #expect(try read("run.ended", run(.failed, continuedAs: "next")).occasion == nil)
    }

    @Test func `a run that begins again or was corrected makes what was told of it obsolete`() throws {
        let subject = Notification.Subject(.run, "r")
        #expect(try read("run.started", run(.running)) == Occasion.Reading(ended: subject))
        let corrected = try read("run.corrected", run(.completed))
        #expect(corrected.ended == subject && corrected.occasion?.type == .runCompleted)
    }

    @Test func `an approval is one thing until it has ended`() throws {
        let json = #"{"id":"a","request":{"command":"ls","agentId":"main"},"createdAtMs":1795000000000}"#
        let event = ApprovalEvent(try JSONDocument(parsing: json).root, kind: .exec)
        var approval = try #require(Approval(event, session: main.text, commandSHA256: nil, now: at))
        let first = try #require(try read("approval", approval).occasion)
        #expect(first.type == .approvalRequested && first.text == "ls" && first.agent == "main")
        #expect(first.approval?.decisions.contains("deny") == true && first.expiresAt == approval.expiresAt)
        #expect(try read("approval", approval).occasion?.source == first.source)
        approval.state = .denied
        #expect(try read("approval", approval) == Occasion.Reading(ended: Notification.Subject(.approval, "a")))
    }

    @Test func `a message that needs a person is told once for each of its states`() throws {
        var entry = OutboxEntry(id: "o", session: main.text, text: "hello", createdAt: at, expiresAt: at)
        #expect(try read("outbox", entry).occasion == nil)
        entry.fault = OutboxFault(code: "X", detail: "no such agent")
        for (state, type) in [
            (OutboxState.failed, NotificationType.outboxFailed), (.unconfirmed, .outboxUnconfirmed),
            (.expired, .outboxExpired),
        ] {
            entry.state = state
            entry.version += 1
            let told = try #require(try read("outbox", entry).occasion)
            #expect(told.type == type && told.source == "outbox/o/\(entry.version)" && told.kind == nil)
            #expect(told.text == "hello\nno such agent")
        }
    }

    @Test func `an answer that no followed run gave is told, and nothing that a person said`() throws {
        var message = ChatMessage(id: "m", role: .assistant, text: "hi", at: at)
        let told = try read("message", message, session: main.text).occasion
        #expect(told?.type == .messageReceived && told?.session == main.text)
        message.runID = "r"
        #expect(try read("message", message).occasion == nil)
        #expect(try read("message", ChatMessage(id: "m", role: .user, text: "hi", at: at)).occasion == nil)
    }

    @Test func `a device that waits is told with the command that approves it`() throws {
        let json = #"{"requestId":"p","displayName":"Tablet"}"#
        let request = try #require(DeviceRequest(JSONDocument(parsing: json).root, .device))
        let told = try read("device", DeviceNews(reason: .requested, request: request)).occasion
        #expect(told?.type == .pairingRequested && told?.text == "Tablet: openclaw devices approve p")
        let subject = Notification.Subject(.pairing, "p")
        #expect(try read("device", DeviceNews(reason: .approved, request: request)) == Occasion.Reading(ended: subject))
    }

    @Test func `a device that is lost is told by its name, and one that comes is not`() throws {
        let json = #"{"nodeId":"n","displayName":"Phone","connected":false,"paired":true}"#
        let row = try #require(NodeRow(JSONDocument(parsing: json).root))
        let node = Node(row, before: nil, try NodePolicy())
        let told = try read("node", NodeNews(reason: .disconnected, node: node)).occasion
        #expect(told?.type == .nodeOffline && told?.text == "Phone")
        #expect(told?.subject == Notification.Subject(.node, "n"))
        #expect(try read("node", NodeNews(reason: .connected, node: node)) == Occasion.Reading())
    }

    @Test func `the end of a job is told with its error`() throws {
        for (status, type) in [("error", NotificationType.automationFailed), ("ok", .automationCompleted)] {
            let json =
                #"{"id":"a","name":"Backup","schedule":{"kind":"every","everyMs":1000},"payload":{"kind":"systemEvent","text":"x"},"#
                + #""state":{"lastRunAtMs":1795000000000,"lastStatus":"\#(status)","lastError":"no disk"}}"#
            let job = try #require(CronJob(JSONDocument(parsing: json).root))
            let automation = Automation(job, session: nil)
            let told = try read("automation", AutomationNews(reason: .finished, automation: automation)).occasion
            #expect(told?.type == type && told?.text == "Backup: no disk")
            #expect(try read("automation", AutomationNews(reason: .started, automation: automation)).occasion == nil)
        }
    }

    @Test func `a window is told at each threshold, once for each of its periods`() {
        func told(_ percent: Double, _ end: Timestamp?) -> [Occasion] {
            let crossing = UsageService.Crossing(provider: "p", window: "week", usedPercent: percent, resetsAt: end)
            return UsageNews(crossed: [crossing]).occasions(at: at)
        }
        #expect(told(75, nil).isEmpty)
        #expect(told(84, at).first?.source == "usage/p/week/80/\(at.rfc3339)")
        #expect(told(96, nil).first?.source == "usage/p/week/95/2026-11-18")
        #expect(told(96, nil).first?.text == "p: week is used over 95 %")
    }

    @Test func `an event that only clients read means nothing`() throws {
        struct Other: EventMatter {}
        #expect(try read("session", Other()) == Occasion.Reading())
    }
}
